"""Kernels as they are read from files: what they include, and what their hash is of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tinygate.core.errors import ConfigError
from tinygate.core.fast_path import FastPath, wgsl_file
from tinygate.paths import source
from tinygate.paths.builtin import BUILTIN, REFERENCE
from tinygate.paths.source import load_source, read_source, source_hash


def test_a_byte_order_mark_is_read_as_if_it_were_not_there(tmp_path: Path) -> None:
    (tmp_path / "bom.wgsl").write_bytes(b"\xef\xbb\xbffn main() {}\n")
    (tmp_path / "plain.wgsl").write_bytes(b"fn main() {}\n")
    assert read_source(tmp_path / "bom.wgsl") == "fn main() {}\n"
    path = replace(BUILTIN[0], kernel=str(tmp_path / "bom.wgsl"))
    assert source_hash(path) == source_hash(replace(path, kernel=str(tmp_path / "plain.wgsl")))


@pytest.mark.parametrize("path", [*BUILTIN, REFERENCE], ids=lambda path: path.name)
def test_every_built_in_kernel_expands(path: FastPath) -> None:
    for file in path.files():
        assert "//!include" not in load_source(file).text


def test_the_hash_is_of_what_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "common").mkdir()
    shared, kernel = tmp_path / "common/x.wgsl", tmp_path / "k.wgsl"
    shared.write_text("one\n")
    kernel.write_text("//!include common/x.wgsl\n")
    right = wgsl_file
    monkeypatch.setattr(
        source,
        "wgsl_file",
        lambda name: tmp_path / name if name == "common/x.wgsl" else right(name),
    )
    path = replace(BUILTIN[0], kernel=str(kernel))
    source._expanded.cache_clear()
    included = source_hash(path)
    kernel.write_text("one\n")
    assert source_hash(path) == included
    kernel.write_text("//!include common/x.wgsl\n")
    shared.write_text("two\n")
    source._expanded.cache_clear()
    assert source_hash(path) != included
    shared.unlink()
    source._expanded.cache_clear()
    with pytest.raises(ConfigError, match=r"k\.wgsl:1: there is no common/x\.wgsl"):
        source_hash(path)


def test_every_common_file_is_included_and_described() -> None:
    folder = wgsl_file("common")
    kernels = "".join(file.read_text("utf-8") for file in wgsl_file("").rglob("*.wgsl"))
    readme = Path(__file__).parents[2].joinpath("wgsl/README.md").read_text("utf-8")
    for file in folder.glob("*"):
        assert f"//!include common/{file.name}\n" in kernels
        assert f"`{file.name}`" in readme
    assert f"`{REFERENCE.kernel}`" in readme


def test_the_reference_shares_no_code() -> None:
    assert "//!include" not in REFERENCE.kernel_file().read_text("utf-8")
