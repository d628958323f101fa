"""Grades a class again after a fix: who changed, and why, before anything of it is replaced.

The new reports lie in a hidden folder beside the old ones until they are written over these, so a
regrade that was only looked at is not done twice.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.text import Text

from cs336_checks.rubric import load_assignment
from cs336_grader.judging import scoring
from cs336_grader.records import CheckResult, Report
from cs336_grader.reports import summary
from cs336_grader.reports.formats import publish
from cs336_grader.reports.terminal import Surroundings, Writer

from .grading import request_for
from .overview import Overview, first_line
from .progress_bar import ClassProgress
from .records import RECORD, Graded, Status, save, saved
from .settings import Settings, save_settings, saved_settings
from .submissions import Found
from .whole_class import Runner, grade_class, is_done, write_class

REGRADED = ".regraded"
# Of what is said of one submission, this many reasons are shown.
MOST_REASONS = 6
# More decimals are the work of sums.
DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Change:
    """A submission whose grade is not what it was.

    Attributes:
        name: its name.
        before: its grade in words.
        after: the same, now.
        reasons: what differs, one sentence each.
    """

    name: str
    before: str
    after: str
    reasons: tuple[str, ...]


def grade_again(
    found: Found, settings: Settings, out: Path, run: Runner, watch: ClassProgress
) -> tuple[Overview, list[Change]]:
    """Grade a class beside its reports; what would change.

    Raises:
        OSError: what was found cannot be written.
    """
    beside = out / REGRADED
    if saved_settings(beside) != settings:
        shutil.rmtree(beside, ignore_errors=True)
    rescore(found, settings, out, beside)
    seen = grade_class(found, settings, beside, run, watch)
    return seen, list(changes(out, seen.done))


def rescore(found: Found, settings: Settings, out: Path, beside: Path) -> None:
    """Give new points to reports whose checks would have the same results: nothing is run.

    Raises:
        OSError: a report cannot be written.
    """
    assignment = load_assignment(Path(settings.assignment))
    for submission in found.submissions:
        known = saved(out / submission.name)
        if known is None or known.record.status is not Status.GRADED:
            continue
        record = replace(
            known.record, settings=replace(known.record.settings, points=settings.points)
        )
        if not is_done(Graded(record, known.report), submission, settings):
            continue
        names = [problem.id for problem in known.report.problems]
        problems = scoring.problem_results(
            assignment, names, known.report.checks, known.report.findings
        )
        report = replace(
            known.report,
            problems=problems,
            score=scoring.total_score(problems),
            max_score=scoring.total_maximum(problems),
            tracks=scoring.track_results(assignment.rubric.tracks, problems),
        )
        publish(report, request_for(submission, settings, beside).destinations)
        save(beside / submission.name, record)


def changes(out: Path, now: Sequence[Graded]) -> Iterator[Change]:
    """What differs from the reports in a folder."""
    for after in now:
        before = saved(out / after.record.name)
        if before is None:
            yield Change(after.record.name, "no grade", grade_of(after), ("It is new.",))
        elif grade_of(before) != grade_of(after):
            reasons = tuple(why(before, after))
            yield Change(after.record.name, grade_of(before), grade_of(after), reasons)


def grade_of(one: Graded) -> str:
    """A submission's grade in words."""
    if one.record.status is not Status.GRADED:
        return one.record.status.value
    return f"{round(one.report.score, DECIMALS):g} / {one.report.max_score:g}"


def why(before: Graded, after: Graded) -> Iterator[str]:
    """What makes the difference between two grades of a submission."""
    if before.record.digest != after.record.digest:
        yield "Something else was handed in."
    if after.record.reason and after.record.reason != before.record.reason:
        yield after.record.reason
    yield from problems_told(before.report, after.report)
    old = {check.id: check for check in before.report.checks}
    new = {check.id: check for check in after.report.checks}
    for name in sorted(old.keys() - new.keys()):
        yield f"{name} is gone."
    for name, check in new.items():
        if name not in old or old[name].verdict is not check.verdict:
            yield told(old.get(name), check)


def problems_told(before: Report, after: Report) -> Iterator[str]:
    """How the points of each problem, or what they are out of, changed."""
    old = {problem.id: summary.problem_points(problem) for problem in before.problems}
    new = {problem.id: summary.problem_points(problem) for problem in after.problems}
    for name in {**old, **new}:
        was, now = (" ".join(points.get(name, "not graded").split()) for points in (old, new))
        if was != now:
            yield f"{name}: {was} → {now}."


def told(before: CheckResult | None, now: CheckResult) -> str:
    """How a check's verdict changed."""
    was = "new" if before is None else before.verdict.value
    facts = f": {first_line(now.message)}" if now.message else ""
    return f"{now.id}: {was} → {now.verdict.value}{facts}"


def replace_reports(seen: Overview, settings: Settings, found: Found, out: Path) -> Overview:
    """Put the new reports in the place of the old ones.

    Raises:
        OSError: that cannot be done.
    """
    for one in seen.done:
        folder, new = out / one.record.name, out / REGRADED / one.record.name
        # Without its record it is not done, should this be broken off.
        (folder / RECORD).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        new.replace(folder)
    save_settings(out, settings)
    shutil.rmtree(out / REGRADED)
    return write_class(seen.done, found, settings, out)


def render(found: Sequence[Change], count: int, width: int, ascii_only: bool) -> Text:
    """What would change as text for a terminal."""
    writer = Writer(Surroundings(width, ascii_only, "", ()))
    arrow = "->" if ascii_only else "→"
    if not found:
        writer.line(f"None of {count} grades changes.", "bold")
    else:
        writer.line(f"{len(found)} of {count} grades change", "bold")
    for change in found:
        writer.line()
        writer.line(f"{change.name}: {change.before} {arrow} {change.after}", "bold")
        for reason in change.reasons[:MOST_REASONS]:
            writer.paragraph(reason.replace("→", arrow), 2, 3)
        if len(change.reasons) > MOST_REASONS:
            writer.line(f"  ({len(change.reasons) - MOST_REASONS} more reasons)", "dim")
    return writer.text()
