// f32 products and f32 sums, as other files of common expect them by name. Stands among declarations.
//
// Gives: Activation: the type that A is rounded to; Sums: four columns' sums; product: a value of A
// times four weights; result: what C gets for a sum at m, n.

alias Activation = f32;
alias Sums = vec4f;

fn product(x: f32, v: vec4f) -> vec4f { return x * v; }

fn result(sum: f32, m: u32, n: u32) -> f32 { return sum; }
