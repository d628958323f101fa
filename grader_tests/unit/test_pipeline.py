"""The order of things: a report after every check, and one whatever ends the run."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from cs336_checks.rubric import load_assignment
from cs336_grader import pipeline
from cs336_grader.judging.choice import UnknownNameError
from cs336_grader.records import (
    CheckResult,
    CouldNotJudgeError,
    ForbiddenCall,
    Progress,
    Staged,
    TrackResult,
    Verdict,
)
from cs336_grader.reports.formats import FORMATS, Destination
from cs336_grader.request import Request
from grader_tests.assignments import TINY
from grader_tests.judged import judge_with, result
from grader_tests.unit.readers import READERS
from grader_tests.unit.submissions import STUBS, commit, write
from grader_tests.unit.two_tracks import two_tracks

Judge = Callable[[str], CheckResult]


def passing(check: str) -> CheckResult:
    """The result of a check that passed."""
    return result(check)


def judging(
    monkeypatch: pytest.MonkeyPatch,
    judge: Judge = passing,
    count: int = 99,
    forbidden_calls: tuple[ForbiddenCall, ...] = (),
) -> list[Staged]:
    """Judge with a function instead of a process, up to so many checks; what it was given."""
    given: list[Staged] = []

    def results(
        staged: Staged, checks: tuple[str, ...]
    ) -> Iterator[Progress | ForbiddenCall | CheckResult]:
        assert lessons[-1].seed == 7
        given.append(staged)
        yield from forbidden_calls
        for check in checks[:count]:
            yield Progress(check)
            yield judge(check)

    lessons = judge_with(monkeypatch, results)
    monkeypatch.setattr(pipeline, "PUBLISHED_EVERY_SECONDS", -1)
    return given


def request(tmp_path: Path, *only: str, adapters: str = STUBS) -> Request:
    """A request to grade a submission with these adapters."""
    folder = write(tmp_path / "submission", {"tests/adapters.py": adapters})
    return Request(folder, TINY, 7, only, tmp_path / "report")


def saved(tmp_path: Path) -> dict[str, object]:
    """What report.json says."""
    text = (tmp_path / "report" / "report.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def ignore(_: pipeline.Event) -> None:
    """Watch nothing."""


def test_a_report_is_there_after_every_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report on disk holds what is known at that moment, and full marks at the end."""
    judging(monkeypatch)
    scores: list[object] = []

    def watch(event: pipeline.Event) -> None:
        if isinstance(event, CheckResult):
            scores.append(saved(tmp_path)["score"])

    report = pipeline.grade(request(tmp_path), watch)
    assert scores == [1.6, 3.2, 4.0, 4.0, 6.4, 6.7, 7.0, 7.0, 9.0]
    assert (report.score, report.max_score) == (9.0, 9.0)
    assert saved(tmp_path)["score"] == 9.0


def test_partial_formats_are_valid_after_every_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killing the grader loses nothing; Gradescope's file has a score only when all is judged."""
    judging(monkeypatch)
    destinations = [Destination(FORMATS[name], tmp_path / name) for name in FORMATS]
    scored: list[bool] = []

    def watch(event: pipeline.Event) -> None:
        if isinstance(event, CheckResult):
            for name in FORMATS:
                READERS[name]((tmp_path / name).read_text(encoding="utf-8"))
            scored.append("score" in json.loads((tmp_path / "gradescope").read_text()))

    pipeline.grade(replace(request(tmp_path), formats=tuple(destinations)), watch)
    assert scored == [False] * 8 + [True]


def test_a_path_that_cannot_be_written_is_known_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after an hour of grading."""
    given = judging(monkeypatch)
    (tmp_path / "file").touch()
    page = Destination(FORMATS["html"], tmp_path / "file" / "report.html")
    with pytest.raises(OSError, match="file"):
        pipeline.grade(replace(request(tmp_path), formats=(page,)), ignore)
    assert not given


def test_what_the_run_entered_costs_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the check on that came to it; who watches hears of checks alone."""
    place = ("tests/adapters.py", 2, "torch.nn.functional.avg_pool1d")
    elsewhere = ForbiddenCall("test_moving_average", "elsewhere.py", *place[1:])
    judging(monkeypatch, forbidden_calls=(ForbiddenCall("test_moving_average", *place), elsewhere))
    events: list[pipeline.Event] = []
    report = pipeline.grade(request(tmp_path), events.append)
    assert [problem.score for problem in report.problems] == [0.0, 3.0, 2.0]
    assert {problem.verdict for problem in report.problems} == {Verdict.PASSED}
    (finding,) = report.findings
    assert (finding.file, finding.line, finding.name) == place
    assert not any(isinstance(event, ForbiddenCall) for event in events)


