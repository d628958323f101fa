"""Checks of BPE training: small corpora worked out by hand, and laws.

Only the checks of ties have pairs that are equally frequent.
"""

import string
from pathlib import Path
from typing import Any

import pytest

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

from .texts import END_OF_TEXT, beginnings, stories
from .training import BETWEEN_DOCUMENTS, MORE_WORDS, Train, first_merges, lines, pairs, trainer
from .vocabularies import Merge

TWO_BYTE_LETTERS = "".join(filter(str.isalpha, map(chr, range(0xC0, 0x530))))
MARKS = "'\"\\#]!~`"


@pytest.fixture
def train(adapters: Any, tmp_path: Path) -> Train:
    """Trains on a text."""
    return trainer(adapters, tmp_path)


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # we 7+4+5, lo 14, lo+we 12, st 11, lowe+st 7, lowe+r 5, we+st 4, lo+w 2.
        pytest.param(
            lines(lowest=7, west=4, lower=5, low=2),
            pairs("w+e l+o lo+we s+t lowe+st lowe+r we+st lo+w"),
            id="low, lower, lowest",
        ),
        # ab 5 times in one word, cd 4 times in three: occurrences count, not words.
        pytest.param(lines(ab=5, cd=1, cde=2, cdf=1), pairs("a+b c+d cd+e"), id="words"),
        # xy 3 times in one word against de 2, and every xy of the word is merged.
        pytest.param(lines(xyaxybxyc=1, de=2), pairs("x+y d+e"), id="one word"),
        # Once bc is one token, no ab is left; what was counted before no longer holds.
        pytest.param(lines(abc=3, bc=1, de=2), pairs("b+c a+bc d+e"), id="used up"),
        # ab 22; of 14 bc, 4 are left.
        pytest.param(
            lines(ab=12, abc=10, bc=4, de=12, fg=7, hi=3),
            pairs("a+b d+e ab+c f+g b+c h+i"),
            id="fewer left",
        ),
    ],
)
def test_train_bpe_merges(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Each merge joins the pair of tokens that is most frequent in the corpus at that moment."""
    snapshot.assert_close(first_merges(train, corpus, len(merges)), merges, "merges")


def test_train_bpe_stories(train: Train, snapshot: Snapshot, draw: Draws) -> None:
    """On a corpus of stories the merges are the ones the text's definition gives, in order."""
    merges = first_merges(train, "\n".join(beginnings(draw)), 70)
    snapshot.assert_match(merges, "merges")


def test_train_bpe_laws(train: Train, draw: Draws) -> None:
    """The same merges come from documents in another order, from all twice, for a smaller size."""
    documents = beginnings(draw)
    order = draw.permutation(len(documents)).tolist()
    _, merges = train(BETWEEN_DOCUMENTS.join(documents), 70)
    _, fewer = train(BETWEEN_DOCUMENTS.join(documents), 30)
    assert fewer == merges[: len(fewer)], "With a smaller vocabulary, your first merges are others."
    _, reordered = train(BETWEEN_DOCUMENTS.join(documents[i] for i in order), 70)
    assert reordered == merges, "With the documents in another order, your merges are others."
    _, twice = train(BETWEEN_DOCUMENTS.join(documents * 2), 70)
    assert twice == merges, "With each document twice, your merges are others."


@pytest.mark.parametrize(
    "alphabet",
    [
        pytest.param(string.ascii_letters, id="letters"),
        pytest.param(MARKS, id="quotes and backslashes"),
    ],
)
def test_train_bpe_ties(train: Train, snapshot: Snapshot, draw: Draws, alphabet: str) -> None:
    """Of the pairs that are equally frequent, the lexicographically greatest is merged."""
    every = [a + b for a in alphabet for b in alphabet]
    # A word that follows every corpus would be more frequent than the others.
    words = [every[i] for i in draw.permutation(len(every)) if every[i] not in MORE_WORDS.split()]
    words = words[:24]
    merges = sorted(((word[:1].encode(), word[1:].encode()) for word in words), reverse=True)
    snapshot.assert_close(first_merges(train, "\n".join(words * 2), 24), merges, "merges")


def test_train_bpe_ties_of_bytes(train: Train, snapshot: Snapshot, draw: Draws) -> None:
    """Equally frequent pairs are compared as bytes, not as the characters they may stand for."""
    letters = [TWO_BYTE_LETTERS[i] for i in draw.permutation(len(TWO_BYTE_LETTERS))[:24]]
    codes = [letter.encode() for letter in letters]
    merges = sorted(((code[:1], code[1:]) for code in codes), reverse=True)
    snapshot.assert_close(first_merges(train, "\n".join(letters * 2), 24), merges, "merges")


def test_train_bpe_ties_of_prefixes(train: Train, snapshot: Snapshot) -> None:
    """Equally frequent pairs are compared token by token, and a prefix is less than the whole."""
    # ab 6; then 3 each: ab+a, a+z, c+z. Joined, az > aba, and aba is the longest, but neither
    # counts: c > ab > a. Then 2 each: x+ab and x+b, and b > ab.
    corpus = lines(aba=3, az=3, cz=3, ab=1, xab=2, xb=2)
    merges = pairs("a+b c+z ab+a a+z x+b x+ab")
    snapshot.assert_close(first_merges(train, corpus, len(merges)), merges, "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # ab 20; then ab+ab 10, not 20, as if each half of a pair of two new tokens counted it.
        pytest.param(lines(abab=10, xy=15, zw=5), pairs("a+b x+y ab+ab z+w"), id="abab"),
        # ab 30; then ab+ab 20, abab+ab 10.
        pytest.param(
            lines(ababab=10, xy=25, zw=15, uv=5),
            pairs("a+b x+y ab+ab z+w abab+ab u+v"),
            id="ababab",
        ),
        # ab 23, bc 20; then ab+c 20, c+ab 10; then abc+abc 10.
        pytest.param(
            lines(abcabc=10, ab=3, xy=15, zw=5), pairs("a+b ab+c x+y abc+abc z+w"), id="abcabc"
        ),
        # aa 20: each "aaa" holds two pairs of neighbours, though only one can be merged.
        pytest.param(lines(aaa=10, xy=15, zw=5), pairs("a+a x+y aa+a z+w"), id="aaa"),
        # aa 30; then aa+aa 10.
        pytest.param(lines(aaaa=10, xy=25, zw=15, uv=5), pairs("a+a x+y z+w aa+aa u+v"), id="aaaa"),
        # aa 150; aa aa a and aa aa: aa+aa 40, aa+a 30; then aaaa+a 30.
        pytest.param(
            lines(aaaaa=30, aaaa=10, xy=120, zw=35, uv=20),
            pairs("a+a x+y aa+aa z+w aaaa+a u+v"),
            id="aaaaa",
        ),
        # aa 110; aa aa aa a and aa aa aa: aa+aa 40; then aaaa aa a, aaaa aa: aaaa+aa 20, aa+a 10.
        pytest.param(
            lines(aaaaaaa=10, aaaaaa=10, xy=75, zw=30, uv=15),
            pairs("a+a x+y aa+aa z+w aaaa+aa u+v aaaaaa+a"),
            id="aaaaaaa",
        ),
    ],
)
def test_train_bpe_repeats(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Where a pair overlaps itself, it is merged from left to right and the counts stay right."""
    snapshot.assert_close(first_merges(train, corpus, len(merges)), merges, "merges")


@pytest.mark.parametrize(
    "special_tokens",
    [
        pytest.param((END_OF_TEXT,), id="one"),
        pytest.param((END_OF_TEXT, "<|pad|>", "[MASK]"), id="three"),
    ],
)
def test_train_bpe_vocabulary(train: Train, draw: Draws, special_tokens: tuple[str, ...]) -> None:
    """The vocabulary numbers all special tokens, all 256 bytes and what each merge makes."""
    # No letter is in two words, and there is room for all of those, in whatever order.
    letters = "".join(string.ascii_lowercase[i] for i in draw.permutation(26))
    words, long_word = [letters[i : i + 2] for i in range(0, 18, 2)], letters[18:]
    merge_count = len(words) + len(long_word) - 1
    corpus = "\n".join(words * 3 + [long_word] * 2 + ["1234"])
    vocab, merges = train(corpus, merge_count, special_tokens)
    size = 256 + len(special_tokens) + merge_count
    assert len(merges) == merge_count, (
        f"{merge_count} merges are expected, yours are {len(merges)}: vocab_size counts the bytes,"
        " the special tokens and one token for each merge."
    )
    assert all(
        isinstance(merge, tuple) and len(merge) == 2 and all(type(half) is bytes for half in merge)
        for merge in merges
    ), "One of your merges is no tuple of two bytes objects."
    assert all(type(token) is bytes for token in vocab.values()), (
        "One of your tokens is no bytes object."
    )
    assert set(vocab) == set(range(size)), "Your ids are not 0, 1, 2 … vocab_size - 1."
    tokens = {*vocab.values()}
    assert {bytes([byte]) for byte in range(256)} <= tokens, "Your vocabulary lacks a single byte."
    assert {text.encode() for text in special_tokens} <= tokens, (
        "Your vocabulary lacks a special token."
    )
    assert {left + right for left, right in merges} <= tokens, (
        "Your vocabulary lacks the token that a merge makes."
    )
    assert {word.encode() for word in words} <= tokens, (
        "Your vocabulary lacks a word that is frequent."
    )
    made: set[bytes] = {bytes([byte]) for byte in range(256)}
    for left, right in merges:
        assert {left, right} <= made, (
            "One of your merges joins what is no byte and no earlier merge has made."
        )
        made.add(left + right)


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        pytest.param("abc\nbc", pairs("b+c a+bc"), id="two words"),
        pytest.param("a b", pairs("_+b"), id="one pair"),
        pytest.param(f"a{END_OF_TEXT}b", [], id="no pair"),
        pytest.param("", [], id="empty"),
        pytest.param(END_OF_TEXT * 3, [], id="special tokens alone"),
    ],
)
def test_train_bpe_exhausted(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Training ends when no pair is left, with a vocabulary smaller than was asked for."""
    vocab, learned = train(corpus, 43)
    snapshot.assert_close(learned, merges, "merges")
    assert len(vocab) <= 257 + len(merges), (
        "Your vocabulary holds more than the bytes, the special token and one token for each merge."
    )


def test_train_bpe_no_merges(train: Train, draw: Draws) -> None:
    """A vocabulary with no room for a merge holds the bytes and the special tokens."""
    vocab, merges = train(END_OF_TEXT.join(stories(draw, 8)), 0)
    assert merges == [], "vocab_size leaves no room for a merge, and you return merges."
    assert len(vocab) <= 257, "Your vocabulary holds more than the 256 bytes and the special token."


def test_train_bpe_two_corpora(train: Train, snapshot: Snapshot) -> None:
    """The merges depend on the given corpus alone, not on one that was given before."""
    snapshot.assert_close(first_merges(train, lines(cd=5), 1), pairs("c+d"), "merges of the first")
    snapshot.assert_close(
        first_merges(train, lines(ab=3, cd=1), 1), pairs("a+b"), "merges of the second"
    )


def test_train_bpe_path_as_text(adapters: Any, snapshot: Snapshot, tmp_path: Path) -> None:
    """The path of the corpus may be a str as well as a Path."""
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"abc")
    _, merges = adapters.run_train_bpe(
        input_path=str(path), vocab_size=258, special_tokens=[END_OF_TEXT]
    )
    snapshot.assert_close(merges, pairs("b+c"), "merges")


def test_train_bpe_vocabulary_too_small(adapters: Any, tmp_path: Path) -> None:
    """A vocabulary with no room for all bytes and special tokens is refused."""
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"abc")
    assert_refuses(
        lambda vocab_size: adapters.run_train_bpe(path, vocab_size, [END_OF_TEXT]),
        258,
        256,
        "A vocabulary of 256 with a special token",
    )
