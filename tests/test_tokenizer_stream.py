"""Checks of encoding a stream of text piece by piece, and of encoding much text at all."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from .draws import Draws
from .memory import MEBIBYTE, Memory
from .snapshots import Snapshot
from .texts import END_OF_TEXT, cut, foreign, messy, stories, story
from .vocabularies import gpt2

# Lines of about 180 characters. A tokenizer may read ahead, but not without limit.
LINE_COUNT = 5000
READ_AHEAD = 1000

# What holds on to the stream takes at least its size; what lets go, a few times one item.
ITEM_COUNT = 40
ITEM_MEBIBYTES = 4
ALLOWED_MEBIBYTES = 100


def tokenizer(adapters: Any, *special_tokens: str) -> Any:
    """The submission's tokenizer, with a part of GPT-2's vocabulary."""
    small = gpt2(*special_tokens, merge_count=1000)
    return adapters.get_tokenizer(dict(small.tokens), list(small.merges), list(special_tokens))


@pytest.mark.parametrize("empty_items", [False, True], ids=["lines", "empty items"])
def test_encode_iterable(adapters: Any, snapshot: Snapshot, draw: Draws, empty_items: bool) -> None:
    """Encoding the lines of a file one by one gives the ids of the whole text."""
    text = END_OF_TEXT.join(stories(draw, 5))
    items = text.splitlines(keepends=True)
    if empty_items:
        items = ["", *(item for line in items for item in (line, ""))]
    ids = list(tokenizer(adapters, END_OF_TEXT).encode_iterable(iter(items)))
    expected = gpt2(END_OF_TEXT, merge_count=1000).encode(text, [END_OF_TEXT])
    snapshot.assert_close(ids, expected, "ids")


def test_encode_iterable_lazy(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """The first ids come before more than a small part of the stream was read."""
    lines = [story(draw, 3) for _ in range(50)]
    pulled = 0

    def stream() -> Iterator[str]:
        nonlocal pulled
        for i in range(LINE_COUNT):
            pulled += 1
            yield lines[i % len(lines)]

    ids = iter(tokenizer(adapters, END_OF_TEXT).encode_iterable(stream()))
    expected = gpt2(END_OF_TEXT, merge_count=1000).encode(lines[0])[:10]
    snapshot.assert_close(list(islice(ids, 10)), expected, "the first ids")
    assert pulled <= READ_AHEAD, (
        f"{pulled:,} of {LINE_COUNT:,} lines were read before the tenth id came:"
        " yield the ids of what has been read before reading on."
    )


CUTS: dict[str, Callable[[Draws], str]] = {
    "words": lambda draw: story(draw, 4) + foreign(draw, 30),
    "blanks": lambda draw: messy(draw, 150),
    "special tokens": lambda draw: END_OF_TEXT.join(stories(draw, 3)) + END_OF_TEXT * 2,
}


@pytest.mark.parametrize("kind", CUTS)
def test_encode_iterable_cut_anywhere(
    adapters: Any, snapshot: Snapshot, draw: Draws, kind: str
) -> None:
    """The ids are those of the joined text, wherever it is cut: words, blanks, special tokens."""
    text = CUTS[kind](draw)
    ids = list(tokenizer(adapters, END_OF_TEXT).encode_iterable(iter(cut(draw, text, 8))))
    expected = gpt2(END_OF_TEXT, merge_count=1000).encode(text, [END_OF_TEXT])
    snapshot.assert_close(ids, expected, "ids")


def test_encode_iterable_memory(adapters: Any, memory: Memory) -> None:
    """A stream of any length is encoded in bounded memory."""
    # Nothing is quicker to encode than long special tokens: a slow tokenizer, too, is done with
    # so much text in a moment.
    special = "<|" + "long " * 2048 + "|>"
    repeats = ITEM_MEBIBYTES * MEBIBYTE // len(special)

    def stream() -> Iterator[str]:
        for _ in range(ITEM_COUNT):
            yield special * repeats + "\n"

    made = tokenizer(adapters, special)
    made.encode(special)
    expected = ITEM_COUNT * (repeats + 1)
    with memory.watch() as growth:
        count = sum(1 for _ in islice(made.encode_iterable(stream()), expected + 1))
    assert count == expected, "Each special token and line end is one id."
    assert growth.bytes < ALLOWED_MEBIBYTES * MEBIBYTE, (
        f"Encoding {ITEM_COUNT * ITEM_MEBIBYTES} MiB piece by piece took"
        f" {growth.bytes // MEBIBYTE} MiB: let go of what has been encoded."
    )


def test_encode_long_word(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """A word of thousands of letters is encoded before the patience of a reader ends."""
    text = "".join(draw.choices("etaoinshrdlu", 5000))
    ids = tokenizer(adapters, END_OF_TEXT).encode(text)
    snapshot.assert_close(ids, gpt2(END_OF_TEXT, merge_count=1000).encode(text), "ids")
