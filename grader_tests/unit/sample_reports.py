"""Reports on the tiny assignment that the tests of every format render."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from cs336_checks.rubric import Assignment, load_assignment
from cs336_grader.grading.journal import shown
from cs336_grader.judging import scoring
from cs336_grader.records import (
    Barrier,
    CheckResult,
    Consequence,
    Finding,
    Isolation,
    Picture,
    Report,
    SubmissionRecord,
    Verdict,
)
from grader_tests.assignments import TINY
from grader_tests.unit.two_tracks import two_tracks

NUMBERS = (
    "1,024 of 1,536 elements (66.7 %) differ, largest error 3.11 where 2e-05 is allowed; mean "
    "error 0.4.\nFirst places that differ:\n  [0, 2, 5]: yours 3.1, expected 0.2"
)
HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J[bold red]markup[/bold red] :smile: \u202egpj.exe\n"
    + "word " * 300
    + "x" * 300
)
CLOSED = Isolation(
    "strict",
    (
        Barrier("file system", closed=True, by="Landlock"),
        Barrier("network", closed=True, by="a network namespace of its own"),
        Barrier("processes", closed=True, by="a process namespace of its own"),
        Barrier("signals", closed=True, by="a process namespace of its own"),
        Barrier("memory", closed=False, by="a memory control group was not to be had"),
    ),
)
PICTURE = Picture(
    (3, 2, 8), "axes 0, 1 (3 by 2)", "axis 2 (8)", ("00000000", "00000000", "00007897") * 2
)

ASSIGNMENT = load_assignment(TINY)
with tempfile.TemporaryDirectory() as folder:
    DIVIDED = load_assignment(two_tracks(Path(folder)))


def report(
    messages: Mapping[str, str] | None = None,
    verdict: Verdict = Verdict.FAILED,
    notes: tuple[str, ...] = (),
    pictures: Mapping[str, Picture] | None = None,
    assignment: Assignment = ASSIGNMENT,
    *,
    explained: Mapping[str, tuple[str, str]] | None = None,
) -> Report:
    """A report in which the checks with a message have this verdict, and all others passed.

    Those that are explained have a question and details as well.
    """
    said = messages or {}
    outcomes = {
        check.id: shown(
            CheckResult.of(
                check,
                verdict if name in said else Verdict.PASSED,
                said.get(name, ""),
                question=(explained or {}).get(name, ("", ""))[0],
                details=(explained or {}).get(name, ("", ""))[1],
                duration_seconds=0.1,
                picture=(pictures or {}).get(name),
            )
        )
        for name, check in assignment.checks.items()
    }
    problems = tuple(assignment.rubric.problems)
    checks = scoring.check_results(assignment, problems, outcomes, "")
    results = scoring.problem_results(assignment, problems, checks)
    return Report(
        schema_version=1,
        submission=SubmissionRecord("half_right", "0123456789abcdef" * 4),
        seed=7,
        isolation=CLOSED,
        score=scoring.total_score(results),
        max_score=scoring.total_maximum(results),
        problems=results,
        checks=checks,
        notes=notes,
        duration_seconds=12.34,
        started_at=1_700_000_000,
        tracks=scoring.track_results(assignment.rubric.tracks, results),
    )


EVERY_CHECK = tuple(ASSIGNMENT.checks)
MIXED = {
    "test_moving_average_of_a_constant": "The average of equal values is not their value.",
    "test_moving_average_of_too_few": "The average of equal values is not their value.",
    "test_moving_average_keeps_its_argument": "The list was changed.",
    "test_count_words": "Your output is what you get when each word is counted once.",
    "test_count_words_in_any_case": "One word was taken for several.",
}
UNFINISHED = (
    "This is not written yet: a function still raises NotImplementedError.\n"
    "Your run_{} raised NotImplementedError (at tests/adapters.py:{})"
)
ABSENT = (
    "Your adapters have no function run_running_totals: was it removed or renamed?\n"
    "Your run_running_totals raised AttributeError: module 'tests.adapters' has no attribute "
    "'run_running_totals'"
)
STARTED = {
    "test_moving_average": UNFINISHED.format("moving_average", 4),
    "test_moving_average_of_a_constant": UNFINISHED.format("moving_average", 4),
    "test_moving_average_keeps_its_argument": UNFINISHED.format("moving_average", 4),
    "test_count_words": UNFINISHED.format("count_words", 8),
    "test_count_words_in_any_case": "One word was taken for several.",
    "test_running_totals": ABSENT,
    "test_running_totals_takes_one_at_a_time": ABSENT,
}
FINDINGS = (
    Finding(
        "count_words",
        "cs336_basics/counting.py",
        12,
        "collections.Counter",
        Consequence.COSTS_POINTS,
        "collections.Counter counts the words, which is what the problem asks for.",
    ),
    Finding("", "run.py", 0, "eval", Consequence.HUMAN_LOOK, "eval runs what cannot be read here."),
)
LINKS = "Left out (links are not followed): a, b, c and 2 more."
CASES: dict[str, Report] = {
    "all_passed": report(),
    "mixed": replace(
        report(
            MIXED,
            notes=(LINKS,),
            pictures={"test_count_words": PICTURE},
            explained={"test_count_words": ("What happens to a word that comes again?", NUMBERS)},
        ),
        findings=FINDINGS,
    ),
    "unfinished": report(STARTED),
    "not_judged": report({"test_count_words": "It needs loguru."}, Verdict.NOT_JUDGED),
    "nothing_to_run": replace(
        report(dict.fromkeys(EVERY_CHECK, "There is no adapters.py.")),
        submission=SubmissionRecord("half_right", ""),
        isolation=Isolation("not measured"),
    ),
    "could_not_judge": report(dict.fromkeys(EVERY_CHECK, "No room left."), Verdict.NOT_JUDGED),
    "two_tracks": report(
        {"test_count_words": NUMBERS, "test_running_totals": "A total is wrong."},
        assignment=DIVIDED,
    ),
    "hostile": report({"test_count_words": HOSTILE}, notes=("note",) * 20),
}
