"""The story generator: seeded, and its probabilities are those of the texts."""

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from cs336_basics.training.stories import OBJECT_PRONOUN, PRONOUNS, grammar, stories

SLOT = re.compile(r"\{(\w+)(:a)?\}")

# A derivation so far: where it is in the text, how the slots are filled, -ln of its probability.
State = tuple[int, dict[str, str], float]


def derivations(text: str) -> list[float]:
    """-ln of the probability of every way in which the grammar gives the text.

    A parser and not the generator: it tries all sentences with all fillings.
    """
    rules = grammar()
    found = []
    for hero in PRONOUNS:
        for name in rules["plots"]:
            states: list[State] = [(0, {**PRONOUNS[hero], "them": OBJECT_PRONOUN[hero]}, 0.0)]
            parts = [part["beats"] for part in (rules["openings"], rules["plots"][name])]
            for beats in (*parts, rules["endings"]["beats"]):
                for index, beat in enumerate(beats):
                    ending = "\n" if index == len(beats) - 1 else " "
                    states = [
                        (position, slots, nats + math.log(len(beat)))
                        for state in states
                        for template in beat
                        for position, slots, nats in match(template + ending, text, state, hero)
                    ]
            choices = math.log(len(PRONOUNS)) + math.log(len(rules["plots"]))
            found += [nats + choices for position, _, nats in states if position == len(text)]
    return found


def match(template: str, text: str, state: State, hero: str) -> Iterator[State]:
    """All ways on from a state by one sentence."""
    position, slots, nats = state
    slot = SLOT.search(template)
    if slot is None:
        if text.startswith(template, position):
            yield position + len(template), slots, nats
        return
    literal = template[: slot.start()]
    if not text.startswith(literal, position):
        return
    start, rest = position + len(literal), template[slot.end() :]
    for filled, cost in fillings(slot[1], slots, hero):
        word = filled[slot[1]]
        if slot[2]:
            word = ("an " if word[0] in "aeiou" else "a ") + word
        if text.startswith(word, start):
            yield from match(rest, text, (start + len(word), filled, nats + cost), hero)


def fillings(slot: str, slots: dict[str, str], hero: str) -> Iterator[tuple[dict[str, str], float]]:
    """Each filling of a slot, and -ln of its probability."""
    if slot in slots:
        yield slots, 0.0
        return
    tables: dict[str, Any] = grammar()["tables"]
    [table] = [
        table
        for name, table in tables.items()
        if slot in table["slots"] and (name not in PRONOUNS or name == hero)
    ]
    for row in table["rows"]:
        yield {**slots, **dict(zip(table["slots"], row, strict=True))}, math.log(len(table["rows"]))


def test_the_probability_of_a_story_is_that_of_its_text() -> None:
    """The grammar gives each text in exactly one way, which is as likely as the story says."""
    for story in islice(stories(1), 200):
        assert derivations(story.text + "\n") == [pytest.approx(story.nats)], story.text


def test_a_seed_repeats_its_stories() -> None:
    """The same seed tells the same, another one something else."""
    first, again, other = (
        [story.text for story in islice(stories(seed), 50)] for seed in (7, 7, 8)
    )
    assert first == again
    assert not set(first) & set(other)


def test_stories_are_worth_a_vocabulary() -> None:
    """A thousand words and more, and hardly ever the same story twice."""
    texts = [story.text for story in islice(stories(2), 2000)]
    assert len(set(texts)) == len(texts)
    assert len({word for text in texts for word in re.findall(r" ?\w+", text)}) > 1000
