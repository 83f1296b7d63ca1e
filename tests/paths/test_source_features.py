"""A kernel that uses a feature it does not declare runs only beside paths that do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tinygate.paths.builtin import BUILTIN, REFERENCE
from tinygate.paths.source import undeclared_features

PATH = replace(REFERENCE, name="mine")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("enable f16;\nfn main() {}", ("shader-f16",)),
        ("// enable f16;\nfn main() {}", ()),
        ("fn main() { let x = subgroupAdd(1u); }", ("subgroups",)),
        ("fn main() { let x = subgroup_size; }", ()),
        ("enable f16;\nenable subgroups;", ("shader-f16", "subgroups")),
        ("enable chromium_experimental_subgroup_matrix;", ("subgroup-matrix",)),
    ],
)
def test_the_text_tells(tmp_path: Path, text: str, found: tuple[str, ...]) -> None:
    kernel = tmp_path / "k.wgsl"
    kernel.write_text(text, encoding="utf-8")
    path = replace(PATH, kernel=str(kernel))
    assert undeclared_features(path) == found
    assert undeclared_features(replace(path, requires=found)) == ()


@pytest.mark.parametrize("path", BUILTIN, ids=lambda path: path.name)
def test_built_in_paths_declare_what_they_use(path: object) -> None:
    assert undeclared_features(path) == ()  # type: ignore[arg-type]