def test_the_total_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever watches learns how many checks there are before the first begins."""
    judging(monkeypatch)
    events: list[pipeline.Event] = []
    pipeline.grade(request(tmp_path, "count_words"), events.append)
    planned, begun = events[:2]
    assert isinstance(planned, pipeline.Planned)
    assert planned.checks == 3
    assert begun == Progress("test_count_words")


def test_only_some_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The denominator is those problems alone, and only their checks are run."""
    judging(monkeypatch)
    report = pipeline.grade(request(tmp_path, "running_totals", "count_words"), ignore)
    assert [problem.id for problem in report.problems] == ["count_words", "running_totals"]
    assert report.max_score == 5.0
    assert {check.problem for check in report.checks} == {"count_words", "running_totals"}


def divided(tmp_path: Path, *adapters: str) -> Request:
    """A request to grade these adapters in an assignment of two tracks."""
    filled = "".join(f"def {name}(x):\n    return x\n" for name in adapters)
    asked = request(tmp_path, adapters=filled)
    return replace(asked, assignment=two_tracks(tmp_path / "divided"))


def test_one_track_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one is in no total, is never run, and cannot be seen in the report."""
    judging(monkeypatch)
    events: list[pipeline.Event] = []
    report = pipeline.grade(divided(tmp_path, "run_count_words"), events.append)
    assert (report.score, report.max_score) == (3.0, 3.0)
    (planned,) = (event for event in events if isinstance(event, pipeline.Planned))
    assert planned.checks == 3
    assert {event.check for event in events if isinstance(event, Progress)} == {
        check.id.partition("::")[2] for check in report.checks
    }
    assert report.tracks == (TrackResult("words", "Words", 3.0, 3.0),)
    assert not any(told in str(report) for told in ("numbers", "average", "totals"))


def test_both_tracks_and_what_is_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their points are added; those of an extra problem come on top."""
    judging(monkeypatch)
    every = ("run_moving_average", "run_count_words", "run_running_totals")
    report = pipeline.grade(divided(tmp_path, *every), ignore)
    assert (report.score, report.max_score) == (9.0, 7.0)
    assert [(track.score, track.max_score) for track in report.tracks] == [(6.0, 4.0), (3.0, 3.0)]
    assert [problem.extra for problem in report.problems] == [False, False, True]


def test_a_track_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is graded whether or not there is an adapter of it; its adapters are looked for."""
    given = judging(monkeypatch)
    asked = replace(divided(tmp_path, "run_moving_average"), tracks=("words",))
    report = pipeline.grade(asked, ignore)
    assert not given
    assert report.max_score == 3.0
    assert report.options == ("--track", "words")
    assert {check.verdict for check in report.checks} == {Verdict.FAILED}
    assert "defines none of the 1 adapters, such as run_count_words" in report.checks[0].message
    write(asked.submission, {"words/adapters.py": STUBS})
    report = pipeline.grade(asked, ignore)
    assert given[0].module == "words.adapters"
    assert not any("not graded here" in note for note in report.notes)
    assert report.score == 3.0


def test_work_on_another_track_than_the_named_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although nothing else of that track is known to the report."""
    judging(monkeypatch)
    asked = divided(tmp_path, "run_moving_average", "run_count_words")
    report = pipeline.grade(replace(asked, tracks=("words",)), ignore)
    assert report.notes == ("Adapters of the numbers track are filled in and not graded here.",)


def test_problems_of_any_track_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are graded whatever the submission has, extra ones as well."""
    judging(monkeypatch)
    asked = replace(divided(tmp_path, "run_count_words"), only=("running_totals", "count_words"))
    report = pipeline.grade(asked, ignore)
    assert [problem.id for problem in report.problems] == ["count_words", "running_totals"]
    assert (report.score, report.max_score) == (5.0, 3.0)


def test_what_cannot_be_read_is_of_the_first_track(tmp_path: Path) -> None:
    """So that whoever hands in nothing has the total of an ordinary submission."""
    (tmp_path / "work.zip").write_bytes(b"damaged")
    asked = replace(divided(tmp_path), submission=tmp_path / "work.zip")
    report = pipeline.grade(asked, ignore)
    assert [problem.id for problem in report.problems] == ["moving_average"]
    assert report.problems[0].verdict is Verdict.NOT_JUDGED


def test_rules_of_another_track_are_not_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only problems of the track that is graded are charged."""
    checks = ("test_count_words", "test_moving_average")
    ran = tuple(ForbiddenCall(check, "", 0, "statistics.mean") for check in checks)
    judging(monkeypatch, forbidden_calls=ran)
    asked = divided(tmp_path, "run_count_words", "run_moving_average")
    charged = [
        {finding.problem for finding in pipeline.grade(chosen, ignore).findings}
        for chosen in (replace(asked, tracks=(track,)) for track in ("words", "numbers"))
    ]
    assert charged == [{"count_words"}, {"moving_average"}]


