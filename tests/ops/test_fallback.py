"""The chain of fallbacks."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from tinygate.core.fast_path import FastPath
from tinygate.ops.fallback import chain
from tinygate.paths.builtin import BUILTIN, REFERENCE

STORAGE = BUILTIN[0]
MIDDLE = replace(STORAGE, name="middle", fallback=STORAGE.name)
FASTEST = replace(STORAGE, name="fastest", fallback="middle")
PLAIN = replace(REFERENCE, name="plain")


def names(*paths: FastPath) -> list[str]:
    return [path.name for path in chain(paths, "f16-packed")]


@pytest.mark.parametrize("paths", list(itertools.permutations([STORAGE, MIDDLE, FASTEST])))
def test_a_path_comes_before_what_it_falls_back_to(paths: tuple[FastPath, ...]) -> None:
    assert names(*paths) == ["fastest", "middle", "f16-storage"]


@pytest.mark.parametrize("paths", list(itertools.permutations([MIDDLE, PLAIN, STORAGE])))
def test_each_format_has_a_chain_of_its_own(paths: tuple[FastPath, ...]) -> None:
    assert names(*paths) == ["middle", "f16-storage"]
    assert [path.name for path in chain(paths, "f32")] == ["plain"]


def test_a_link_that_is_not_among_the_paths_still_orders_them() -> None:
    """`between` falls back to a built-in path that GpuOps was not given."""
    last = replace(STORAGE, name="last", fallback="f32")
    between = replace(STORAGE, name="between", fallback=STORAGE.name)
    assert names(last, between) == ["between", "last"]


def test_equals_keep_their_order() -> None:
    twins = [replace(MIDDLE, name=name) for name in ("b", "a")]
    assert names(STORAGE, *twins) == ["b", "a", "f16-storage"]
    assert names(*reversed(twins), STORAGE) == ["a", "b", "f16-storage"]


def test_a_circle_ends() -> None:
    one, other = replace(STORAGE, name="a", fallback="b"), replace(STORAGE, name="b", fallback="a")
    assert sorted(names(one, other)) == ["a", "b"]
    assert names(replace(one, fallback="a")) == ["a"]


def test_what_gpuops_cannot_run_is_left_out() -> None:
    python = replace(STORAGE, name="python", kernel="", pack=None, call="module:function")
    assert names(python, STORAGE) == ["f16-storage"]
    assert names() == []


def test_the_built_in_chain() -> None:
    """Every default path stands before what it falls back to, and none is lost."""
    default = [path for path in BUILTIN if not path.opt_in]
    chained = [*chain(default, "f16-packed"), *chain(default, "f32")]
    assert {path.name for path in chained} == {path.name for path in default}
    places = {path.name: at for at, path in enumerate(chained)}
    for path in default:
        assert path.fallback == "f32" or places[path.name] < places[path.fallback]
