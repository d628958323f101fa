"""The command line: what it asks for, what it says when something is wrong, how it exits."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.text import Text

from cs336_grader import cli, commands
from cs336_grader.records import (
    CheckResult,
    CouldNotJudgeError,
    Progress,
    Staged,
    Verdict,
)
from cs336_grader.reports import printing
from cs336_grader.reports.formats import FORMATS
from grader_tests.assignments import TINY
from grader_tests.commands import ENVIRONMENT, PROGRAM
from grader_tests.judged import Results, judge_with
from grader_tests.judged import result as result_of
from grader_tests.unit.submissions import STUBS, write


def halfway(_staged: Staged, checks: tuple[str, ...]) -> Iterator[Progress | CheckResult]:
    """Pass the first problem's checks and fail the others."""
    for check in checks:
        yield Progress(check)
        verdict = Verdict.PASSED if "average" in check else Verdict.FAILED
        yield result_of(check, verdict, "" if verdict is Verdict.PASSED else "Wrong.")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `cs336 grade` on a submission of stubs, judged by a function."""
    write(tmp_path / "submission", {"tests/adapters.py": STUBS})
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, judge: Results = halfway, path: str = "submission") -> Result:
        judge_with(monkeypatch, judge)
        words = ["grade", path, "--assignment", str(TINY), *arguments]
        return CliRunner().invoke(cli.main, words, catch_exceptions=False)

    return invoke


Run = Callable[..., Result]


def report(folder: Path) -> dict[str, object]:
    """What report.json says."""
    return dict(json.loads((folder / "report.json").read_text(encoding="utf-8")))


def test_the_report_is_printed_and_written(run: Run, tmp_path: Path) -> None:
    """The terminal says what report.json says, and how to repeat it."""
    result = run("--seed", "7")
    assert result.exit_code == commands.GRADED
    assert "Total       4.0 / 9 (44.4 %)" in result.stdout
    assert f"cs336 grade submission --seed 7 --assignment {TINY}" in result.stdout
    assert report(tmp_path / "report")["score"] == 4.0


def test_without_a_terminal_it_is_plain(run: Run) -> None:
    """One line says that it has begun; no control characters, no progress, no colours."""
    result = run("--seed", "7")
    assert result.stderr == "Grading submission with seed 7.\n"
    assert all(ord(character) >= 32 or character == "\n" for character in result.stdout)


def test_a_fresh_seed_is_printed_and_recorded(run: Run, tmp_path: Path) -> None:
    """Two runs draw different seeds."""
    seeds = []
    for folder in ("one", "two"):
        result = run("--report-dir", folder)
        seed = report(tmp_path / folder)["seed"]
        assert f"Seed        {seed}" in result.stdout
        seeds.append(seed)
    assert seeds[0] != seeds[1]


def test_quiet_prints_the_total_alone(run: Run) -> None:
    """One line, for scripts."""
    result = run("--quiet")
    assert result.stdout == "4.0 / 9 (44.4 %)\n"
    assert result.stderr == ""


def test_quiet_says_why_there_is_no_verdict(run: Run) -> None:
    """The total alone would look like a zero."""

    def judge(*_: object) -> Iterator[CheckResult]:
        yield from ()
        raise CouldNotJudgeError("The disk is full.")

    result = run("--quiet", judge=judge)
    assert result.stdout == "not judged (8 of 8 checks)\n"
    assert result.stderr == "The disk is full.\n"


def test_quiet_tells_what_is_known_from_what_is_not(run: Run) -> None:
    """Points so far are no total."""

    def judge(*_: object) -> Iterator[CheckResult]:
        yield result_of("test_count_words")
        raise CouldNotJudgeError("The disk is full.")

    result = run("--quiet", judge=judge)
    assert result.stdout == "2.4 / 9 so far, not judged (7 of 8 checks)\n"
    assert result.stderr == "The disk is full.\n"


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_path_that_holds_no_work_is_warned_of(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """It has no points, and whoever named the wrong folder learns of it without reading on."""
    write(tmp_path / "elsewhere", {"notes.txt": ""})
    result = run(*options, path="elsewhere")
    assert result.exit_code == commands.GRADED
    assert "There is no adapters.py in the submission." in result.output
    assert result.stderr.endswith(
        "Warning: nothing in elsewhere could be run, so it has 0 points. Is that the submission?\n"
    )
    assert "sha256" not in result.stdout
    assert "Isolation   none" not in result.stdout


def test_every_format_is_written(run: Run, tmp_path: Path) -> None:
    """Into the report folder under its own name, or to a path."""
    names = [*FORMATS, f"gradescope={tmp_path / 'elsewhere' / 'results.json'}"]
    result = run(*(word for name in names for word in ("--format", name)))
    assert result.exit_code == commands.GRADED
    written = {path.name for path in (tmp_path / "report").iterdir()}
    assert written == {format_.file_name for format_ in FORMATS.values()}
    found = json.loads((tmp_path / "elsewhere" / "results.json").read_text(encoding="utf-8"))
    assert found["score"] == 4.0
    assert "\n            report/report.html\n" in result.stdout


def test_an_interrupted_run_writes_every_format(run: Run, tmp_path: Path) -> None:
    """What was known is in each, and each says that it is no grade."""

    def judge(*_: object) -> Iterator[CheckResult]:
        yield result_of("test_count_words")
        raise KeyboardInterrupt

    run("--format", "html", "--format", "csv", judge=judge)
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "No grade yet" in page
    assert "The run was broken off before this check." in page
    assert ",not judged,," in (tmp_path / "report" / "grade.csv").read_text(encoding="utf-8")


def test_nothing_that_is_printed_is_a_command_to_github(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two lines that nobody can guess, its runner takes no commands."""

    def judge(_staged: Staged, checks: tuple[str, ...]) -> Iterator[CheckResult]:
        for check in checks:
            yield result_of(check, Verdict.FAILED, "::notice title=Points::100/100")

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    first, *inside, last = run(judge=judge).stdout.splitlines()
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert last == f"::{token}::"
    assert "::notice" in "".join(inside)