def test_an_unknown_problem(tmp_path: Path) -> None:
    """Nothing is graded, and the known problems are named."""
    with pytest.raises(UnknownNameError) as caught:
        pipeline.grade(request(tmp_path, "count_word"), ignore)
    assert "count_words" in caught.value.known


def test_nothing_to_grade_is_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission without adapters earns nothing, and is judged."""
    given = judging(monkeypatch)
    report = pipeline.grade(request(tmp_path, adapters="x = 1"), ignore)
    assert not given
    assert {check.verdict for check in report.checks} == {Verdict.FAILED}
    assert all("defines none of the 3 adapters" in check.message for check in report.checks)


def test_what_was_known_before_a_fault_of_ours_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks after the fault are not judged, those before it keep their verdict."""

    def judge(check: str) -> CheckResult:
        if check == "test_count_words":
            raise CouldNotJudgeError("The worker could not be started.")
        return passing(check)

    judging(monkeypatch, judge)
    report = pipeline.grade(request(tmp_path), ignore)
    assert [problem.verdict for problem in report.problems] == [
        Verdict.PASSED,
        Verdict.NOT_JUDGED,
        Verdict.NOT_JUDGED,
    ]
    assert report.checks[-1].message == "The worker could not be started."


def test_silence_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that the run says nothing of has no verdict, and the report says so."""
    judging(monkeypatch, count=1)
    report = pipeline.grade(request(tmp_path), ignore)
    assert report.checks[-1].verdict is Verdict.NOT_JUDGED
    assert report.checks[-1].message == pipeline.NOT_REPORTED


def test_an_interrupted_run_leaves_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was known is on disk, and the staging folder is gone."""
    given = judging(monkeypatch)

    def watch(event: pipeline.Event) -> None:
        if event == passing("test_count_words"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline.grade(request(tmp_path), watch)
    assert saved(tmp_path)["score"] == 6.4
    assert not given[0].root.exists()


def test_the_first_word_on_a_check_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second outcome for the same check changes nothing."""

    def results(*_: object) -> Iterator[CheckResult]:
        yield result("test_count_words", Verdict.FAILED, "no")
        yield passing("test_count_words")

    judge_with(monkeypatch, results)
    monkeypatch.setattr(pipeline, "PUBLISHED_EVERY_SECONDS", -1)
    report = pipeline.grade(request(tmp_path, "count_words"), ignore)
    assert report.checks[0].verdict is Verdict.FAILED


def test_hostile_names_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A submission's own name cannot act on a terminal."""
    judging(monkeypatch)
    folder = write(tmp_path / "a\x1b[31m\nb", {"tests/adapters.py": STUBS})
    report = pipeline.grade(Request(folder, TINY, 7, (), tmp_path / "report"), ignore)
    assert report.submission.name == "a b"


def test_the_fake_is_called_as_the_real_one() -> None:
    """The assignment these tests use is one the grader accepts."""
    assert load_assignment(TINY).checks


def test_what_was_chosen_is_what_is_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Revision and adapters reach the reading of the submission, and the report names them."""
    given = judging(monkeypatch)
    files: dict[str, str | bytes] = {"tests/adapters.py": STUBS, "mine/adapters.py": STUBS}
    chosen = replace(
        request(tmp_path),
        submission=commit(tmp_path / "work", files),
        revision="main",
        adapters=PurePosixPath("mine/adapters.py"),
    )
    write(chosen.submission, {"mine/adapters.py": "broken ("})
    report = pipeline.grade(chosen, ignore)
    assert given[0].module == "mine.adapters"
    assert report.notes[0].startswith("Graded revision main, commit ")


@pytest.mark.parametrize("name", ["work.tar.gz", "work.zip"])
def test_a_submission_that_cannot_be_read_has_its_name(tmp_path: Path, name: str) -> None:
    """Without the ending, as one that can be read."""
    (tmp_path / name).write_bytes(b"damaged")
    asked = Request(tmp_path / name, TINY, 7, (), tmp_path / "report")
    assert pipeline.grade(asked, ignore).submission.name == "work"
