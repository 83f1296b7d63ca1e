// fault: pads K to a multiple of four, with zero for B but with what follows the row for A
// declares: b=f32
// shapes: 17x33x65
// must fail: uniform by over-read
// must fail: positive by over-read
// must fail: integer by over-read
// must fail: identity by over-read
// says: reads past A: what lies behind reaches C
// because: A is followed by NaN, and zero times NaN is NaN; before the last row it is zero times
//     the next row
// passes at: 17x32x65

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

@compute @workgroup_size(8, 8)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let tiles_n = (dims.N + 7u) / 8u;
  let tile = wid.x + wid.y * groups.x;
  let m = (tile / tiles_n) * 8u + lid.y;
  let n = (tile % tiles_n) * 8u + lid.x;
  if (m >= dims.M || n >= dims.N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < (dims.K + 3u) / 4u * 4u; k++) {
    var w = 0.0;
    if (k < dims.K) { w = b[k * dims.N + n]; }
    sum += a[m * dims.K + k] * w;
  }
  c[m * dims.N + n] = sum;
}
