"""The reference's encoding, fast ways and slow ones: they give the same."""

from collections.abc import Callable
from itertools import chain, pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cs336_basics.fast import pretokenization, tokenizer
from cs336_basics.fast.ascii_pretokens import BORDER, ascii_pretokens
from cs336_basics.fast.batch_merging import BatchMerger
from cs336_basics.fast.pretokenization import ASCII_PRETOKEN, split
from cs336_basics.fast.tokenizer import FastTokenizer
from cs336_basics.pretokenization import PRETOKEN
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.train_bpe import merge_pairs
from cs336_checks.draws import Draws
from tests.texts import foreign, messy, stories, story
from tests.vocabularies import gpt2

Merges = list[tuple[bytes, bytes]]

parts_of_text = st.sampled_from([*" \n\t\v'a1.", "\r\n", "  ", "'s", "'ll", "'re", "s", "l"])
ascii_text = st.lists(parts_of_text).map("".join) | st.text(
    st.characters(max_codepoint=127), max_size=60
)
# What a letter is must not depend on how new the tables are from which a library knows it.
any_characters = st.text(st.characters(exclude_categories=["Cn", "Cs"]), max_size=20)
any_text = st.lists(ascii_text | any_characters | st.sampled_from([" ", "\n", "'ll"]))
merge_lists = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=3), st.text("ab", min_size=1, max_size=3)),
    max_size=12,
    unique=True,
).map(lambda pairs: [(first.encode(), second.encode()) for first, second in pairs])
trained_merges = st.dictionaries(
    st.text("ab", min_size=1, max_size=14).map(str.encode), st.integers(1, 3), max_size=8
).map(lambda counts: merge_pairs(counts, 30))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of any length are treated as long ones are, with a cache that is full at once."""
    monkeypatch.setattr(pretokenization, "LARGE_PIECE", 50)
    monkeypatch.setattr(pretokenization, "PIECE", 5)
    monkeypatch.setattr(tokenizer, "LONG_TEXT", 0)
    monkeypatch.setattr(tokenizer, "TOGETHER", 3)
    monkeypatch.setattr(tokenizer, "CACHE_SIZE", 4)


@given(ascii_text)
@settings(max_examples=500, deadline=None)
def test_the_pattern_for_ascii_is_the_pattern(text: str) -> None:
    """On text that has no other characters, control characters among them; arrays do the same."""
    assert ASCII_PRETOKEN.findall(text) == PRETOKEN.findall(text)
    if text and BORDER not in text:
        assert ascii_pretokens(text) == PRETOKEN.findall(text)


@given(any_text.map("".join), st.sampled_from([(3, 3), (30, 3), (30, 10)]))
@settings(max_examples=300, deadline=None)
def test_pieces_change_no_pretoken(text: str, sizes: tuple[int, int]) -> None:
    """Wherever a text is cut, and whichever way the pieces are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pretokenization, "LARGE_PIECE", sizes[0])
        patched.setattr(pretokenization, "PIECE", sizes[1])
        assert list(split(text)) == PRETOKEN.findall(text)


def tokenizer_of(merges: Merges) -> FastTokenizer:
    """A tokenizer with all tokens that merges speak of."""
    tokens = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *chain.from_iterable(merges)])
    tokens |= dict.fromkeys(first + second for first, second in merges)
    return FastTokenizer(dict(enumerate(tokens)), merges)


def slow_merge(word: bytes, merges: Merges) -> list[bytes]:
    """Merge the pair of lowest rank, the leftmost of several, looking at all pairs each time."""
    parts = [word[i : i + 1] for i in range(len(word))]
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    while True:
        pairs = [(ranks[pair], i) for i, pair in enumerate(pairwise(parts)) if pair in ranks]
        if not pairs:
            return parts
        _, i = min(pairs)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


@given(
    trained_merges | merge_lists,
    st.lists(st.text("abc", min_size=1, max_size=20).map(str.encode), min_size=1, max_size=8),
)
@settings(max_examples=200, deadline=None)
def test_words_are_merged_as_the_slow_twin_merges_them(merges: Merges, words: list[bytes]) -> None:
    """One by one and side by side, also where merges are in no order in which they can be made."""
    made = tokenizer_of(merges)
    expected = [slow_merge(word, merges) for word in words]
    assert [made.merge(word) for word in words] == expected
    assert [Tokenizer.merge(made, word) for word in words] == expected
    if merges:
        merger = BatchMerger(made.ranks, made.token_ids)
        for found in (merger.encode(words), merger.merge(words)):
            assert [[made.vocab[id_] for id_ in ids] for ids in found] == expected


