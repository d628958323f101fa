"""Checks of encoding and decoding: tiktoken says what is right, and small cases by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

from .texts import END_OF_TEXT, foreign, messy, story
from .vocabularies import Vocabulary, gpt2, unambiguous, vocabulary

TEXTS: dict[str, Callable[[Draws], str]] = {
    "story": lambda draw: story(draw, 4),
    "foreign": lambda draw: foreign(draw, 50),
    "messy": lambda draw: messy(draw, 100),
}


def tokenizer(
    adapters: Any, vocabulary: Vocabulary, special_tokens: Sequence[str] | None = None
) -> Any:
    """The submission's tokenizer, made of fresh copies."""
    given = None if special_tokens is None else list(special_tokens)
    return adapters.get_tokenizer(dict(vocabulary.tokens), list(vocabulary.merges), given)


@pytest.mark.parametrize("kind", TEXTS)
def test_encode_gpt2(adapters: Any, snapshot: Snapshot, draw: Draws, kind: str) -> None:
    """With GPT-2's vocabulary, text of any script is encoded to the ids that GPT-2 is given."""
    text = TEXTS[kind](draw)
    ids = tokenizer(adapters, gpt2(END_OF_TEXT), [END_OF_TEXT]).encode(text)
    snapshot.assert_close(
        ids, gpt2(END_OF_TEXT).encode(text), "ids", meaning=gpt2(END_OF_TEXT).tokens
    )


