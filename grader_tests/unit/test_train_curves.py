"""Loss curves: read back as pictures, and drawn from what a run has so far."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from cs336_basics import plot
from cs336_basics.training.curves import POINTS, draw_curves, thinned
from cs336_basics.training.runs import Run


def run_of(folder: Path, steps: int) -> Path:
    """A run that has come to a step, with an evaluation at every tenth."""
    run = Run(folder, keep=1)
    for step in range(1, steps + 1):
        run.record({"step": step, "loss": 5 / step, "seconds": 0.1 * step})
        if step % 10 == 0:
            evaluation = {"valid_loss": 6 / step, "floor": 0.3 if steps > 30 else None}
            run.record({"step": step, "seconds": 0.1 * step, **evaluation})
    return folder


def test_several_runs_are_on_one_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As SVG and as PNG, and the same numbers give the same bytes."""
    runs = [run_of(tmp_path / "long", 500), run_of(tmp_path / "short", 30)]
    assert plot.main([*map(str, runs), "--out", str(tmp_path / "both")]) == 0
    names = [str(tmp_path / f"both.{kind}") for kind in ("svg", "png")]
    assert capsys.readouterr().out.splitlines() == names
    first = [Path(name).read_bytes() for name in names]
    assert first[1].startswith(b"\x89PNG")
    root = ET.fromstring(first[0])  # noqa: S314 - written here
    ids = {element.get("id") for element in root.iter()}
    assert {"axes_1", "axes_2"} <= ids
    # Training, validation and floor of one; training and validation of the other.
    assert sum(1 for name in ids if name and name.startswith("line2d_")) > 10
    draw_curves(runs, tmp_path / "both")
    assert [Path(name).read_bytes() for name in names] == first


def test_a_run_without_metrics_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is no run, and a run that has not come to its first step."""
    for content in (None, b""):
        if content is not None:
            (tmp_path / "metrics.jsonl").write_bytes(content)
        assert plot.main([str(tmp_path), "--out", str(tmp_path / "loss")]) == 1
        assert str(tmp_path) in capsys.readouterr().err


@pytest.mark.parametrize("count", [1, POINTS, POINTS + 1, 12_345])
def test_few_points_stand_for_many(count: int) -> None:
    """Each is the mean of those it stands for; few enough are left alone."""
    points = [(float(i), 2.0 * i) for i in range(count)]
    means = thinned(points)
    assert len(means) <= POINTS
    assert all(y == pytest.approx(2 * x) for x, y in means)
    if count <= POINTS:
        assert means == points
