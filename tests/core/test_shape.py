"""The shape parser, the suites of the command line, and the K of a shape class."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinygate.core.errors import ShapeError, UnknownNameError
from tinygate.core.shape import SUITES, Shape, suite

SIZES = st.integers(1, 2**32 - 1)
NAMES = st.text(string.ascii_letters + string.digits + "._-", max_size=40)


@given(M=SIZES, K=SIZES, N=SIZES, name=NAMES)
@example(M=64, K=128, N=128, name="")
@example(M=2**32 - 1, K=1, N=2**32 - 1, name="a.b_c-D9")
def test_what_is_printed_is_parsed_back(M: int, K: int, N: int, name: str) -> None:
    shape = Shape(M, K, N, name)
    assert str(shape) == f"{M}x{K}x{N}"
    assert shape.label == (f"{M}x{K}x{N}:{name}" if name else f"{M}x{K}x{N}")
    assert Shape.parse(shape.label) == shape
    assert Shape.parse(f" {shape.label}\n") == shape


EXPECTED = "three positive integers"
LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("64x128", f"64x128 is not a shape: expected MxKxN, {EXPECTED}"),
        ("64", EXPECTED),
        ("", f"'' is not a shape: expected MxKxN, {EXPECTED}"),
        ("   ", EXPECTED),
        ("1x1x1x1", EXPECTED),
        ("64X128X128", EXPECTED),
        ("64×128×128", EXPECTED),
        ("64,128,128", EXPECTED),
        (LONG, EXPECTED),
        ("0x1x1", "M is 0, expected 1 to 4294967295"),
        ("1x0x1", "K is 0, expected 1 to 4294967295"),
        ("1x1x0", "N is 0, expected 1 to 4294967295"),
        ("-1x2x3", "M is -1, expected 1 to 4294967295"),
        ("1x-2x3", "K is -2"),
        ("1x2x-3", "N is -3"),
        ("1x2x4294967296", "N is 4294967296"),
        ("axbxc", "M is 'a', expected a positive integer"),
        ("1xbxc", "K is 'b'"),
        ("1x2xc", "N is 'c'"),
        ("0x80x1x1", EXPECTED),
        ("1e3x1x1", "M is '1e3'"),
        ("1.0x1x1", "M is '1.0'"),
        ("1_0x1x1", "M is '1_0'"),
        ("1x--2x3", "K is '--2'"),
        ("x1x1", "M is missing"),
        ("1xx1", "K is missing"),
        ("1x1x", "N is missing"),
        ("64 x128x128", "M is '64 '"),
        ("64x 128x128", "K is ' 128'"),
        ("٣x1x1", "M is '٣'"),
        ("1x５x1", "K is '５'"),
        ("1x1x²", "N is '²'"),
        (f"{LONG}x1x1", "M is '999"),
        (f"1x1x{LONG}", "N is '999"),
        ("1\nx2x3", r"M is '1\n'"),
        ("1x\x1b[31m2x3", r"K is '\x1b[31m2'"),
        ("1x2x3:", "a name is 1 to 40"),
        ("1x2x3:a b", "a name is 1 to 40"),
        ("1x2x3:a:b", "a name is 1 to 40"),
        ("1x2x3:é", "a name is 1 to 40"),
        ("1x2x3:a\nb", "a name is 1 to 40"),
        ("1x2x3:" + "a" * 41, "a name is 1 to 40"),
        (":name", EXPECTED),
    ],
)
def test_bad_shapes_say_which_part_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ShapeError) as caught:
        Shape.parse(text)
    error = caught.value
    assert says in error.message
    assert "is not a shape" in error.message
    assert error.exit_code == 2
    assert error.hint.startswith("tinygate verify --shape 64x128x128")


@given(st.one_of(st.text(max_size=200), st.from_regex(r"[-+ 0-9x:a]{0,80}")))
@example("1x1x1" * 2000)
def test_any_text_is_a_shape_or_a_short_error_on_one_line(text: str) -> None:
    message = "fine"
    try:
        shape = Shape.parse(text)
        assert min(shape.M, shape.K, shape.N) >= 1
        assert Shape.parse(shape.label) == shape
    except ShapeError as error:
        message = error.message
    assert message.isprintable()
    assert len(message) < 500


def test_the_suites_of_the_command_line() -> None:
    written = {name: " ".join(map(str, shapes)) for name, shapes in SUITES.items()}
    inference = "1x256x256 1x256x1024 8x256x1024 64x256x256"
    training = "256x1024x256 256x1024x1024"
    head = "1x256x50257 4x50257x256"
    assert written == {
        "smoke": "64x128x128 17x33x65 1x77x131",
        "ragged": "1x1x1 1x64x1 2x67x10 4x38x7 5x19x41 6x39x14 7x31x6 8x20x35 9x21x3 33x37x1 "
        "19x1x36 40x40x40 300x12x5 3x11x700 3x257x129 17x33x65 65x130x63 535x96x1024",
        "inference": inference,
        "training": training,
        "head": head,
        "production": f"{inference} {training} {head} 8x4096x96 1x257x65541",
    }
    assert all(suite(name) == shapes for name, shapes in SUITES.items())


@pytest.mark.parametrize("name", ["", "Smoke", "smoke ", "everything"])
def test_an_unknown_suite_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        suite(name)
    assert repr(name) in caught.value.message
    assert "smoke, ragged, inference, training, head, production" in caught.value.message
    assert caught.value.exit_code == 2


def test_ragged_is_a_covering_set() -> None:
    """Counted from the table, so that whoever changes it sees what it was for."""
    ragged = SUITES["ragged"]
    for axis in "MKN":
        assert {getattr(shape, axis) % 8 for shape in ragged} == set(range(8)), axis
    assert {shape.M for shape in ragged} >= set(range(1, 10))
    assert any(shape.N == 1 and shape.M > 8 for shape in ragged)
    assert any(shape.K == 1 and shape.M > 8 for shape in ragged)
    assert any(shape.M == shape.K == shape.N > 8 for shape in ragged)
    assert any(shape.M > 4 * shape.N > 4 for shape in ragged)
    assert any(shape.N > 4 * shape.M for shape in ragged)
    equal = [s for s in ragged if s.K == s.N and s.M != s.K]
    assert not equal, "K is N by accident"


def test_production_reaches_what_indices_break_at() -> None:
    production = SUITES["production"]
    assert {256, 1024, 4096, 50257} <= {shape.K for shape in production}
    assert any(shape.N > 1 << 16 for shape in production)
    assert any(shape.K * shape.N > 1 << 24 for shape in production)
    assert {*SUITES["inference"], *SUITES["training"], *SUITES["head"]} <= set(production)
