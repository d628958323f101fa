"""What commands decide before and after grading: the assignment, the exit code, what to type."""

import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import click
import pytest
from click.testing import CliRunner

from cs336_grader import batch_command, cli, commands
from cs336_grader.batch.settings import Settings, save_settings
from cs336_grader.judging.choice import UnknownNameError
from cs336_grader.records import Isolation, Report, SubmissionRecord
from cs336_grader.request import Request
from grader_tests.unit.submissions import write

BEFORE = Settings("submissions", "assignment", "0", 7)


def test_the_nearest_assignment_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder within an assignment, that assignment is meant."""
    write(tmp_path, {"tests/rubric.toml": "", "deep/down/x": ""})
    monkeypatch.chdir(tmp_path / "deep" / "down")
    assert commands.default_assignment(tmp_path / "submission") == tmp_path


def test_a_submission_is_not_judged_by_its_own_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the suite within the submission is passed over."""
    write(tmp_path, {"tests/rubric.toml": "", "nested/tests/rubric.toml": ""})
    monkeypatch.chdir(tmp_path / "nested")
    assert commands.default_assignment(tmp_path) == Path(cli.__file__).parents[1]


@pytest.mark.parametrize("percent", [5, 7, 20, 40, 55, 99])
def test_a_score_at_the_bar_is_not_below_it(percent: int) -> None:
    """How a computer writes 20 % of 3 points decides nothing."""
    report = Report(
        schema_version=1,
        submission=SubmissionRecord("name", ""),
        seed=0,
        isolation=Isolation("process"),
        score=round(3 * percent / 100, 2),
        max_score=3.0,
        problems=(),
        checks=(),
        notes=(),
        duration_seconds=0.0,
    )
    assert cli.exit_code(report, percent) == commands.GRADED
    assert cli.exit_code(report, percent + 0.01) == commands.BELOW_THE_BAR


def test_the_command_to_repeat_names_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the report depends on is part of what gives the same one again."""
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    request = Request(
        Path("work"),
        Path(),
        7,
        (),
        Path("report"),
        tracks=("words",),
        revision="a b",
        adapters=PurePosixPath("a/adapters.py"),
        isolation="none",
        worker_python="other/python",
    )
    assert cli.repeat_command(request, named_assignment=None) == (
        "cs336 grade work --seed 7 --revision 'a b' --adapters a/adapters.py --track words"
        " --isolation none --worker-python other/python"
    )
    problems = replace(request, tracks=(), only=("gelu", "dropout"))
    assert "--only gelu --only dropout" in cli.repeat_command(problems, named_assignment=None)


@pytest.mark.parametrize(("on_the_path", "called"), [(True, "uv"), (False, ".uv/bin/uv")])
def test_commands_to_type_begin_as_this_one_did(
    monkeypatch: pytest.MonkeyPatch, on_the_path: bool, called: str
) -> None:
    """Where uv found the program, nobody else might; uv itself may be the Makefile's own."""
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    monkeypatch.setenv("UV", str(Path.cwd() / ".uv" / "bin" / "uv"))
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/uv" if on_the_path else None)
    request = Request(Path(), Path(), 7, (), Path("report"))
    repeat = cli.repeat_command(request, named_assignment=None)
    assert repeat == f"{called} run cs336 grade . --seed 7"
    look_closer = f"{called} run pytest --adapters-from=. --seed=7 CHECK"
    assert cli.look_closer_command(request) == look_closer


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        (replace(BEFORE, digest="1"), "To see whose grade changes, with the settings of then: {}"),
        (replace(BEFORE, digest="1", isolation="none"), "with the settings of then: {}"),
        (replace(BEFORE, isolation="none"), "To go on with it, leave the settings as they were."),
    ],
)
def test_other_settings_are_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Settings, advice: str
) -> None:
    """A regrade only where what grades has changed: it does not take other settings."""
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/uv")
    out = tmp_path / "my class"
    save_settings(out, BEFORE)
    assert batch_command.as_before(replace(BEFORE, seed=8), out, any_seed=True) == BEFORE
    with pytest.raises(click.UsageError) as refused:
        batch_command.as_before(asked, out, any_seed=False)
    *_, last = refused.value.message.splitlines()
    regrade = f"uv run cs336 regrade {shlex.quote(str(out))}"
    assert last.endswith(advice.format(regrade))


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (click.UsageError("Name it."), commands.USAGE, "Name it."),
        (UnknownNameError("track", "clasic", ("classic",)), commands.USAGE, "Did you mean classic"),
        (OSError("full"), commands.COULD_NOT_JUDGE, "Nothing was done: full"),
        (ZeroDivisionError("none"), commands.COULD_NOT_JUDGE, "A fault of this program: ZeroDiv"),
        (KeyboardInterrupt(), commands.INTERRUPTED, "\nInterrupted."),
        (click.Abort(), commands.INTERRUPTED, "\nInterrupted."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_every_end_has_words_and_a_code(error: BaseException, code: int, told: str) -> None:
    """What a person asked for wrongly is told as that, and an interruption is no fault."""

    @click.command()
    def command() -> None:
        with commands.ended_in_words("Nothing was done: ", (OSError,)):
            raise error

    result = CliRunner().invoke(command)
    assert result.exit_code == code
    assert told in result.stderr


def test_version() -> None:
    """The version is the installed one."""
    assert CliRunner().invoke(cli.main, ["--version"]).stdout.startswith("cs336, version ")


def single_commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group and of those within it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", found) for inner, found in single_commands(command))
        else:
            yield name, command


def test_no_new_options() -> None:
    """Options are a promise: each new one is added here by hand."""
    options = {
        name: sorted(option for parameter in command.params for option in parameter.opts)
        for name, command in single_commands(cli.main)
    }
    assert options == {
        "audit": ["--assignment", "--jobs", "--problem", "--report-dir"],
        "batch": [
            *("--assignment", "--cluster", "--isolation", "--jobs", "--only", "--report-dir"),
            *("--seed", "--track", "--worker-python", "folder"),
        ],
        "doctor": ["--worker-python"],
        "grade": [
            "--adapters",
            "--assignment",
            "--fail-under",
            "--format",
            "--isolation",
            "--only",
            "--quiet",
            "--report-dir",
            "--revision",
            "--seed",
            "--track",
            "--worker-python",
            "-q",
            "path",
        ],
        "export": ["--out", "platform", "report_dir"],
        "handout": ["--assignment", "--track", "--update", "out"],
        "new": ["path"],
        "package gradescope": ["--assignment", "--minutes", "--track", "out"],
        "regrade": ["--cluster", "--jobs", "--write", "report_dir"],
    }
