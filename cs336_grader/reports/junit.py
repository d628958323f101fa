"""The report as JUnit XML: a suite for each problem, a case for each check.

A check that was not judged is an error. Advice that was not followed and extra problems that were
not solved are skipped, as they cost nothing. What is written fits the schema that Jenkins checks
against (junit-10.xsd of its xUnit plugin), which allows no more attributes than these.
"""

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from cs336_grader.records import CheckResult, ProblemResult, Report, Verdict

from . import summary
from .plain_text import plain_line
from .wording import MAX_TEXT, check_told, finding_told


def render(report: Report) -> str:
    """The report as XML; characters that XML does not have are gone."""
    root = ET.Element("testsuites", name=line(report.submission.name))
    root.set("time", seconds(report.duration_seconds))
    for problem in report.problems:
        add_suite(root, report, problem)
    counts = {name: sum(int(suite.get(name, 0)) for suite in root) for name in COUNTED}
    for name in ("tests", "failures", "errors"):
        root.set(name, str(counts[name]))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


COUNTED = {"tests": "", "failures": "failure", "errors": "error", "skipped": "skipped"}


def add_suite(root: ET.Element, report: Report, problem: ProblemResult) -> None:
    """Add a problem."""
    checks = [check for check in report.checks if check.problem == problem.id]
    suite = ET.SubElement(root, "testsuite", name=line(problem.id))
    properties = ET.SubElement(suite, "properties")
    for name, value in (
        ("title", summary.title(problem)),
        *([("track", problem.track)] if problem.track else []),
        ("score", f"{problem.score:g}"),
        ("max_score", f"{problem.max_score:g}"),
        ("seed", str(report.seed)),
        ("sha256", report.submission.sha256),
        ("isolation", summary.isolation_line(report.isolation)),
    ):
        ET.SubElement(properties, "property", name=name, value=line(value))
    for check in checks:
        add_case(suite, check, optional=not summary.lossy(report, check))
    carried = line(summary.carried(report, problem))
    told = [*map(finding_told, summary.costly(report, problem)), carried]
    if any(told):
        ET.SubElement(suite, "system-out").text = "\n".join(filter(None, told))
    for name, tag in COUNTED.items():
        suite.set(name, str(count(suite.iter("testcase"), tag)))
    suite.set("time", seconds(sum(check.duration_seconds for check in checks)))


def add_case(suite: ET.Element, check: CheckResult, *, optional: bool) -> None:
    """Add a check."""
    file, _, function = check.id.rpartition("::")
    case = ET.SubElement(suite, "testcase", name=line(function))
    case.set("classname", line(file.removesuffix(".py").replace("/", ".")))
    case.set("time", seconds(check.duration_seconds))
    if check.verdict is Verdict.PASSED:
        return
    failed = "skipped" if optional else "failure"
    tag = "error" if check.verdict is Verdict.NOT_JUDGED else failed
    told = ET.SubElement(case, tag, type=f"{check.tier} check {check.verdict}")
    told.set("message", line(check.requirement))
    told.text = check_told(check)


def count(cases: Iterable[ET.Element], tag: str) -> int:
    """How many cases have such a child; all of them without a tag."""
    return sum(not tag or case.find(tag) is not None for case in cases)


def seconds(value: float) -> str:
    """A duration; the schema allows no exponent and no sign."""
    return f"{max(0.0, value):.3f}"


def line(text: str) -> str:
    """The value of an attribute."""
    return plain_line(text, MAX_TEXT)