def test_only(run: Run) -> None:
    """The denominator is the problems asked for."""
    result = run("-q", "--only", "moving_average", "--only", "running_totals")
    assert result.stdout == "4.0 / 6 (66.7 %)\n"


@pytest.mark.parametrize(
    ("percent", "code"), [("44", commands.GRADED), ("45", commands.BELOW_THE_BAR)]
)
def test_fail_under(run: Run, percent: str, code: int) -> None:
    """Below the bar has an exit code of its own."""
    assert run("--fail-under", percent).exit_code == code


def test_full_marks_are_not_below_a_hundred_percent(run: Run) -> None:
    """The bar can be everything."""
    assert run("--only", "moving_average", "--fail-under", "100").exit_code == commands.GRADED


def test_not_judged_has_its_own_exit_code(run: Run) -> None:
    """It is neither graded nor below the bar."""

    def judge(*_: object) -> Iterator[CheckResult]:
        yield result_of("test_count_words")
        raise CouldNotJudgeError("The disk is full.")

    result = run("--fail-under", "100", judge=judge)
    assert result.exit_code == commands.COULD_NOT_JUDGE
    assert "The disk is full." in result.stdout


def test_an_interrupted_run_says_where_its_report_is(run: Run, tmp_path: Path) -> None:
    """Ctrl-C ends cleanly, with what was known on disk."""

    def judge(*_: object) -> Iterator[CheckResult]:
        yield result_of("test_count_words")
        raise KeyboardInterrupt

    result = run(judge=judge)
    assert result.exit_code == commands.INTERRUPTED
    assert "Interrupted. What was known by then is in report/report.json." in result.stderr
    assert report(tmp_path / "report")["score"] == 2.4


def test_a_fault_of_the_grader_is_not_a_bad_mark(run: Run) -> None:
    """Whatever goes wrong here, the exit code is not that of a submission below the bar."""

    def judge(*_: object) -> Iterator[CheckResult]:
        yield result_of("test_count_words")
        raise ZeroDivisionError("division by zero")

    result = run(judge=judge)
    assert result.exit_code == commands.COULD_NOT_JUDGE
    assert "A fault of this program, not of the submission: ZeroDivisionError" in result.stderr
    assert "Traceback" not in result.stderr


