"""What is packed for a course platform, and what is read of what it says."""

import json
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.version import Version

from cs336_checks.rubric import load_assignment
from cs336_grader.cli import main
from cs336_grader.platforms import archive
from cs336_grader.platforms.gradescope import Metadata, read_metadata
from cs336_grader.project import pinned
from cs336_grader.reports import gradescope
from grader_tests.assignments import ROOT, TINY
from grader_tests.unit.sample_reports import report

DUE, LAST = "2026-07-31T23:00:00-07:00", "2026-08-02T23:00:00-07:00"


def test_what_grading_needs_is_packed_and_nothing_else() -> None:
    """The grader, the suite, the reference, the known mistakes, and what reports name to read."""
    files = archive.gradescope(load_assignment(ROOT), 10)
    scripts = {"setup.sh", "run_autograder", "requirements.txt"}
    folders = {name.partition("/")[0] for name in files} - scripts
    programs = {"cs336_basics", "cs336_checks", "cs336_grader"}
    assert folders == {*programs, "course", "known_mistakes", "tests"}
    assert "course/solutions.md" not in files
    for name in (
        "course/06_rope.md",
        "tests/rubric.toml",
        "cs336_basics/model.py",
        "cs336_grader/worker/session.py",
    ):
        assert files[name] == (ROOT / name).read_bytes()
    assert not [name for name in files if "__pycache__" in name]
    assert list(files) == sorted(files)


def test_an_assignments_mistakes_can_be_a_single_module() -> None:
    """They come along."""
    files = archive.gradescope(load_assignment(TINY), 10)
    assert files["statistics_mistakes.py"] == (TINY / "statistics_mistakes.py").read_bytes()
    assert "statistics_variants.py" not in files


def test_the_time_limit_and_the_tracks_are_in_the_script() -> None:
    """The platform's limit, in minutes."""
    script = archive.gradescope(load_assignment(TINY), 25)["run_autograder"].decode()
    assert script.endswith(" --minutes 25 --worth 9\n")
    script = archive.gradescope(load_assignment(ROOT), 9, ("modern",))["run_autograder"].decode()
    assert script.endswith(" --minutes 9 --worth 63 --track modern\n")


@pytest.mark.parametrize(
    ("tracks", "worth", "told"),
    [((), 100, True), (("modern",), 63, False), (("classic",), 45, False)],
)
def test_the_points_to_enter_are_those_that_a_submission_can_reach(
    tmp_path: Path, tracks: tuple[str, ...], worth: int, told: bool
) -> None:
    """Those of the tracks that are named; percent where students choose."""
    words = ["package", "gradescope", str(tmp_path / "out.zip"), "--assignment", str(ROOT)]
    words += [f"--track={track}" for track in tracks]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert f"{worth} autograder points" in result.output
    assert ("Its score is the percentage " in result.output) == told


def test_one_whole_track_is_full_marks_on_the_platform() -> None:
    """Whatever it is worth by itself; problems keep their points."""
    complete = replace(report(), score=31.5, max_score=63.0)
    found = json.loads(gradescope.render(complete, 100.0))
    assert found["score"] == 50.0
    assert "Gradescope's score is 50 of 100" in found["output"]
    raw = json.loads(gradescope.render(complete))
    assert raw["score"] == 31.5
    assert raw["tests"] == found["tests"]
    assert "Gradescope's" not in raw["output"]


def test_an_unknown_track_is_refused(tmp_path: Path) -> None:
    """With what was probably meant."""
    words = ["package", "gradescope", str(tmp_path / "out.zip"), "--track", "modem"]
    result = CliRunner().invoke(main, [*words, "--assignment", str(ROOT)])
    assert result.exit_code == 2
    assert "There is no track 'modem'. Did you mean modern?" in result.stderr
    assert not (tmp_path / "out.zip").exists()


def test_requirements_are_pinned_to_what_is_installed() -> None:
    """With all that they need in turn, and no build that is to be had here alone."""
    pins = dict(one.split("==") for one in pinned(["torch>=2", "jinja2", "pytest"]))
    assert {"torch", "jinja2", "markupsafe", "pytest", "pluggy", "filelock"} <= pins.keys()
    for name, version in pins.items():
        assert version == Version(metadata.version(name)).public


def test_what_an_extra_needs_is_pinned_where_it_is_asked_for() -> None:
    """And only there."""
    extras = metadata.requires("cs336") or []
    submissions = [Requirement(one).name for one in extras if "submissions" in one]
    without = {one.split("==")[0] for one in pinned(["cs336"])}
    assert submissions
    assert without.isdisjoint(submissions)
    assert without.union(submissions) <= {
        one.split("==")[0] for one in pinned(["cs336[submissions]"])
    }


def test_what_is_not_installed_is_named() -> None:
    """Where it is needed."""
    with pytest.raises(metadata.PackageNotFoundError, match="no-such-package"):
        pinned(["no-such-package"])


@pytest.mark.parametrize(
    ("created", "last", "said"),
    [
        (DUE, None, ""),
        ("2026-08-01T06:01:00Z", None, "Handed in 0:01 hours after the assignment's due date."),
        ("2026-08-02T05:00:00-07:00", LAST, "1 day, 6:00 hours after the assignment's due date."),
        ("2026-08-03T00:00:00-07:00", LAST, "and 1:00 hours after the last date for late work"),
    ],
)
def test_lateness_is_told(created: str, last: str | None, said: str) -> None:
    """With the time zones of both moments."""
    told = Metadata.model_validate(
        {"created_at": created, "assignment": {"due_date": DUE, "late_due_date": last}}
    )
    assert said in " ".join(told.lateness())
    assert bool(said) == bool(list(told.lateness()))


@pytest.mark.parametrize("text", [None, "", "[]", '{"id": 1}', json.dumps({"created_at": "soon"})])
def test_grading_does_not_depend_on_metadata(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    """Whatever is wrong with it is told to the course staff."""
    path = tmp_path / "submission_metadata.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    assert read_metadata(path) is None
    assert "submission_metadata.json is passed over" in capsys.readouterr().out


def test_a_platform_can_only_shorten_the_time() -> None:
    """Of a submission."""
    assignment = load_assignment(TINY)
    most = assignment.rubric.limits.submission_seconds
    assert assignment.within(285).rubric.limits.submission_seconds == 285
    assert assignment.within(2 * most).rubric.limits.submission_seconds == most
