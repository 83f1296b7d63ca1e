"""Includes: what is compiled, where each line of it stands, and what may be included."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from tinygate.core.errors import CannotVerifyError, ConfigError
from tinygate.paths.include import MAX_DEPTH, Location, expand

KERNEL = "first\n  //!include common/outer.wgsl  \nlast\n"
FILES = {
    "common/outer.wgsl": "outer 1\n//!include common/inner.wgsl\nouter 3\n",
    "common/inner.wgsl": "inner 1\ninner 2",
    "common/empty.wgsl": "",
}


def reading(files: dict[str, str]) -> Callable[[str], str]:
    """Reads those files and no others."""

    def read(name: str) -> str:
        if name not in files:
            raise ConfigError(f"there is no {name}", "hint")
        return files[name]

    return read


def test_an_include_is_replaced_by_the_lines_of_its_file() -> None:
    found = expand("k.wgsl", KERNEL, reading(FILES))
    assert found.text == "first\nouter 1\ninner 1\ninner 2\nouter 3\nlast\n"
    assert [str(found.at(line)) for line in range(1, 8)] == [
        "k.wgsl:1",
        "common/outer.wgsl:1",
        "common/inner.wgsl:1",
        "common/inner.wgsl:2",
        "common/outer.wgsl:3",
        "k.wgsl:3",
        "k.wgsl:4",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("\n", "\n"),
        ("a", "a"),
        ("//!include common/empty.wgsl", ""),
        ("a\n//!include common/empty.wgsl\nb", "a\nb"),
        ("//!include common/inner.wgsl\n//!include common/inner.wgsl", "inner 1\ninner 2\n" * 2),
        ("\t//!include\tcommon/inner.wgsl", "inner 1\ninner 2"),
        # Comments like any other.
        ("//!included", "//!included"),
        ("// //!include common/inner.wgsl", "// //!include common/inner.wgsl"),
        ("x //!include common/inner.wgsl", "x //!include common/inner.wgsl"),
        ("//! a module's own words", "//! a module's own words"),
    ],
)
def test_expanding(text: str, expected: str) -> None:
    assert expand("k.wgsl", text, reading(FILES)).text == expected.removesuffix(
        "\n" * text.endswith("wgsl")
    )


def test_a_byte_order_mark_is_read_as_if_it_were_not_there() -> None:
    found = expand("k", "\ufeff//!include common/a.wgsl", reading({"common/a.wgsl": "\ufeffx\n"}))
    assert found.text == "x"


def test_every_line_break_of_wgsl_is_a_newline() -> None:
    found = expand("k", "1\r\n2\r3\v4\f5\x856\u20287\u20298\n9", reading({}))
    assert found.text == "1\n2\n3\n4\n5\n6\n7\n8\n9"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "dims.wgsl",
        "common/",
        "common/.wgsl",
        "common/dims.WGSL",
        "common/dims.wgsl extra",
        "common/../matmul/f32.wgsl",
        "common/a/b.wgsl",
        "../common/dims.wgsl",
        "/etc/passwd",
        "common/dims.wgsl\u200b",
        "COMMON/dims.wgsl",
        "c:\\common\\dims.wgsl",
        "common/dïms.wgsl",
        '"common/dims.wgsl"',
        "<common/dims.wgsl>",
        "common/" + "a" * 200 + ".wgsl",
    ],
)
def test_only_a_file_of_common_can_be_included(name: str) -> None:
    def read(name: str) -> str:
        raise AssertionError(f"{name} was read")

    with pytest.raises(ConfigError, match=r"^k\.wgsl:2: '.*' cannot be included$") as caught:
        expand("k.wgsl", f"\n//!include {name}\n", read)
    assert "//!include common/NAME.wgsl" in caught.value.hint
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "k.wgsl:3: there is no common/a.wgsl"),
        ({"a": "\n//!include common/b.wgsl"}, "common/a.wgsl:2: there is no common/b.wgsl"),
        (
            {"a": "//!include common/a.wgsl"},
            "common/a.wgsl:1: common/a.wgsl is included by what it includes: "
            "common/a.wgsl -> common/a.wgsl",
        ),
        (
            {"a": "x\n//!include common/b.wgsl", "b": "//!include common/a.wgsl"},
            "common/b.wgsl:1: common/a.wgsl is included by what it includes: "
            "common/a.wgsl -> common/b.wgsl -> common/a.wgsl",
        ),
        ({"a": "//!include /a"}, "common/a.wgsl:1: '/a' cannot be included"),
        ({"a": "x" * (1 << 20)}, "common/a.wgsl:1: over 1 MiB with what it includes"),
    ],
)
def test_an_include_that_cannot_be_followed(files: dict[str, str], says: str) -> None:
    named = {f"common/{name}.wgsl": text for name, text in files.items()}
    with pytest.raises(ConfigError) as caught:
        expand("k.wgsl", "\n\n//!include common/a.wgsl\n", reading(named))
    assert caught.value.message == says
    assert caught.value.hint


def test_includes_are_nested_so_deep_and_no_deeper() -> None:
    chain = {f"common/c{i}.wgsl": f"//!include common/c{i + 1}.wgsl\n" for i in range(9)}
    last = f"common/c{MAX_DEPTH}.wgsl"
    ended = reading({**chain, last: "end\n"})
    assert expand("k", "//!include common/c1.wgsl", ended).text == "end"
    with pytest.raises(ConfigError, match=rf"^{last}:1: more than 8 includes"):
        expand("k", "//!include common/c1.wgsl", reading(chain))


def test_a_text_of_many_includes_ends_at_the_limit() -> None:
    text = "//!include common/a.wgsl\n" * 40_000
    with pytest.raises(ConfigError, match="over 1 MiB"):
        expand("k", text, reading({"common/a.wgsl": "x" * 1000}))
    assert len(expand("k", " " * (1 << 20), reading({})).text) == 1 << 20


@pytest.mark.parametrize("text", ["//!include" + " " * (1 << 19) + "x" + " " * (1 << 18) + "y"])
def test_a_long_line_is_no_long_wait(text: str) -> None:
    with pytest.raises(ConfigError, match="cannot be included"):
        expand("k", text, reading({}))
    long = "enable " * 100_000
    assert expand("k", long, reading({})).without_directives(("f16",)).text == long


WORDS = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from([f"//!include common/{name}.wgsl" for name in "abc"]),
    max_size=8,
)


@given(kernel=WORDS, a=WORDS, b=WORDS, c=st.text(max_size=20))
def test_every_line_stands_where_the_map_says(
    kernel: list[str], a: list[str], b: list[str], c: str
) -> None:
    def without(names: str, lines: list[str]) -> str:
        kept = [line for line in lines if not any(f"common/{n}.wgsl" in line for n in names)]
        return "\n".join(kept)

    files = {
        "k.wgsl": "\n".join(kernel),
        "common/a.wgsl": without("a", a),
        "common/b.wgsl": without("ab", b),
        "common/c.wgsl": c,
    }
    try:
        found = expand("k.wgsl", files["k.wgsl"], reading(files))
    except ConfigError:  # an include drawn letter by letter
        reject()
    breaks = "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029"
    for number, line in enumerate(found.text.split("\n"), 1):
        place = found.at(number)
        text = files[place.file].removeprefix("\ufeff")
        for each in breaks:
            text = text.replace(each, "\n")
        lines = text.split("\n")
        if place == Location("k.wgsl", 1) and line == "":  # all there was became nothing
            continue
        assert lines[place.line - 1] == line


def test_lines_are_replaced_where_they_stand() -> None:
    text = "const A = 1u;\n//!include common/outer.wgsl\nalias B = f32;\n"
    before = expand("k", text, reading(FILES))
    after = before.with_lines({"const A = ": "20u; // \\1", "alias B = ": "f16;"})
    assert after.text == before.text.replace("1u;", "20u; // \\1").replace("f32", "f16")
    assert after.spans == before.spans


@pytest.mark.parametrize("code", ["", "const A = 1u;\nconst A = 1u;\n", "  const A = 1u;"])
def test_a_line_to_replace_is_there_once(code: str) -> None:
    with pytest.raises(CannotVerifyError, match="lines `const A = …`"):
        expand("k", code, reading({})).with_lines({"const A = ": "2u;"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("enable subgroups;", "                 "),
        ("enable f16; enable subgroups; fn", "enable f16;                   fn"),
        ("enable f16, subgroups;x", "enable f16;           x"),
        ("enable  subgroups ,f16 ;x", "enable f16;             x"),
        ("enable f16;", "enable f16;"),
        ("enable subgroups_of_mine;", "enable subgroups_of_mine;"),
        ("reenable subgroups;", "reenable subgroups;"),
    ],
)
def test_directives_an_engine_does_not_know_become_blanks(text: str, expected: str) -> None:
    found = expand("k", text, reading({}))
    assert found.without_directives(("subgroups",)).text == expected
    assert found.without_directives(()).text == text
