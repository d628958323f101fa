"""Checks of encoding a stream of text piece by piece, and of encoding much text at all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, zip_longest
from typing import Any

import pytest

from cs336_checks.draws import Draws
from cs336_checks.memory import MEBIBYTE, Memory
from cs336_checks.snapshots import Snapshot

from .texts import END_OF_TEXT, cut, foreign, messy, stories, story
from .vocabularies import Vocabulary, gpt2, unambiguous, vocabulary

LETTERS = "abcdefghijklmnopqrstuvwxyz"

# Lines of about 180 characters. A tokenizer may read ahead, but not without limit.
LINE_COUNT = 5000
READ_AHEAD = 1000

# What holds on to the stream takes at least its size, 50 MiB; what lets go, some 40 times one item
# at worst, 10 MiB.
ITEM_COUNT = 200
ITEM_BYTES = MEBIBYTE // 4
ALLOWED_MEBIBYTES = 30


def tokenizer(adapters: Any, small: Vocabulary) -> Any:
    """The submission's tokenizer, made of fresh copies."""
    return adapters.get_tokenizer(
        dict(small.tokens), list(small.merges), list(small.special_tokens)
    )


@pytest.mark.parametrize("empty_items", [False, True], ids=["lines", "empty items"])
def test_encode_iterable(adapters: Any, snapshot: Snapshot, draw: Draws, empty_items: bool) -> None:
    """Encoding the lines of a file one by one gives the ids of the whole text."""
    items = "".join(stories(draw, 5)).splitlines(keepends=True)
    if empty_items:
        items = ["", *(item for line in items for item in (line, ""))]
    small = unambiguous(END_OF_TEXT)
    ids = list(tokenizer(adapters, small).encode_iterable(iter(items)))
    snapshot.assert_close(ids, small.encode("".join(items)), "ids", meaning=small.tokens)


