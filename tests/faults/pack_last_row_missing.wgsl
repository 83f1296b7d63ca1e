// fault: never packs the last row of weights
// declares: b=f16-packed, kernel=right_f16.wgsl
// shapes: 17x33x65
// must fail: uniform by packing, finite, max_abs, mean_rel
// says: packing: padding is not zero in 1 place
// because: what is not packed holds NaN

struct Dims { M: u32, K: u32, N: u32, pad: u32 }
struct Status { count: atomic<u32>, first: atomic<u32> }

@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32>;
@group(0) @binding(3) var<uniform> dims: Dims;
@group(0) @binding(4) var<storage, read_write> status: Status;

fn value(k: u32, n: u32) -> f32 {
  let index = k * dims.N + n;
  let x = b[index];
  if ((bitcast<u32>(x) & 0x7fffffffu) > bitcast<u32>(65504.0)) {
    atomicAdd(&status.count, 1u);
    atomicMin(&status.first, index);
  }
  return x;
}

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let stride = (dims.N + 1u) / 2u;
  let word = (wid.x + wid.y * groups.x) * 64u + lid.x;
  if (word >= dims.K * stride) { return; }
  let k = word / stride;
  let n = (word % stride) * 2u;
  let low = value(k, n);
  var high = 0.0;
  if (n + 1u < dims.N) { high = value(k, n + 1u); }
  if (k + 1u < dims.K) { packed[word] = pack2x16float(vec2f(low, high)); }
}
