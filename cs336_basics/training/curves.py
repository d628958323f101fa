"""Loss curves of one run or several, over steps and over time."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cs336_basics.files import replacing
from cs336_basics.training.runs import Record, read_metrics

# A curve of training losses has at most so many points, each the mean of the steps it stands for.
POINTS = 200
AXES = (("step", "step"), ("seconds", "wall time in seconds"))


def draw_curves(runs: Sequence[Path], out: Path) -> list[Path]:
    """Write out.svg and out.png, with all runs on one picture.

    Raises:
        OSError: a run has no metrics, or a picture cannot be written.
        ValueError: the metrics of a run are damaged, or there are none yet.
    """
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for index, run in enumerate(runs):
        records = read_metrics(run)
        if not records:
            raise ValueError(f"{run} has no metrics yet")
        for panel, (key, _) in zip(panels, AXES, strict=True):
            draw_run(panel, records, key, run.name, f"C{index}")
    for panel, (_, label) in zip(panels, AXES, strict=True):
        panel.set_xlabel(label)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("{x:g}")
        panel.grid(visible=True, which="both", alpha=0.25)
    panels[0].set_ylabel("loss in nats per token")
    panels[0].legend()
    paths = [out.with_name(f"{out.name}.{kind}") for kind in ("svg", "png")]
    # The same numbers give the same file.
    with (
        mpl.rc_context({"svg.hashsalt": "cs336", "svg.fonttype": "path"}),
        replacing(paths[0]) as svg,
        replacing(paths[1]) as png,
    ):
        figure.savefig(svg, format="svg", metadata={"Date": None})
        figure.savefig(png, format="png", dpi=150)
    return paths


def draw_run(panel: Axes, records: Sequence[Record], key: str, name: str, color: str) -> None:
    """Draw a run's training loss, its validation loss, and the floor where it is known."""
    name = name.replace("$", r"\$")  # which matplotlib takes for the begin of a formula
    training = [record for record in records if "loss" in record]
    validation = [record for record in records if "valid_loss" in record]
    means = thinned([(record[key], record["loss"]) for record in training])
    panel.plot(*zip(*means, strict=True), color=color, alpha=0.5, lw=1, label=f"{name}: training")
    if not validation:
        return
    points = [(record[key], record["valid_loss"]) for record in validation]
    panel.plot(*zip(*points, strict=True), "o-", color=color, ms=3, label=f"{name}: validation")
    floor = validation[-1].get("floor")
    if floor is not None:
        panel.axhline(floor, color=color, ls="--", lw=1, label=f"{name}: floor {floor:.3f}")


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points, or the means of as many neighbours as it takes to have few."""
    size = -(-len(points) // POINTS)
    groups = [
        [point for _, point in group]
        for _, group in groupby(enumerate(points), key=lambda item: item[0] // size)
    ]
    return [(fmean(x for x, _ in group), fmean(y for _, y in group)) for group in groups]
