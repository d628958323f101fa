"""What a run of the suite says of how far the work is."""

from types import SimpleNamespace
from typing import Any

import pytest

from cs336_checks.progress import Progress, near_names
from cs336_checks.standing import ADVICE, FAILED, PASSED, SKIPPED, UNWRITTEN, advice_lines
from cs336_checks.suite_folder import SuiteFolder
from grader_tests.assignments import ROOT

SUITE = SuiteFolder(ROOT / "tests")
PROBLEMS = SUITE.rubric.problems
FIRST_NAME, FIRST = next(iter(PROBLEMS.items()))


@pytest.fixture(autouse=True)
def uv_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is here or not."""
    monkeypatch.setattr("shutil.which", lambda name: name)


class Lines(list[str]):
    """A terminal that keeps what is written."""

    config = SimpleNamespace(get_terminal_writer=lambda: SimpleNamespace(fullwidth=80))

    def write_sep(self, _: str, title: str) -> None:
        """A line with a title."""
        self.append(f"== {title}")

    def write_line(self, line: str, **_: bool) -> None:
        """A line, whatever its colour."""
        self += line.split("\n")


def shown(**outcomes: str) -> list[str]:
    """What is said where all checks of some problems came out alike."""
    progress = Progress(SUITE)
    for problem, outcome in outcomes.items():
        progress.messages[problem] = f"{problem}: write it there"
        for _, check in PROBLEMS[problem].checks():
            progress.cases[check].add(outcome)
    lines: Any = Lines()
    progress.show(lines)
    return list(lines)


def everything(outcome: str, **others: str) -> list[str]:
    """The same, for all problems."""
    return shown(**{**dict.fromkeys(PROBLEMS, outcome), **others})


def test_the_first_run_tells_where_to_begin() -> None:
    """With the first problem, what to write, and how to run its checks."""
    lines = everything(UNWRITTEN)
    assert lines[0].startswith("== progress")
    assert lines[1].split() == [FIRST_NAME, "0", "/", f"{FIRST.points:g}", *UNWRITTEN.split()]
    total = sum(one.points for one in PROBLEMS.values() if not one.extra)
    end = lines.index("")
    assert lines[end - 1].split() == ["Total", "0", "/", f"{total:g}"]
    assert lines[end + 1 :] == [
        f"Begin here: {FIRST_NAME} ({FIRST.title}).",
        "    Read course/04_linear_and_embedding.md.",
        "    Write it there.",
        f"    Run its checks: uv run pytest -k {FIRST_NAME}",
        "Or begin with the classic track: gelu (GELU).",
        "    Run its checks: uv run pytest -k gelu",
        "    Run that track alone: uv run pytest --track classic",
    ]


def test_what_fails_comes_before_what_is_not_written() -> None:
    """The problem is named, and how to run its checks."""
    lines = everything(UNWRITTEN, softmax=FAILED, linear=PASSED)
    assert "Next: fix softmax." in lines
    assert lines[-1] == "    Run its checks: uv run pytest -k softmax"


def test_what_is_next_once_something_is_done() -> None:
    """It is no beginning any more."""
    lines = everything(UNWRITTEN, linear=PASSED)
    assert "done" in lines[1]
    assert any(line.startswith("Next: embedding (") for line in lines)


def test_what_is_next_is_of_the_track_that_was_begun() -> None:
    """Nobody who builds one family is sent to the other before it is done."""
    assert "Next: layer_norm (LayerNorm)." in everything(UNWRITTEN, gelu=PASSED)
    classic = [name for name, problem in PROBLEMS.items() if problem.track == "classic"]
    done = everything(UNWRITTEN, **dict.fromkeys(classic, PASSED))
    assert "Next: linear (Linear layer)." in done


def test_a_part_tells_nothing_of_the_other_track() -> None:
    """Who asked for some checks did not ask where else to begin."""
    assert not any("track" in line for line in shown(rope=UNWRITTEN, dropout=UNWRITTEN))


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("embeding", "'embeding'. Did you mean embedding"),
        ("not rope and tokeniser", "Did you mean tokenizer"),
        ("zzz", "No problem or check is called 'zzz'."),
    ],
)
def test_what_is_meant_by_a_misspelt_name(asked: str, told: str) -> None:
    """What comes near, and all that there is."""
    hint, every = near_names(asked, SUITE.rubric)
    assert told in hint
    assert ("mean" in hint) == ("mean" in told)
    assert all(name in every for name in PROBLEMS)


def test_all_done() -> None:
    """The total is the maximum and what is extra, and nothing is next."""
    lines = everything(PASSED)
    assert lines[-1].startswith("Total")
    extra = sum(one.points for one in PROBLEMS.values() if one.extra)
    assert lines[-1].endswith(f"  {extra:g} of them extra")
    assert not any("Next" in line for line in lines)


def test_advice_leaves_a_problem_done() -> None:
    """It costs no points and is no failure."""
    progress = Progress(SUITE)
    for _, check in PROBLEMS["rope"].checks():
        progress.cases[check].add(PASSED)
    progress.cases[PROBLEMS["rope"].advice[0]].add(ADVICE)
    lines: Any = Lines()
    progress.show(lines)
    assert lines[1].split() == ["rope", "2", "/", "2", "done"]


@pytest.mark.parametrize(("count", "more"), [(1, ""), (3, ""), (5, ", and 2 more")])
def test_three_lines_of_advice_are_shown(count: int, more: str) -> None:
    """The first ones, and how to see what was found."""
    told = [f"rope: requirement {i}" for i in range(count)]
    _, title, *lines, last = advice_lines(told, "uv run pytest")
    assert title == "Advice (no points):"
    assert [line.strip() for line in lines] == told[:3]
    assert last == f"    What was found{more}: uv run pytest -k advice"
    assert advice_lines([], "uv run pytest") == []


def test_a_single_problem() -> None:
    """No total of what was not run."""
    lines = shown(rope=PASSED)
    assert lines[1].split()[:2] == ["rope", "2"]
    assert lines[2:] == ["", "Done here. What is next: uv run pytest"]


def test_what_is_skipped_is_not_taken_for_lost() -> None:
    """At another seed only the reference knows some values: there are no points to tell then."""
    progress = Progress(SUITE)
    for _, check in PROBLEMS["rope"].checks():
        progress.cases[check].add(PASSED)
    progress.cases[PROBLEMS["rope"].core["rotation"][0]] = {SKIPPED}
    lines: Any = Lines()
    progress.show(lines)
    assert "/" not in lines[1]
    assert "passed" in lines[1]
    assert shown(rope=SKIPPED) == []


def test_one_case_that_fails_decides_about_its_check() -> None:
    """And so does one that is not written."""
    progress = Progress(SUITE)
    [(_, check), *_] = PROBLEMS["rope"].checks()
    progress.cases[check] = {PASSED, FAILED, UNWRITTEN}
    assert progress.outcomes(PROBLEMS["rope"]) == {check: FAILED}


def test_a_package_may_have_something_not_implemented() -> None:
    """That is a failure to read about; a stub names its problem, or says nothing."""
    progress = Progress(SUITE)
    assert progress.is_of_a_stub("")
    assert progress.is_of_a_stub("rope: write it")
    assert not progress.is_of_a_stub(
        "Could not run 'aten::sort' with arguments from the 'Meta' backend"
    )
