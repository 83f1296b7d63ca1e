"""GitHub: commands that the runner reads as meant, and none that it reads by accident."""

from __future__ import annotations

from sample_reports import ERRORING, FAILING, MANY, PASSING, hostile

from tinygate.report import gate_line, github


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_an_error_per_failure_and_a_warning_per_note() -> None:
    assert commands(github.render(FAILING)) == [
        "::warning title=tinygate::llvmpipe is a CPU adapter: its verdicts say nothing about a GPU",
        "::error title=tinygate FAIL%3A f16-storage/64x128x128/positive::max_abs over limit"
        f"%0Areplay: {FAILING.cases[1].replay}",
    ]
    assert "tinygate ERROR%3A" in github.render(ERRORING)
    assert len(commands(github.render(MANY))) == 24


def test_a_pass_has_no_error_and_says_what_is_active() -> None:
    text = github.render(PASSING)
    assert "::error" not in text
    assert text.splitlines()[-1] == "f16-storage matmul active"


def test_escapes() -> None:
    assert github.command("error", "a:b,c%", "50%\r\nx", "y: z,") == (
        "::error title=a%3Ab%2Cc%25::50%25 x%0Ay: z,"
    )


def test_outside_text_cannot_give_commands() -> None:
    assert github.inert("  ::set-output name=a::b") == ": :set-output name=a::b"
    assert github.inert("x ##[error]y") == "x # #[error]y"
    text = github.render(hostile())
    assert all(line.startswith(("::error ", "::warning ")) for line in commands(text))
    # In a line that is a command, the runner looks for no second one.
    others = set(text.splitlines()) - set(commands(text))
    assert not any("##[" in line for line in others)


def test_summary_has_the_table_and_not_the_lines() -> None:
    text = github.summary(FAILING)
    assert "| pill | path | detected | gate | speed-up | state |" in text
    assert gate_line.case_line(FAILING.cases[0]) not in text
