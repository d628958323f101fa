"""Whatever a report holds, each format is valid and nothing in it acts on its reader."""

import json
import os
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import ValidationError

from cs336_checks.rubric import Tier
from cs336_grader.records import (
    Barrier,
    CheckResult,
    Consequence,
    Finding,
    Isolation,
    Picture,
    ProblemResult,
    Report,
    SubmissionRecord,
    TrackResult,
    Verdict,
)
from cs336_grader.reports import terminal
from cs336_grader.reports.files import write
from cs336_grader.reports.formats import FORMATS, Destination, publish
from grader_tests.assignments import ROOT
from grader_tests.unit.readers import READERS
from grader_tests.unit.sample_reports import CASES

GOLDEN = Path(__file__).parent / "golden" / "formats"
READ_BY_PEOPLE = ("html", "gradescope", "github-summary", "github-annotations", "junit")
HOSTILE = {
    "colours": "\x1b[1;31mred\x1b[0m",
    "clipboard": "\x1b]52;c;aGk=\x07 \x1b]0;title\x1b\\",
    "script": "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": "\" onmouseover=alert(1) x='",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} #{7*7}",
    "fence": "```\n~~~\n````\n# title\n```",
    "markdown": "![x](http://a.example/b.png) [y](javascript:z) <b>c</b> @team #1 **d** | e |",
    "table": "a | b\n--|--\nc | d",
    "folds": "</details></summary>\n\n<details open>",
    "workflow": "\n::error::x\r\n::add-mask::y\n::set-output name=result::z\n##[add-path]/evil",
    "properties": "a,line=1,title=Autograding complete::Points 100/100",
    "percent": "%0A::error::x%25%0D",
    "outputs": "result=x\nEOF\nresult<<EOF",
    "xml": "]]></failure><testcase name='x'/><!DOCTYPE a [<!ENTITY b 'c'>]>&b;",
    "no xml": "\x00\x0b\x1f\x7f\ufffe\uffff\u2028",
    "surrogates": "\ud800 \udfff \ud83d",
    "direction": "\u202egpj.exe\u2066 \u200b\u200f\ufeff",
    "formula": '=HYPERLINK("http://a.example";"x")',
    "wide formula": "＠SUM(1)",  # noqa: RUF001 (the wide form is meant)
    "tab formula": "\t=1+1",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "long": "x" * 100_000,
    "long line ends": "\n" * 20_000,
    "empty": "",
}


def filled(text: str) -> Report:
    """A report in which a text stands wherever one can."""
    checks = tuple(
        CheckResult(
            text, problem, tier, verdict, text, text, 0.1, Picture((2,), text, text, ("90",))
        )
        for problem in ("a", "b")
        for tier in Tier
        for verdict in Verdict
    )
    problems = (
        ProblemResult("a", text, 0.5, 2.0, Verdict.FAILED, 0.5, (text,), track=text),
        ProblemResult("b", text, 0.0, 1.0, Verdict.NOT_JUDGED, track="b", extra=True),
        ProblemResult(text, text, 3.0, 3.0, Verdict.PASSED),
    )
    findings = tuple(
        Finding(problem, text, line, text, consequence, text)
        for problem in ("a", "")
        for line in (0, 3)
        for consequence in Consequence
    )
    return Report(
        schema_version=1,
        submission=SubmissionRecord(text, text),
        seed=7,
        isolation=Isolation(text, (Barrier(text, closed=True, by=text),)),
        score=3.5,
        max_score=6.0,
        problems=problems,
        checks=checks,
        notes=(text, text),
        duration_seconds=1.5,
        findings=findings,
        started_at=1_700_000_000,
        tracks=(TrackResult(text, text, 0.5, 2.0), TrackResult("b", text, 3.0, 4.0)),
    )


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_every_report_is_valid_in_every_format(name: str, case: str) -> None:
    """A parser of the format reads it back."""
    assert READERS[name](FORMATS[name].render(CASES[case]))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_in_every_place(name: str, kind: str, tmp_path: Path) -> None:
    """What is read from the file is text that neither acts on a terminal nor hides anything."""
    publish(filled(HOSTILE[kind]), [Destination(FORMATS[name], tmp_path / "report")])
    found = READERS[name]((tmp_path / "report").read_bytes().decode())
    if name != "json":  # which holds the record as it is
        categories = {
            unicodedata.category(c) for text in found for c in text if c not in "\n\u2060"
        }
        assert not categories & {"Cc", "Cf", "Cs"}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_in_the_terminal(kind: str) -> None:
    """Nothing of it moves the cursor, sets a colour or hides what stands around it."""
    surroundings = terminal.Surroundings(100, ascii_only=False, repeat="", saved=())
    text = terminal.render(filled(HOSTILE[kind]), surroundings).plain
    categories = {unicodedata.category(character) for character in text if character != "\n"}
    assert not categories & {"Cc", "Cf", "Cs"}


