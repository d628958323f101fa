"""The grade of each student: what was graded, what lateness costs, what people decided."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from cs336_grader.records import Report
from cs336_grader.reports import summary

from .adjustments import Adjustment
from .course import Course
from .deadlines import LatePolicy, point_in_time
from .roster import Student, folded
from .tables import GradesError

DECIMALS = 2


class Standing(StrEnum):
    """How far the grade of a student is."""

    GRADED = "graded"
    MISSING = "missing"
    NOT_JUDGED = "not judged"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Work:
    """A submission of a class.

    Attributes:
        name: of the folder with its report.
        file: the file or folder that was handed in.
        students, sids, emails: of those who handed it in, as the platform writes them.
        time: when it was handed in, as the platform writes it, or nothing.
        late: True where the platform marks it as late.
        report: None where it was not judged.
    """

    name: str
    file: str
    students: str = ""
    sids: str = ""
    emails: str = ""
    time: str = ""
    late: bool = False
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a student.

    Attributes:
        work: what was graded; None if nothing was handed in.
        automatic: the weighted points before lateness and what people decided.
        maximum: the most points of all.
        days_late: how many days late the work is.
        percent_lost: what that costs.
        adjustments: what people decided.
        points: the grade; None where there is none yet.
        missing: what has to be known before there is a grade.
    """

    student: Student
    standing: Standing
    work: Work | None = None
    automatic: float = 0.0
    maximum: float = 0.0
    days_late: int = 0
    percent_lost: float = 0.0
    adjustments: tuple[Adjustment, ...] = ()
    points: float | None = None
    missing: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield how the grade came about, for the student."""
        if self.points is None:
            yield from self.missing
            return
        yield f"Your grade: {self.points:g} of {self.maximum:g} points."
        if self.work is not None:
            yield f"The checks gave {round(self.automatic, DECIMALS):g} points."
        if self.days_late:
            days = f"{self.days_late} day{'s' if self.days_late > 1 else ''}"
            yield f"It came {days} late, which costs {self.percent_lost:g} %."
        for one in self.adjustments:
            about = f"{one.problem}: " if one.problem else ""
            if one.points is not None:
                yield f"{about}{one.points:g} points by hand: {one.reason}"
            elif one.change:
                yield f"{about}{one.change:+g} points by hand: {one.reason}"
            if one.comment:
                yield f"{about}{one.comment}"


@dataclass(frozen=True, slots=True)
class ClassGrades:
    """The grades of a class.

    Attributes:
        grades: of each student, in the order of the roster.
        strangers: submissions of people who are not on the roster.
    """

    grades: tuple[Grade, ...]
    strangers: tuple[Work, ...]


def grades_of(course: Course, works: Iterable[Work]) -> ClassGrades:
    """Return the grade of each student of a class.

    Raises:
        GradesError: a time that matters cannot be read; each is told.
    """
    by_student: dict[str, list[Work]] = defaultdict(list)
    strangers = []
    for work in works:
        people = members(course, work)
        for key in people:
            by_student[key].append(work)
        if not people:
            strangers.append(work)
    wrong: list[str] = []
    grades = []
    for student in course.roster.students:
        try:
            grades.append(grade_of(course, student, by_student[student.key]))
        except GradesError as error:
            wrong += error.lines
    if wrong:
        raise GradesError(list(dict.fromkeys(wrong)))
    return ClassGrades(tuple(grades), tuple(strangers))


def members(course: Course, work: Work) -> set[str]:
    """Return the keys of the students whose work something is."""
    named: list[Student] = []
    for texts, between in ((work.sids, ";"), (work.emails, ";"), (work.students, "+")):
        found = [course.roster.named(text.strip()) for text in texts.split(between) if text.strip()]
        named = [people[0] for people in found if len(people) == 1]
        if named:
            break
    if not named and not (work.sids or work.emails):
        own = course.roster.named(work.name)
        named = own if len(own) == 1 else []
    keys = {student.key for student in named}
    for name, group in course.groups.items():
        of_group = {student.key for student in group}
        if keys & of_group or name in (folded(work.students), folded(work.name)):
            keys |= of_group
    return keys


def grade_of(course: Course, student: Student, works: Sequence[Work]) -> Grade:
    """Return the grade of a student.

    Raises:
        GradesError: a time that matters cannot be read.
    """
    own = tuple(one for one in course.adjustments if one.student.key == student.key)
    if not works:
        return without_work(course, student, own)
    graded = [grade_of_work(course, student, work, own) for work in works]
    if course.file.counts == "best":
        return max(graded, key=lambda one: -1.0 if one.points is None else one.points)
    times = [handed_in(course, student, work) for work in works]
    known = [(time, number) for number, time in enumerate(times) if time is not None]
    return graded[max(known)[1] if len(known) == len(graded) else -1]


def without_work(course: Course, student: Student, own: tuple[Adjustment, ...]) -> Grade:
    """Return the grade of a student who handed nothing in."""
    given = [one for one in own if not one.problem and one.points is not None]
    points = given[-1].points if given else course.file.points.missing
    if points is None:
        said = ("Nothing was handed in.",)
        return Grade(student, Standing.MISSING, adjustments=own, missing=said)
    most = course.file.points.maximum or maximum_of(course, None)
    return Grade(student, Standing.MISSING, None, 0.0, most, 0, 0.0, own, points)


def grade_of_work(
    course: Course, student: Student, work: Work, own: tuple[Adjustment, ...]
) -> Grade:
    """Return what a student gets for one submission.

    Raises:
        GradesError: a time that matters cannot be read.
    """
    missing = list(not_known(course, student, work, own))
    if work.report is None or not summary.is_complete(work.report):
        said = (f"{work.file or work.name} was not judged.", *missing)
        return Grade(student, Standing.NOT_JUDGED, work, adjustments=own, missing=said)
    days, percent = lateness(course, student, work)
    automatic = points_of(course, work.report, ())
    maximum = maximum_of(course, work.report)
    most = course.file.points.maximum or maximum
    points: float | None = None
    if not missing:
        earned = points_of(course, work.report, own) * (1 - percent / 100)
        points = with_whole(earned * most / maximum if maximum else 0.0, own)
    standing = Standing.INCOMPLETE if missing else Standing.GRADED
    scale = most / maximum if maximum else 0.0
    return Grade(
        *(student, standing, work, automatic * scale, most),
        *(days, percent, own, points, tuple(missing)),
    )


def not_known(
    course: Course, student: Student, work: Work, own: tuple[Adjustment, ...]
) -> Iterator[str]:
    """Yield what has to be known before there is a grade."""
    deadline = course.file.deadline
    costs = deadline is not None and deadline.percent_per_day > 0
    if costs and work.late and handed_in(course, student, work) is None:
        yield f"{work.file or work.name} is late, and nothing says when it was handed in."
    given = {one.problem for one in own if one.points is not None}
    for question in course.file.written:
        if question not in given and "" not in given:
            yield f"The written question {question} has no points yet."


def points_of(course: Course, report: Report, own: tuple[Adjustment, ...]) -> float:
    """Return the weighted points of all problems and written questions."""
    total = 0.0
    for problem in report.problems:
        points = problem.score
        for one in own:
            if one.problem == problem.id:
                changed = one.points if one.points is not None else points + one.change
                points = min(max(changed, 0.0), course.rubric.problems[problem.id].points)
        total += course.weight(problem.id) * points
    written = [one for one in own if one.problem in course.file.written]
    return total + sum((one.points or 0.0) + one.change for one in written)


def maximum_of(course: Course, report: Report | None) -> float:
    """Return the most points: of the tracks that have weights, else of those that were graded."""
    written = sum(course.file.written.values())
    problems = course.rubric.problems.items()
    if course.file.points.tracks or report is None:
        counted = {name: one.points for name, one in problems if not one.extra}
    else:
        counted = {one.id: one.max_score for one in report.problems if not one.extra}
    return written + sum(course.weight(name) * points for name, points in counted.items())


def with_whole(points: float, own: tuple[Adjustment, ...]) -> float:
    """Return the points after what people decided of the whole grade."""
    for one in own:
        if not one.problem:
            points = one.points if one.points is not None else points + one.change
    return round(max(points, 0.0), DECIMALS)


def lateness(course: Course, student: Student, work: Work) -> tuple[int, float]:
    """Return how many days late work is, and what percent that costs.

    Raises:
        GradesError: the time cannot be read.
    """
    deadline = course.file.deadline
    submitted = handed_in(course, student, work)
    if deadline is None or submitted is None:
        return 0, 0.0
    policy: LatePolicy = deadline.policy
    days = policy.days_late(submitted, course.extensions.get(student.key, deadline.due))
    return days, policy.percent_lost(days)


def handed_in(course: Course, student: Student, work: Work) -> datetime | None:
    """Return when work came in: as a person says, else the platform, else the roster.

    Raises:
        GradesError: the time cannot be read.
    """
    if student.key in course.submitted:
        return course.submitted[student.key]
    text = work.time or student.submitted
    if not text or course.file.deadline is None:
        return None
    try:
        return point_in_time(text, course.file.zone)
    except ValueError as error:
        said = f"{work.file or work.name}: the time {text!r} is in no known form; write it in "
        raise GradesError([f"{said}class.toml, under [submitted], for {student.key}"]) from error