WRONG = {
    "No such option": ["--sed", "1"],
    "There is no problem 'count_word'. Did you mean count_words?": ["--only", "count_word"],
    "There is no problem 'zzz'. There are: moving_average, count_words, running_totals.": [
        "--only",
        "zzz",
    ],
    "There is no track 'numbers'. There are: none.": ["--track", "numbers"],
    "Use --only or --track, not both.": ["--only", "count_words", "--track", "words"],
    "not in the range": ["--seed", "-1"],
    "is not a valid": ["--seed", "x"],
    "there is no format 'htm'. Did you mean html?": ["--format", "htm"],
    "there is no format 'zzz'. There are: json, html,": ["--format", "zzz"],
    "no path follows 'html='": ["--format", "html="],
    "'html=-' names no file. Name one, as in html=FOLDER/report.html": ["--format", "html=-"],
    "'csv=.' names no file": ["--format", "csv=."],
    "'csv=new/' names no file": ["--format", "csv=new/"],
    "html and csv would both be written to page": ["--format", "html=page", "--format", "csv=page"],
    "json and html would both be written to report/report.json": [
        "--format",
        "html=report/report.json",
    ],
    "not in the range 0<=x<=100": ["--fail-under", "101"],
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_command_line(run: Run, message: str) -> None:
    """The message says what to do, and the exit code that it was the command line."""
    result = run(*WRONG[message])
    assert result.exit_code == commands.USAGE
    assert message in result.stderr
    assert "Grading" not in result.stderr
    assert result.stdout == ""
    assert not Path("report").exists()


def test_no_such_path(run: Run) -> None:
    """A path that does not exist is named."""
    result = run(path="nowhere")
    assert result.exit_code == commands.USAGE
    assert "'nowhere' does not exist" in result.stderr


@pytest.mark.parametrize(
    "wrong", [{"path": "nowhere"}, {"options": ["--only", "rop"]}, {"options": ["--track", "x"]}]
)
def test_an_earlier_report_is_not_taken_for_this_run(run: Run, wrong: dict[str, Any]) -> None:
    """Where nothing is written, the message says of which time what lies there is."""
    run()
    file = Path("report", "report.json")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    before = file.read_bytes()
    result = run(*wrong.get("options", ()), path=wrong.get("path", "submission"))
    assert result.exit_code == commands.USAGE
    told = f"Nothing was written: {file} is of an earlier run, 2023-11-14 22:13 UTC."
    assert told in result.stderr
    assert file.read_bytes() == before


def test_what_is_asked_for_and_not_there_is_no_fault_of_the_submission(run: Run) -> None:
    """One message that says what to do instead, the exit code of a wrong command line, no table."""
    for options, message in (
        (("--adapters", "adapters.py"), "has no Python file adapters.py: --adapters names one"),
        (("--revision", "main"), "submission is no git repository: leave out --revision"),
        (("--worker-python", "submission/tests/adapters.py"), "is no Python that runs"),
    ):
        result = run(*options)
        assert result.exit_code == commands.USAGE
        assert message in result.stderr
        assert result.stdout == ""


def test_a_folder_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    """Where no report can be left, nothing is graded."""
    (tmp_path / "file").touch()
    result = run("--report-dir", "file/report")
    assert result.exit_code == commands.COULD_NOT_JUDGE
    assert "Could not read or write a file" in result.stderr


def test_a_broken_assignment(tmp_path: Path) -> None:
    """The rubric's own error is shown."""
    folder = write(tmp_path, {"tests/rubric.toml": "title = 1", "s/tests/adapters.py": STUBS})
    result = CliRunner().invoke(cli.main, ["grade", "s", "--assignment", str(folder)])
    assert result.exit_code == commands.USAGE  # there is no folder s here
    result = CliRunner().invoke(cli.main, ["grade", str(folder / "s"), "--assignment", str(folder)])
    assert result.exit_code == commands.COULD_NOT_JUDGE
    assert "tests/rubric.toml: title: a text is expected" in result.stderr


def test_what_cannot_be_encoded_is_replaced() -> None:
    """A terminal without Unicode gets a report all the same."""
    assert printing.encodable(Text("✗ wrong"), "ascii").plain == "? wrong"


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_output_that_cannot_be_printed_changes_no_verdict(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Whoever closes the pipe early, or has no room on the disk, still gets the right exit code."""
    write(tmp_path / "submission", {"tests/adapters.py": "def run_count_words(text: syntax error"})
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [*PROGRAM, "grade", "submission", "--assignment", str(TINY), *options],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert result.returncode == commands.GRADED, result.stderr
    assert "could not be printed" in result.stderr
    assert "Traceback" not in result.stderr
    assert report(tmp_path / "report")["score"] == 0


def test_the_program_starts_with_what_every_command_needs_alone() -> None:
    """What draws is imported where something is drawn, and no time is lost to the collector."""
    seen = "import gc, sys; from cs336_grader.__main__ import commands; commands()"
    told = "print('rich' in sys.modules, gc.get_freeze_count() > 0, gc.get_threshold()[0] > 700)"
    result = subprocess.run(
        [sys.executable, "-c", f"{seen}; {told}"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "False True True\n"


def test_exit_codes_are_documented() -> None:
    """Help names every exit code."""
    result = CliRunner().invoke(cli.main, ["grade", "--help"])
    for code in (
        commands.GRADED,
        commands.BELOW_THE_BAR,
        commands.USAGE,
        commands.COULD_NOT_JUDGE,
        commands.INTERRUPTED,
    ):
        assert f"\n    {code}  " in result.stdout


def test_an_interruption_after_grading_has_a_code_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing of the submission, as the code below the bar would."""

    def show(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(printing, "show", show)
    result = run()
    assert result.exit_code == commands.INTERRUPTED
    assert result.stderr.endswith("\nInterrupted.\n")