def test_encode_iterable_lazy(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """The first ids are given after a small part of the stream has been read."""
    lines = [story(draw, 3) for _ in range(50)]
    pulled = 0

    def stream() -> Iterator[str]:
        nonlocal pulled
        for i in range(LINE_COUNT):
            pulled += 1
            yield lines[i % len(lines)]

    small = unambiguous(END_OF_TEXT)
    ids = iter(tokenizer(adapters, small).encode_iterable(stream()))
    expected = small.encode(lines[0])[:10]
    snapshot.assert_close(list(islice(ids, 10)), expected, "the first ids", meaning=small.tokens)
    assert pulled <= READ_AHEAD, (
        f"{pulled:,} of {LINE_COUNT:,} lines were read before the tenth id came:"
        " yield the ids of what has been read before reading on."
    )


@dataclass(frozen=True)
class Stream:
    """A text, how long the items are that it comes in, and what it is encoded with.

    The pieces of the text are special tokens and what stands between them.
    """

    pieces: Sequence[str]
    shortest: int = 0
    longest: int = 8
    vocabulary: Vocabulary = field(default_factory=partial(gpt2, END_OF_TEXT, merge_count=1000))


def long_stream(draw: Draws) -> Stream:
    """More text than a buffer holds, with runs of blanks that merge where they are cut apart."""
    # The words are long and each is one token, so that there are few ids. What a word begins with
    # is nowhere else, so its letters merge from first to last.
    words = [first + "".join(draw.choices(LETTERS, 30)) for first in "ABCD"]
    merges = [(b"\n", b"\n"), (b"\n\n", b"\n"), (b" ", b" "), (b"  ", b" "), (b"\n\n", b" ")]
    merges += [(word[:i].encode(), word[i].encode()) for word in words for i in range(1, 31)]
    merges += [(b" ", word.encode()) for word in words]
    parts: list[str] = []
    for i in range(4500):
        # A special token is seldom: who cuts at one has to cut elsewhere, too.
        end = END_OF_TEXT if i % 250 == 249 else ""
        parts += [draw.choice(words), end, draw.choice(("\n\n", "\n\n\n", "  ", "   ", "\n\n  "))]
    pieces = split_at(END_OF_TEXT, "".join(parts))
    return Stream(pieces, 3000, 9000, vocabulary(merges, (END_OF_TEXT,)))


def split_at(special: str, text: str) -> list[str]:
    """The text in pieces, of which every other is the special token."""
    between = text.split(special)
    return [piece for part in between[:-1] for piece in (part, special)] + between[-1:]


def contractions(draw: Draws) -> Stream:
    """Contractions that come in single letters, so that each is cut at each of its places."""
    words = [
        f"{word}'{end}" for word in ("I", "you", "they") for end in ("ll", "ve", "re", "d", "s")
    ]
    return Stream([" ".join(draw.choices(words, 30))], longest=1)


def overlapping_special_tokens(draw: Draws) -> Stream:
    """A special token that another one begins with, in single letters."""
    longer = END_OF_TEXT * 2
    pieces: list[str] = []
    # Three of the shorter one are the longer and the shorter.
    for specials in ((END_OF_TEXT,), (longer,), (longer, END_OF_TEXT)):
        pieces += [story(draw, 1), *specials]
    return Stream(pieces, longest=1, vocabulary=gpt2(END_OF_TEXT, longer, merge_count=500))


STREAMS: dict[str, Callable[[Draws], Stream]] = {
    "words": lambda draw: Stream([story(draw, 4) + foreign(draw, 30)]),
    "contractions": contractions,
    "blanks": lambda draw: Stream([messy(draw, 150)]),
    "special tokens": lambda draw: Stream(
        split_at(END_OF_TEXT, END_OF_TEXT.join(stories(draw, 3)) + END_OF_TEXT * 2)
    ),
    "overlapping special tokens": overlapping_special_tokens,
    "long": long_stream,
}


@pytest.mark.parametrize("kind", STREAMS)
def test_encode_iterable_cut_anywhere(
    adapters: Any, snapshot: Snapshot, draw: Draws, kind: str
) -> None:
    """The ids are those of the joined text, wherever it is cut: words, blanks, special tokens."""
    stream = STREAMS[kind](draw)
    items = cut(draw, "".join(stream.pieces), stream.longest, stream.shortest)
    ids = list(tokenizer(adapters, stream.vocabulary).encode_iterable(iter(items)))
    snapshot.assert_close(
        ids,
        stream.vocabulary.encode_pieces(*stream.pieces),
        "ids",
        meaning=stream.vocabulary.tokens,
    )


def test_encode_iterable_two_streams(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Two streams that one tokenizer encodes at the same time do not affect each other."""
    small = unambiguous(END_OF_TEXT)
    made = tokenizer(adapters, small)
    texts = [story(draw, 12) for _ in range(2)]
    streams = [made.encode_iterable(iter(text.splitlines(keepends=True))) for text in texts]
    found: list[list[int]] = [[], []]
    for pair in zip_longest(*map(iter, streams)):
        for ids, id_ in zip(found, pair, strict=True):
            if id_ is not None:
                ids.append(id_)
    for i, text in enumerate(texts):
        snapshot.assert_close(
            found[i], small.encode(text), f"ids of stream {i}", meaning=small.tokens
        )


@pytest.mark.fresh_worker
def test_encode_iterable_memory(adapters: Any, memory: Memory) -> None:
    """Encoding a stream takes memory for a few of its items, however many there are."""
    # Nothing is quicker to encode than long special tokens: a slow tokenizer, too, is done with
    # so much text in a moment. They are no longer because some look at all beginnings of one at
    # the end of each item.
    special = "<|" + "long-" * 1000 + "|>"
    repeats = ITEM_BYTES // len(special)
    item = special * repeats + "\n"

    def stream() -> Iterator[str]:
        for _ in range(ITEM_COUNT):
            # Each item is a text of its own, as the lines of a file are.
            yield item[:-1] + "\n"

    made = tokenizer(adapters, gpt2(special, merge_count=10))
    assert len(list(made.encode_iterable(iter([special])))) == 1, (
        "Your encode_iterable does not give one id for a special token."
    )
    expected = ITEM_COUNT * (repeats + 1)
    with memory.watch() as growth:
        count = sum(1 for _ in islice(made.encode_iterable(stream()), expected + 1))
    assert count == expected, (
        f"The stream is {ITEM_COUNT * repeats:,} special tokens and {ITEM_COUNT:,} line ends, each"
        f" of them one id, but {'more' if count > expected else f'only {count:,}'} ids came: a"
        " special token was taken for ordinary text, or text was lost or encoded twice."
    )
    assert growth.bytes < ALLOWED_MEBIBYTES * MEBIBYTE, (
        f"Encoding {ITEM_COUNT} items of {ITEM_BYTES // 1024} KiB, one by one, took more than"
        f" {ALLOWED_MEBIBYTES} MiB: let go of what has been encoded."
    )


def test_encode_long_word(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """A word of thousands of letters is encoded in seconds, not minutes."""
    text = "".join(draw.choices("etaoinshrdlu", 3000))
    small = gpt2(END_OF_TEXT, merge_count=1000)
    ids = tokenizer(adapters, small).encode(text)
    snapshot.assert_close(ids, small.encode(text), "ids", meaning=small.tokens)