def test_what_is_not_asked_for_is_not_imported() -> None:
    """A run that writes no page pays for no template engine."""
    script = (
        "import sys, cs336_grader.reports.formats as formats\n"
        "assert not {'jinja2', 'rich', 'xml.etree'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


TEXTS = st.text(max_size=200) | st.sampled_from([text[:300] for text in HOSTILE.values()])
POINTS = st.floats(0, 100)
PICTURES = st.none() | st.builds(
    Picture,
    shape=st.just((2, 2)),
    rows=TEXTS,
    columns=TEXTS,
    levels=st.just(("09", "10")) | st.just(("00", "00")),
)
CHECKS = st.builds(
    CheckResult,
    id=TEXTS,
    problem=st.sampled_from(["a", "b", "c"]),
    tier=st.sampled_from(Tier),
    verdict=st.sampled_from(Verdict),
    requirement=TEXTS,
    message=TEXTS,
    duration_seconds=st.floats(0, 1e6),
    picture=PICTURES,
)
PROBLEMS = st.builds(
    ProblemResult,
    id=st.sampled_from(["a", "b", "c"]) | TEXTS,
    title=TEXTS,
    score=POINTS,
    max_score=POINTS,
    verdict=st.sampled_from(Verdict),
    track=st.sampled_from(["x", "y", ""]),
    extra=st.booleans(),
)
TRACKS = st.builds(TrackResult, id=TEXTS, title=TEXTS, score=POINTS, max_score=POINTS)
REPORTS = st.builds(
    Report,
    schema_version=st.just(1),
    submission=st.builds(SubmissionRecord, name=TEXTS, sha256=TEXTS),
    seed=st.integers(0, 2**63 - 1),
    isolation=st.builds(
        Isolation,
        level=TEXTS,
        barriers=st.lists(st.builds(Barrier, TEXTS, st.booleans(), TEXTS), max_size=3).map(tuple),
    ),
    score=POINTS,
    max_score=POINTS,
    problems=st.lists(PROBLEMS, max_size=4, unique_by=lambda problem: problem.id).map(tuple),
    checks=st.lists(CHECKS, max_size=6).map(tuple),
    notes=st.lists(TEXTS, max_size=3).map(tuple),
    duration_seconds=st.floats(0, 1e6),
    findings=st.lists(
        st.builds(
            Finding,
            problem=st.sampled_from(["a", "b", ""]),
            file=TEXTS,
            line=st.integers(0, 10**6),
            name=TEXTS,
            consequence=st.sampled_from(Consequence),
            message=TEXTS,
        ),
        max_size=3,
    ).map(tuple),
    started_at=st.integers(0, 2**33),
    tracks=st.lists(TRACKS, max_size=3).map(tuple),
)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(report=REPORTS)
def test_any_report(name: str, report: Report) -> None:
    """Each format of each report can be read back, as bytes on a disk would be."""
    READERS[name](FORMATS[name].render(report).encode("utf-8", "replace").decode())


UNSAFE = {
    "json": '{"schema_version": 2}',
    "html": "<!DOCTYPE html><title>x</title><p onclick='x'>y",
    "gradescope": '{"tests": [{"score": 1}]}',
    "github-summary": "a @team",
    "github-annotations": "::error title=x::y\n::add-mask::z",
    "classroom": '{"version": 3, "status": "great", "max_score": 1, "tests": []}',
    "classroom-output": "result=e30=\nother=x\n",
    "junit": "<testsuites><script/></testsuites>",
    "ctrf": '{"reportFormat": "CTRF", "specVersion": "0.0.0", "results": {}}',
    "csv": "submission\n=1+1\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_readers_can_fail(name: str) -> None:
    """What is not as the format allows is found: the tests above are no formality."""
    with pytest.raises((AssertionError, ValidationError)):
        READERS[name](UNSAFE[name])


def golden_text(name: str) -> str:
    """What people read of the mixed report in a format: of HTML and JSON, the texts alone."""
    text = FORMATS[name].render(CASES["mixed"])
    if name in {"html", "gradescope"}:
        return "\n".join(" ".join(part.split()) for part in READERS[name](text)) + "\n"
    return text


@pytest.mark.parametrize("name", READ_BY_PEOPLE)
def test_the_text_reads_as_when_it_was_last_looked_at(name: str) -> None:
    """After a wanted change: UPDATE_GOLDEN=1, and read the difference before you commit it."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(golden_text(name), encoding="utf-8", newline="\n")
    assert golden_text(name) == path.read_text(encoding="utf-8")
    assert {found.stem for found in GOLDEN.iterdir()} == set(READ_BY_PEOPLE)


def test_the_document_names_every_format() -> None:
    """Its name, its file and for whom it is."""
    document = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
    for name, found in FORMATS.items():
        assert f"| `{name}` | `{found.file_name}` | {found.reader} |" in document


def rendered(name: str, case: str) -> dict[str, object]:
    """A sample report in one of the formats that are JSON."""
    return dict(json.loads(FORMATS[name].render(CASES[case])))


def test_gradescope_has_a_score_where_all_was_judged() -> None:
    """The total is the record's, and the problems' tests add up to it."""
    found = rendered("gradescope", "mixed")
    tests = found["tests"]
    assert isinstance(tests, list)
    assert found["score"] == 3.6
    assert sum(test.get("score", 0) for test in tests) == pytest.approx(3.6)
    assert sum(test.get("max_score", 0) for test in tests) == 9.0
    assert [test["number"] for test in tests] == ["1", "2", "3", "4"]
    assert "score" not in tests[3], "advice costs nothing"
    assert {test["visibility"] for test in tests} == {"visible"}, "a hidden one hides the total"
    assert found["stdout_visibility"] == "hidden"


@pytest.mark.parametrize("case", ["not_judged", "could_not_judge"])
def test_what_was_not_judged_is_no_zero_anywhere(case: str) -> None:
    """No platform can record a grade that the grader did not give."""
    gradescope = rendered("gradescope", case)
    tests = gradescope["tests"]
    assert isinstance(tests, list)
    assert not any("score" in entry for entry in (gradescope, *tests))
    assert "status" not in tests[1]
    assert str(gradescope["output"]).startswith("No score yet, incomplete: ")
    classroom = rendered("classroom", case)
    assert (classroom["status"], classroom["max_score"]) == ("error", 0)
    names, values = FORMATS["csv"].render(CASES[case])[1:].splitlines()
    row = dict(zip(names.split(","), values.split(","), strict=True))
    assert (row["status"], row["score"], row["percent"], row["count_words"]) == (
        "not judged",
        "",
        "",
        "",
    )
    assert "**Not a grade**" in FORMATS["github-summary"].render(CASES[case])
    assert "<strong>No grade yet</strong>" in FORMATS["html"].render(CASES[case])
    root = ET.fromstring(FORMATS["junit"].render(CASES[case]).encode())  # noqa: S314
    assert int(root.get("errors", "0")) > 0


def test_a_run_that_nothing_is_known_of_is_no_pass() -> None:
    """A report without a problem, as of a run with nothing to judge, is written all the same."""
    bare = replace(CASES["all_passed"], problems=(), checks=(), score=0.0, max_score=0.0)
    for name, format_ in FORMATS.items():
        READERS[name](format_.render(bare))


def test_advice_fails_nothing() -> None:
    """Where only advice was not followed, every platform shows a pass."""
    advised = CASES["mixed"]
    checks = tuple(
        replace(check, verdict=Verdict.PASSED, message="", picture=None)
        if check.tier is not Tier.ADVICE
        else check
        for check in advised.checks
    )
    report = replace(advised, checks=checks, problems=CASES["all_passed"].problems)
    root = ET.fromstring(FORMATS["junit"].render(report).encode())  # noqa: S314
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    results = json.loads(FORMATS["ctrf"].render(report))["results"]["summary"]
    assert (results["failed"], results["other"]) == (0, 1)
    assert json.loads(FORMATS["classroom"].render(report))["status"] == "pass"


def test_a_file_is_never_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where writing fails, the old file stays and nothing is left beside it."""
    path = tmp_path / "report.json"
    write(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """Nor is a terminal or /dev/null, whoever runs the grader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()
