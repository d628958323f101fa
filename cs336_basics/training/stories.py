"""Stories without end, drawn from a small grammar whose probabilities are known.

Every choice is uniform, and a text tells which choices were made. So the probability of a story is
the product of theirs, and the mean of -ln p is the entropy of the source: no model can have a lower
loss on stories it has not seen.
"""

import math
import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

GRAMMAR = Path(__file__).with_name("stories.toml")
PRONOUNS = {
    "girl": {"child": "girl", "she": "she", "She": "She", "her": "her", "Her": "Her"},
    "boy": {"child": "boy", "she": "he", "She": "He", "her": "his", "Her": "His"},
}
OBJECT_PRONOUN = {"girl": "her", "boy": "him"}


@cache
def grammar() -> dict[str, Any]:
    """Tables, openings, endings and plots, as stories.toml describes them."""
    return tomllib.loads(GRAMMAR.read_text(encoding="utf-8"))


class Filling(str):
    """The words of a slot; {slot:a} puts an article before them."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Write it as it is, or with its article."""
        if spec != "a":
            return str(self)
        return f"an {self}" if self[0] in "aeiou" else f"a {self}"


class Scene(dict[str, Filling]):
    """The slots of one story, each filled when the text first comes to it.

    Attributes:
        nats: -ln of the probability of all choices so far.
    """

    def __init__(self, generator: random.Random) -> None:
        super().__init__()
        self.generator = generator
        self.nats = 0.0
        hero = self.choose(("girl", "boy"))
        self.tables = {
            slot: table
            for name, table in grammar()["tables"].items()
            if name not in PRONOUNS or name == hero
            for slot in table["slots"]
        }
        self.update({slot: Filling(word) for slot, word in PRONOUNS[hero].items()})
        self["them"] = Filling(OBJECT_PRONOUN[hero])

    def choose(self, options: Sequence[T]) -> T:
        """One of the options, each as likely as the others."""
        self.nats += math.log(len(options))
        # Of all its methods, this is the one whose stream Python promises not to change.
        return options[int(self.generator.random() * len(options))]

    def __missing__(self, slot: str) -> Filling:
        """Fill the slot, and with it the others of its table."""
        table = self.tables[slot]
        row = self.choose(table["rows"])
        self.update(zip(table["slots"], map(Filling, row), strict=True))
        return self[slot]


@dataclass(frozen=True)
class Story:
    """A text and -ln of its probability."""

    text: str
    nats: float


def stories(seed: int) -> Iterator[Story]:
    """Stories without end; the same seed gives the same ones."""
    generator = random.Random(seed)  # noqa: S311 - nothing is kept secret with it
    while True:
        yield tell(generator)


def tell(generator: random.Random) -> Story:
    """One story: an opening, a plot, an ending."""
    scene = Scene(generator)
    plots = grammar()["plots"]
    plot = plots[scene.choose(list(plots))]
    paragraphs = [
        " ".join([scene.choose(beat).format_map(scene) for beat in part["beats"]])
        for part in (grammar()["openings"], plot, grammar()["endings"])
    ]
    return Story("\n".join(paragraphs), scene.nats)
