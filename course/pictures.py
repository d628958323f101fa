"""Draw the pictures of the course text: uv run python -m course.pictures."""

import math
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

PICTURES = Path(__file__).with_name("pictures")
BLUE, ORANGE, GREY = "#2a6fbb", "#d9822b", "#b8bec6"


def merges(figure: Figure) -> None:
    """Draw the tokens of four words after each merge of the example in the chapter on BPE."""
    after = (
        ("start", ("h u g", "␣ p u g", "␣ p u n", "␣ b u n")),
        ("1: u g", ("h ug", "␣ p ug", "␣ p u n", "␣ b u n")),
        ("2: u n", ("h ug", "␣ p ug", "␣ p un", "␣ b un")),
        ("3: h ug", ("hug", "␣ p ug", "␣ p un", "␣ b un")),
        ("4: ␣ p", ("hug", "␣p ug", "␣p un", "␣ b un")),
        ("5: b un", ("hug", "␣p ug", "␣p un", "␣ bun")),
        ("6: ␣p un", ("hug", "␣p ug", "␣pun", "␣ bun")),
    )
    axes = figure.subplots()
    for row, (merge, words) in enumerate(after):
        axes.text(-0.4, -row, merge, ha="right", va="center", color=BLUE if row else "black")
        for column, word in enumerate(words):
            left = 5.0 * column
            for token in word.split():
                axes.add_patch(
                    mpl.patches.Rectangle(
                        (left + 0.05, -row - 0.35),
                        len(token) - 0.1,
                        0.7,
                        facecolor="#dce9f7" if len(token) > 1 else "white",
                        edgecolor=GREY,
                    )
                )
                axes.text(left + len(token) / 2, -row, token, ha="center", va="center")
                left += len(token)
    axes.set(xlim=(-4, 20), ylim=(-6.6, 0.6))
    axes.axis("off")


def norms(figure: Figure) -> None:
    """Draw vectors of two features before and after the two norms."""
    vectors = np.random.default_rng(0).normal(0.8, 1.2, size=(40, 2))
    rms = vectors / np.sqrt((vectors**2).mean(axis=1, keepdims=True))
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    layer = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True))
    titles = ("before", "after RMSNorm", "after LayerNorm")
    shown = (vectors, rms, layer)
    for axes, title, points in zip(figure.subplots(1, 3), titles, shown, strict=True):
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.scatter(points[:, 0], points[:, 1], s=14, color=BLUE)
        axes.set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5), aspect="equal", title=title)
        axes.set(xlabel="feature 0", ylabel="feature 1")


def rope(figure: Figure) -> None:
    """Draw how far each pair of features is turned at the first positions."""
    panels = figure.subplots(1, 3)
    for pair, axes in enumerate(panels):
        speed = 100.0 ** (-2 * pair / 6)
        axes.add_patch(mpl.patches.Circle((0, 0), 1, fill=False, edgecolor=GREY))
        for position in range(6):
            x, y = math.cos(position * speed), math.sin(position * speed)
            axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": BLUE})
            axes.text(1.18 * x, 1.18 * y, str(position), ha="center", va="center", color=ORANGE)
        axes.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"pair {pair}: {speed:.3f} radians a position")
        axes.set(xlabel=f"feature {2 * pair}", ylabel=f"feature {2 * pair + 1}")


def causal_mask(figure: Figure) -> None:
    """Draw which positions may attend to which."""
    words = ("the", "cat", "sat", "on", "the", "mat")
    axes = figure.subplots()
    size = len(words)
    for query in range(size):
        for key in range(size):
            may = key <= query
            axes.add_patch(
                mpl.patches.Rectangle(
                    (key, query), 1, 1, facecolor=BLUE if may else "white", edgecolor=GREY
                )
            )
            word, colour = ("True", "white") if may else ("False", GREY)
            axes.text(key + 0.5, query + 0.5, word, ha="center", va="center", color=colour)
    places = [index + 0.5 for index in range(size)]
    axes.set(xlim=(0, size), ylim=(size, 0), aspect="equal", xlabel="key", ylabel="query")
    axes.set_xticks(places, words)
    axes.set_yticks(places, words)


