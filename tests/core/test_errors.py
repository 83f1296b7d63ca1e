"""The exception tree: as its docstring draws it, with an exit code and a hint for every error."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from tinygate.core import errors
from tinygate.core.errors import CannotVerifyError, TinygateError, UsageError

TREE: dict[str, type[TinygateError]] = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, TinygateError)
}


def drawn() -> list[tuple[str, str]]:
    """(child, parent) for every class in the docstring's tree."""
    pairs, above = [], {0: "TinygateError"}
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"    ([│ ]*)[├└]── (\w+)", line):
            depth = len(found[1]) // 4 + 1
            above[depth] = found[2]
            pairs.append((found[2], above[depth - 1]))
    return pairs


def test_the_docstring_draws_every_class_under_its_own_parent() -> None:
    pairs = drawn()
    assert {child for child, _ in pairs} == set(TREE) - {"TinygateError"}
    for child, parent in pairs:
        assert TREE[child].__bases__ == (TREE[parent],)


@pytest.mark.parametrize("cls", TREE.values(), ids=TREE)
def test_usage_is_exit_2_and_everything_else_exit_3(cls: type[TinygateError]) -> None:
    assert cls("what", "how").exit_code == (2 if issubclass(cls, UsageError) else 3)
    if cls is not TinygateError:
        assert issubclass(cls, UsageError) != issubclass(cls, CannotVerifyError)


@pytest.mark.parametrize("cls", TREE.values(), ids=TREE)
def test_an_error_keeps_its_hint_through_the_workers_pipe(cls: type[TinygateError]) -> None:
    error = pickle.loads(pickle.dumps(cls("what went wrong", "what to do")))
    assert type(error) is cls
    assert (error.message, error.hint) == ("what went wrong", "what to do")
    assert str(error) == "what went wrong"
    assert error.render() == "tinygate: what went wrong\nhint: what to do"


def test_no_error_without_a_hint() -> None:
    with pytest.raises(TypeError):
        TinygateError("what")  # type: ignore[call-arg]
