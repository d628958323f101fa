"""The report as GitHub Actions annotations: workflow commands, one a line.

In a workflow, the lines are printed: cat report/annotations.txt. GitHub shows ten errors and ten
warnings of a step at most.

Nothing that a student wrote can begin a command: each line is one command, in which line ends are
escaped, and so is what would end a property.
"""

from collections.abc import Iterator

from cs336_grader.records import Finding, ProblemResult, Report, Verdict

from . import summary
from .plain_text import plain, plain_line
from .wording import problem_told

MOST_OF_A_KIND = 10
MAX_MESSAGE = 2_000
MAX_PROPERTY = 200


def render(report: Report) -> str:
    """The commands: an error for each problem that lost points, a warning for what to look at."""
    lost = [problem for problem in report.problems if problem.verdict is Verdict.FAILED]
    errors = [problem_command("error", report, problem) for problem in lost if not problem.extra]
    warnings = [problem_command("warning", report, problem) for problem in lost if problem.extra]
    warnings += [finding_command(finding) for finding in report.findings]
    if not summary.is_complete(report):
        text = f"The score is {summary.incomplete_line(report)}."
        warnings.insert(0, command("warning", text, title="Incomplete"))
    name = report.submission.name
    total = command("notice", f"{name}: {summary.total_line(report)}", title="Graded by cs336")
    return "\n".join([*most(errors, "error"), *most(warnings, "warning"), total]) + "\n"


def problem_command(kind: str, report: Report, problem: ProblemResult) -> str:
    """The command that tells of a problem."""
    title = f"{summary.title(problem)}: {summary.problem_points(problem)}"
    return command(kind, problem_told(report, problem), title=title)


def finding_command(finding: Finding) -> str:
    """The warning that tells of a finding, at its place in the submission."""
    line = {"line": str(finding.line)} if finding.line else {}
    title = f"{finding.name}: {finding.consequence.value}"
    return command("warning", finding.message, file=finding.file, **line, title=title)


def command(kind: str, message: str, **properties: str) -> str:
    """A workflow command."""
    told = ",".join(f"{name}={escaped_property(value)}" for name, value in properties.items())
    return f"::{kind} {told}::{escaped(plain(message, MAX_MESSAGE))}"


def escaped(text: str) -> str:
    """A message as a command carries it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """A property as a command carries it."""
    text = escaped(plain_line(text, MAX_PROPERTY))
    return text.replace(":", "%3A").replace(",", "%2C")


def most(commands: list[str], kind: str) -> Iterator[str]:
    """As many as GitHub shows; the last tells of those that are left out."""
    if len(commands) <= MOST_OF_A_KIND:
        yield from commands
        return
    kept = MOST_OF_A_KIND - 1
    yield from commands[:kept]
    yield command(kind, f"{len(commands) - kept} more are in the report.", title="And more")
