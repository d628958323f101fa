"""Judges adapters that run in this process, and makes results without judging."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from cs336_checks.rubric import Assignment, load_assignment
from cs336_grader import pipeline
from cs336_grader.judges import Conditions, JudgeStarter, Lesson
from cs336_grader.judging.expected import RecordedValues
from cs336_grader.judging.judge import Judge
from cs336_grader.judging.suite import AdaptersSource, Suite
from cs336_grader.records import CheckResult, Staged, Verdict
from cs336_grader.scope import Scope
from grader_tests.assignments import TINY

CHECKS = load_assignment(TINY).checks
Results = Callable[[Staged, tuple[str, ...]], Iterator[object]]


def judged(
    suite: Suite,
    source: AdaptersSource,
    expected: RecordedValues | None = None,
    *,
    scope: Scope | None = None,
    finished: Callable[[CheckResult], None] = lambda _: None,
) -> list[CheckResult]:
    """The results of all checks of a suite, in this process."""
    results: list[CheckResult] = []

    def note(result: CheckResult) -> None:
        results.append(result)
        finished(result)

    judge = Judge(
        suite,
        lambda: judge.judge(source, suite.checks, scope=scope, finished=note),
        expected=expected,
    )
    judge.run()
    return results


def result(check: str, verdict: Verdict = Verdict.PASSED, message: str = "") -> CheckResult:
    """A result of a check of the tiny assignment."""
    return CheckResult.of(CHECKS[check], verdict, message, duration_seconds=0.1)


def judge_with(monkeypatch: pytest.MonkeyPatch, results: Results) -> list[Lesson]:
    """Have the pipeline call a function instead of a judge; the lessons that it would teach."""
    lessons: list[Lesson] = []

    def template(lesson: Lesson, _folder: Path) -> object:
        lessons.append(lesson)
        return nullcontext(SimpleNamespace(judges=None))

    def fake(
        _judges: JudgeStarter,
        staged: Staged,
        _assignment: Assignment,
        checks: dict[str, object],
        _conditions: Conditions,
    ) -> Iterator[object]:
        yield from results(staged, tuple(checks))

    monkeypatch.setattr(pipeline, "Template", template)
    monkeypatch.setattr(pipeline, "results", fake)
    return lessons