def attention_cost(figure: Figure) -> None:
    """Draw the operations of a layer over the length of the sequence."""
    d_model, d_ff = 256, 704
    lengths = np.geomspace(64, 32768, 50)
    axes = figure.subplots()
    matrices = 2 * lengths * (4 * d_model**2 + 3 * d_model * d_ff)
    axes.loglog(lengths, matrices, color=ORANGE, label="matrices of the layer: grow with T")
    attention = 4 * lengths**2 * d_model
    axes.loglog(lengths, attention, color=BLUE, label="scores and means: grow with T²")
    axes.axvline((4 * d_model + 3 * d_ff) / 2, color=GREY, linestyle="--")
    axes.set(xlabel="tokens T", ylabel="FLOPs of one layer, forward")
    axes.legend()


def schedule(figure: Figure) -> None:
    """Draw the learning rate over the iterations."""
    warmup, end, highest, lowest = 100, 800, 1.0, 0.1
    axes = figure.subplots()
    steps = np.arange(0, 1001)
    progress = np.clip((steps - warmup) / (end - warmup), 0, 1)
    cosine = lowest + (1 + np.cos(np.pi * progress)) / 2 * (highest - lowest)
    axes.plot(steps, np.where(steps < warmup, highest * steps / warmup, cosine), color=BLUE)
    for place, name in ((warmup, "$T_w$"), (end, "$T_c$")):
        axes.axvline(place, color=GREY, linestyle="--")
        axes.text(place + 8, 1.0, name, va="bottom")
    axes.set(xlabel="iteration t", ylabel="learning rate", ylim=(0, 1.1))
    axes.set_yticks([0, lowest, highest], ["0", "minimum", "maximum"])


def sampling(figure: Figure) -> None:
    """Draw what temperature, top-k and top-p make of one distribution."""
    logits = np.array([2.0, 1.0, 0.0, -1.0])
    plain = probabilities(logits)
    shown = {
        "as it is": plain,
        "temperature 0.5": probabilities(logits / 0.5),
        "temperature 2": probabilities(logits / 2),
        "top-k 2": np.where(np.arange(4) < 2, plain, 0) / plain[:2].sum(),
        "top-p 0.9": np.where(np.arange(4) < 3, plain, 0) / plain[:3].sum(),
    }
    panels = figure.subplots(1, 5, sharey=True)
    for axes, (title, heights) in zip(panels, shown.items(), strict=True):
        axes.bar(range(4), heights, color=BLUE)
        for token, height in enumerate(heights):
            axes.text(token, height, f"{height:.2f}", ha="center", va="bottom", fontsize=8)
        axes.set(title=title, xlabel="token", ylim=(0, 1), xticks=range(4))
    panels[0].set_ylabel("probability")


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the softmax of a row."""
    exponentials = np.exp(logits - logits.max())
    return np.asarray(exponentials / exponentials.sum())


DRAWN: dict[str, tuple[Callable[[Figure], None], tuple[float, float]]] = {
    "merges": (merges, (8, 3.2)),
    "norms": (norms, (9, 3.2)),
    "rope": (rope, (9, 3.4)),
    "causal_mask": (causal_mask, (4.2, 4.2)),
    "attention_cost": (attention_cost, (6, 3.6)),
    "schedule": (schedule, (6, 3)),
    "sampling": (sampling, (10, 2.8)),
}


def draw(folder: Path) -> None:
    """Write every picture; the same version of matplotlib writes the same bytes."""
    folder.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "course", "svg.fonttype": "none", "font.size": 9}):
        for name, (drawing, size) in DRAWN.items():
            figure = Figure(figsize=size, layout="constrained")
            drawing(figure)
            for axes in figure.axes:
                without_frame(axes)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def without_frame(axes: Axes) -> None:
    """Leave the lines away that hold no scale."""
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    draw(PICTURES)