@given(trained_merges | merge_lists)
@settings(max_examples=300, deadline=None)
def test_tokens_known_to_be_whole_are(merges: Merges) -> None:
    """All that merges make of its own bytes, where those are in order and make nothing twice."""
    assume(merges)
    made = tokenizer_of(merges)
    tokens = [first + second for first, second in merges]
    whole = {token for token in tokens if slow_merge(token, merges) == [token]}
    in_order = not any(set(pair) & set(tokens[rank:]) for rank, pair in enumerate(merges))
    assert made.in_order == in_order
    known = whole if in_order and len(set(tokens)) == len(tokens) else set()
    assert BatchMerger(made.ranks, made.token_ids).whole.keys() == known


@pytest.mark.usefixtures("small_pieces")
def test_a_long_text_is_encoded_as_tiktoken_does() -> None:
    """In pieces, side by side, with long words, other alphabets, special tokens."""
    draw = Draws(0, "long text")
    end = "<|endoftext|>"
    text = end.join([*stories(draw, 3), foreign(draw, 300), messy(draw, 300), "x" * 100, ""])
    vocabulary = gpt2(end)
    made = FastTokenizer(vocabulary.tokens, vocabulary.merges, [end])
    for _ in range(2):
        assert made.encode(text) == vocabulary.encode(text, [end])
        assert len(made.cache) <= 4
    assert list(made.encode_iterable([text[:500], text[500:]])) == made.encode(text)


@given(any_text.map("".join), st.sampled_from([(), ("<|end|>",), ("'ll", " ", "a1", "é")]))
@settings(max_examples=200, deadline=None)
def test_any_text_is_encoded_as_tiktoken_does(text: str, specials: tuple[str, ...]) -> None:
    """With special tokens or none, as short texts and as long ones are encoded, and as a stream."""
    vocabulary = gpt2(*specials, merge_count=2000)
    text = text.replace("a", "".join(specials) or "a")
    expected = vocabulary.encode(text, specials)
    made = Tokenizer(vocabulary.tokens, vocabulary.merges, specials)
    assert made.encode(text) == expected
    assert list(made.encode_iterable(text)) == expected
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tokenizer, "LONG_TEXT", 0)
        patched.setattr(pretokenization, "PIECE", 20)
        fast = FastTokenizer(vocabulary.tokens, vocabulary.merges, specials)
        assert fast.encode(text) == expected
        assert list(fast.encode_iterable(text)) == expected


@pytest.mark.usefixtures("small_pieces")
def test_a_vocabulary_without_a_byte_of_the_text_is_told() -> None:
    """As in a short text, and what could be encoded meanwhile is not forgotten half done."""
    made = FastTokenizer({0: b"a", 1: b" ", 2: b" a"}, [(b" ", b"a")])
    assert made.encode("a a a") == [0, 2, 2]
    with pytest.raises(ValueError, match=r"no token b'x' and cannot encode ' x'"):
        made.encode("a a x")
    assert made.encode("a a a") == [0, 2, 2]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("id_of", [lambda rank: rank - 10**6, lambda rank: 10**12 * rank])
def test_ids_may_be_any_numbers(id_of: Callable[[int], int]) -> None:
    """Negative ones and large ones, which no table could be as long as, encode as others do."""
    vocabulary = gpt2(merge_count=500)
    vocab = {id_of(rank): token for rank, token in vocabulary.tokens.items()}
    text = story(Draws(0, "any ids"))
    expected = [id_of(rank) for rank in vocabulary.encode(text)]
    assert FastTokenizer(vocab, vocabulary.merges).encode(text) == expected


def test_a_long_word_takes_no_square() -> None:
    """One pre-token of 256 KiB; with the square of it this would never end."""
    vocabulary = gpt2()
    made = FastTokenizer(vocabulary.tokens, vocabulary.merges)
    ids = made.encode("a" * 2**18)
    assert made.decode(ids) == "a" * 2**18
    assert len(set(ids)) == 1