def test_encode_any_text(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Every text of a long series is encoded right, and the same when it comes again."""
    small = gpt2(merge_count=1000)
    made = tokenizer(adapters, small)
    texts = [messy(draw, 60) for _ in range(20)]
    # The last begins with a mark that tells of its encoding, and that is a character like others.
    for i, text in enumerate([*texts, *texts[:3], "\ufeff" + texts[0]]):
        snapshot.assert_close(
            made.encode(text), small.encode(text), f"ids of text {i}", meaning=small.tokens
        )


def test_encode_pretokens(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """No merge crosses from one pre-token to the next, and every one applies within them."""
    # Any two bytes of these characters may merge, so that each border between them shows.
    characters = "aSstlvredm12!.' \n\té²"
    singles = [bytes([byte]) for byte in sorted(set(characters.encode()))]
    every = [(left, right) for left in singles for right in singles]
    small = vocabulary([every[i] for i in draw.permutation(len(every))])
    text = "".join(draw.choices(characters, 1000))
    snapshot.assert_close(
        tokenizer(adapters, small).encode(text), small.encode(text), "ids", meaning=small.tokens
    )


def test_encode_empty(adapters: Any) -> None:
    """An empty text has no tokens."""
    made = tokenizer(adapters, gpt2(END_OF_TEXT, merge_count=10), [END_OF_TEXT])
    assert made.encode("") == [], "Your encode returns ids for an empty text."


def test_encode_shuffled_ids(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Merges are applied in the order in which they were created, whatever ids the tokens have."""
    shuffled = gpt2(END_OF_TEXT, merge_count=1000).shuffled(draw)
    made = tokenizer(adapters, shuffled, [END_OF_TEXT])
    # One word a line, so that other checks look at pre-tokens.
    text = "\n".join(filter(str.isalpha, story(draw, 12).split()))
    snapshot.assert_close(made.encode(text), shuffled.encode(text), "ids", meaning=shuffled.tokens)


@pytest.mark.parametrize(
    ("merges", "text", "tokens"),
    [
        pytest.param(["a+a"], "aaaaa", "aa aa a", id="left to right"),
        pytest.param(["a+b"], "ababa", "ab ab a", id="all of them"),
        pytest.param(["b+c", "a+b"], "abcab", "a bc ab", id="first merge first"),
        pytest.param(["c+d", "b+cd", "a+b"], "abcd", "a bcd", id="made of merges"),
        pytest.param(["a+a", "aa+aa"], "aaaaaaa", "aaaa aa a", id="run"),
    ],
)
def test_encode_merge_order(
    adapters: Any, snapshot: Snapshot, merges: list[str], text: str, tokens: str
) -> None:
    """The earliest merge is applied first, at each place where it fits, from left to right."""
    halves = [merge.encode().split(b"+") for merge in merges]
    small = vocabulary([(left, right) for left, right in halves])
    expected = [small.ids[token.encode()] for token in tokens.split()]
    snapshot.assert_close(
        tokenizer(adapters, small).encode(text), expected, "ids", meaning=small.tokens
    )


def test_encode_special_tokens(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """A special token in the text becomes its one id, and the text around it is encoded alone."""
    special_tokens = (END_OF_TEXT, "<|pad|>", "<sep>")
    small = unambiguous(*special_tokens)
    made = tokenizer(adapters, small, special_tokens)
    end, pad, _ = special_tokens
    marks = ("", " ", "  ", "!", "\n", "'", "<|")
    one, other = story(draw, 2), story(draw, 3).strip()
    texts = [
        end,
        end + pad + end,
        end + one + pad,
        one + end + other + pad + one,
        other + end + pad + one + end,
        f"a {end} b  {pad}  {end}\n\n{pad}c",
        f"{end[:-1]} {end[1:]} {end.upper()} <|{end}|>",
        "".join(f"a{mark}{special}{mark}b" for special in special_tokens for mark in marks),
    ]
    for i, text in enumerate(texts):
        expected = small.encode(text, special_tokens)
        snapshot.assert_close(made.encode(text), expected, f"ids of text {i}", meaning=small.tokens)


def test_encode_special_tokens_not_given(adapters: Any, snapshot: Snapshot) -> None:
    """Where no special tokens are given, text that looks like one is ordinary text."""
    small = unambiguous(END_OF_TEXT)
    text = f"before{END_OF_TEXT}after"
    snapshot.assert_close(
        tokenizer(adapters, small).encode(text), small.encode(text), "ids", meaning=small.tokens
    )


@pytest.mark.parametrize("special", ["[SEP]", "^.*$", "(a+b)?|", "\\d+", "a.b"])
def test_encode_special_tokens_literal(adapters: Any, snapshot: Snapshot, special: str) -> None:
    """A special token is taken literally, whatever its characters mean in a regular expression."""
    small = unambiguous(special, END_OF_TEXT)
    pieces = ("SEP a 12", special, " axb", END_OF_TEXT, "| ab aab. 7", special, special)
    ids = tokenizer(adapters, small, [special, END_OF_TEXT]).encode("".join(pieces))
    snapshot.assert_close(ids, small.encode_pieces(*pieces), "ids", meaning=small.tokens)


@pytest.mark.parametrize("in_order", [True, False], ids=["shorter first", "longer first"])
@pytest.mark.parametrize("longer", [END_OF_TEXT * 2, END_OF_TEXT + "\n", "very " + END_OF_TEXT])
def test_encode_overlapping_special_tokens(
    adapters: Any, snapshot: Snapshot, longer: str, in_order: bool
) -> None:
    """Where a special token contains another, the longer one is found, in whichever order given."""
    small = unambiguous(END_OF_TEXT, longer)
    given = [END_OF_TEXT, longer] if in_order else [longer, END_OF_TEXT]
    pieces = ("one", longer, "two ", END_OF_TEXT, "three", longer, longer, " four", END_OF_TEXT)
    ids = tokenizer(adapters, small, given).encode("".join(pieces))
    snapshot.assert_close(ids, small.encode_pieces(*pieces), "ids", meaning=small.tokens)


@pytest.mark.parametrize("kind", TEXTS)
def test_decode_text(adapters: Any, snapshot: Snapshot, draw: Draws, kind: str) -> None:
    """Decoding the ids of a text gives the text, special tokens included."""
    small = gpt2(END_OF_TEXT, merge_count=1000)
    made = tokenizer(adapters, small, [END_OF_TEXT])
    text = END_OF_TEXT.join(TEXTS[kind](draw) for _ in range(4))
    snapshot.assert_text(
        made.decode(small.encode(text, [END_OF_TEXT])),
        text,
        "Decoding the ids of a text must give the text.",
    )
    snapshot.assert_text(made.decode([]), "", "Decoding no ids must give an empty text.")


def test_decode(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Decoding joins the tokens' bytes, whichever tokens they are, and reads them as UTF-8."""
    shuffled = gpt2(END_OF_TEXT, merge_count=1000).shuffled(draw)
    made = tokenizer(adapters, shuffled, [END_OF_TEXT])
    # A byte order mark at the beginning is a character like others.
    text = "\ufeff" + foreign(draw, 20)
    ids = [shuffled.ids[bytes([byte])] for byte in text.encode()]
    snapshot.assert_text(
        made.decode(ids),
        text,
        "Join the bytes of all tokens before you decode them: a character may have several tokens.",
    )
    ids = [shuffled.ids[END_OF_TEXT.encode()], shuffled.ids[b" the"], shuffled.ids[b"ing"]]
    snapshot.assert_text(
        made.decode(ids),
        END_OF_TEXT + " theing",
        "Each id must be decoded to the bytes of its token.",
    )


@pytest.mark.parametrize(
    ("malformed", "text"),
    [
        (b"\xff", "\ufffd"),
        (b"a\x80b", "a\ufffdb"),
        (b"ab\xc3", "ab\ufffd"),
        (b"\xf0\x9f\x98a", "\ufffda"),
    ],
    ids=["no UTF-8", "continuation alone", "cut at the end", "cut before a letter"],
)
def test_decode_malformed(adapters: Any, snapshot: Snapshot, malformed: bytes, text: str) -> None:
    """Bytes that are no UTF-8 are decoded to the replacement character U+FFFD."""
    small = gpt2(merge_count=1000)
    decoded = tokenizer(adapters, small).decode([small.ids[bytes([byte])] for byte in malformed])
    snapshot.assert_text(
        decoded, text, "Bytes that are no UTF-8 must become U+FFFD, and all others stay."
    )


@pytest.mark.parametrize("special", ["<|new line|>", " ", "<|ünï 🙂|>", "結束", "e\u0301"])
def test_encode_special_tokens_of_any_text(adapters: Any, snapshot: Snapshot, special: str) -> None:
    """A special token may hold any characters, blanks and non-ASCII ones too."""
    small = unambiguous(special)
    if special == " ":
        # The byte and the special token are one token.
        small = Vocabulary(
            {id_: token for id_, token in small.tokens.items() if id_ != max(small.tokens)},
            small.merges,
            small.special_tokens,
        )
    pieces = ("a", special, "bé", special, special, "🙂結")
    ids = tokenizer(adapters, small, [special]).encode("".join(pieces))
    snapshot.assert_close(ids, small.encode_pieces(*pieces), "ids", meaning=small.tokens)


def test_encode_empty_list_of_special_tokens(adapters: Any, snapshot: Snapshot) -> None:
    """An empty list of special tokens is the same as none."""
    small = unambiguous(END_OF_TEXT)
    text = f"before{END_OF_TEXT} after"
    snapshot.assert_close(
        tokenizer(adapters, small, []).encode(text), small.encode(text), "ids", meaning=small.tokens
    )


def test_encode_missing_special_token(adapters: Any, snapshot: Snapshot) -> None:
    """Special tokens that the vocabulary lacks are appended to it and get an id each."""
    small = unambiguous()
    new = len(small.tokens)
    made = tokenizer(adapters, small, [END_OF_TEXT])
    ids = made.encode(f"one{END_OF_TEXT}two")
    snapshot.assert_close(
        ids, [*small.encode("one"), new, *small.encode("two")], "ids", meaning=small.tokens
    )
    snapshot.assert_text(
        made.decode(ids), f"one{END_OF_TEXT}two", "The appended special token must be decoded."
    )
    made = tokenizer(adapters, small, [END_OF_TEXT, "<|pad|>"])
    ids = made.encode(f"{END_OF_TEXT}<|pad|>")
    # No rule says which of two is appended first.
    snapshot.assert_close(
        ids, [new, new + 1], "ids of two", alternatives=([new + 1, new],), meaning=small.tokens
    )
    snapshot.assert_text(
        made.decode(ids), f"{END_OF_TEXT}<|pad|>", "Both appended special tokens must be decoded."
    )


def test_two_tokenizers(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Two tokenizers in one process do not affect each other."""
    one, other = unambiguous(END_OF_TEXT), unambiguous().shuffled(draw)
    text = END_OF_TEXT + story(draw, 3)
    made = tokenizer(adapters, one, [END_OF_TEXT])
    before = made.encode(text)
    other_ids = tokenizer(adapters, other).encode(text)
    snapshot.assert_close(
        before, one.encode(text, [END_OF_TEXT]), "ids of the first", meaning=one.tokens
    )
    snapshot.assert_close(other_ids, other.encode(text), "ids of the second", meaning=other.tokens)
    assert made.encode(text) == before, "A second tokenizer changed what the first one returns."


def test_decode_unknown_id(adapters: Any, snapshot: Snapshot) -> None:
    """An id that is not in the vocabulary is refused."""
    made = tokenizer(adapters, gpt2(merge_count=10))
    snapshot.assert_text(made.decode([1]), '"', "An id of the vocabulary must be decoded.")
    assert_refuses(made.decode, [1, 265], [1, 266], "An id beyond the vocabulary")


def test_tokenizer_leaves_arguments(adapters: Any) -> None:
    """The vocabulary, merges and special tokens that a caller gives are not changed."""
    small = gpt2(merge_count=10)
    tokens, merges, special_tokens = dict(small.tokens), list(small.merges), ["<|b|>", "<|a|>", "c"]
    made = adapters.as_given.get_tokenizer(tokens, merges, special_tokens)
    made.encode("abc<|a|>")
    assert tokens == small.tokens, (
        "Your tokenizer changed the vocabulary it was given: copy it first."
    )
    assert merges == small.merges, (
        "Your tokenizer changed the merges it was given: copy them first."
    )
    assert special_tokens == ["<|b|>", "<|a|>", "c"], (
        "Your tokenizer changed the list it was given: sort a copy."
    )
