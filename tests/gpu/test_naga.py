"""naga's words on one line, with the place first."""

from __future__ import annotations

import pytest

from tinygate.gpu.engines.naga import one_line

PARSING = """
Shader 'k.wgsl' parsing error: expected expression, found "="
  ┌─ wgsl:2:48
  │
2 │ @compute @workgroup_size(1) fn main() { c[0] = = 1.0; }
  │                                                ^ expected expression
"""
TYPES = """
Shader 'k.wgsl' parsing error: automatic conversions cannot convert elements of `u32` to `f32`
  ┌─ wgsl:12:41
  │
12 │ @compute @workgroup_size(1) fn main() { c[0] = 1u; }
  │                                         ^^^^   ^^ this expression has type u32
  │                                         │
  │                                         a value with elements of type f32 is required here
"""
VALIDATION = """
Shader validation error: Entry point main at Compute is invalid
  ┌─ C:\\some folder\\k.wgsl:3:52
  │
3 │ fn main() { c[0] = f32(subgroupAdd(1u)); }
  │                        ^^^^^^^^^^^ missing capability for this operation
  │
  = Shader requires capability Capabilities(SUBGROUP)
      Shader requires capability Capabilities(SUBGROUP)
"""
PIPELINE = """
    Error matching shader requirements against the pipeline
      Unable to find entry point 'main'
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PARSING, 'k.wgsl:2:48: expected expression, found "="'),
        (
            TYPES,
            "k.wgsl:12:41: automatic conversions cannot convert elements of `u32` to `f32`: "
            "this expression has type u32",
        ),
        (
            VALIDATION,
            "k.wgsl:3:52: Entry point main at Compute is invalid: missing capability for this "
            "operation: Shader requires capability Capabilities(SUBGROUP)",
        ),
        (
            PIPELINE,
            "k.wgsl: Error matching shader requirements against the pipeline: "
            "Unable to find entry point 'main'",
        ),
        ("", "k.wgsl: no reason given"),
        ("anything else", "k.wgsl: anything else"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line("k.wgsl", text) == line


def test_a_long_text_is_cut() -> None:
    assert len(one_line("k.wgsl", "x" * 100_000)) < 700
