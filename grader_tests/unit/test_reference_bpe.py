"""The reference's BPE training against a slow, plain twin and against the tokenizers library."""

import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from cs336_basics.fast import train_bpe as fast
from cs336_basics.train_bpe import merge_pairs, train_bpe
from cs336_checks.draws import Draws
from tests.texts import END_OF_TEXT, beginnings, foreign, messy, stories
from tests.vocabularies import GPT2_BYTES, GPT2_PATTERN, PRINTABLE

Pair = tuple[bytes, bytes]

BYTES = {chr(byte): byte for byte in PRINTABLE}
BYTES |= {chr(0x100 + i): byte for i, byte in enumerate(GPT2_BYTES[len(PRINTABLE) :])}

word_counts = st.dictionaries(st.binary(min_size=1, max_size=12), st.integers(1, 5), max_size=8)
repetitive_word_counts = st.dictionaries(
    st.text("ab", min_size=1, max_size=14).map(str.encode), st.integers(1, 3), max_size=8
)


def count_pairs(words: dict[tuple[bytes, ...], int]) -> Counter[Pair]:
    """How often each pair of neighbours occurs."""
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def merged(word: tuple[bytes, ...], pair: Pair) -> tuple[bytes, ...]:
    """The word with each occurrence of the pair joined, from left to right."""
    tokens: list[bytes] = []
    position = 0
    while position < len(word):
        joined = word[position : position + 2] == pair
        tokens.append(b"".join(pair) if joined else word[position])
        position += 2 if joined else 1
    return tuple(tokens)


def slow_merges(counts: dict[bytes, int], merge_count: int) -> tuple[list[Pair], bool]:
    """The merges, with all pairs counted again before each, and whether any two pairs tied."""
    words = {tuple(bytes([byte]) for byte in word): count for word, count in counts.items()}
    merges: list[Pair] = []
    tied = False
    while len(merges) < merge_count and (pairs := count_pairs(words)):
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        tied |= list(pairs.values()).count(pairs[best]) > 1
        merges.append(best)
        words = {merged(word, best): count for word, count in words.items()}
    return merges, tied


@given(word_counts | repetitive_word_counts)
@settings(max_examples=300, deadline=None)
def test_merges_equal_those_of_the_slow_twin(counts: dict[bytes, int]) -> None:
    """Incremental counts give what counting everything again gives, until no pair is left."""
    expected, _ = slow_merges(counts, 100)
    assert merge_pairs(counts, 100) == expected
    assert merge_pairs(counts, 3) == expected[:3]
    assert fast.merge_pairs(counts, 100) == expected
    assert fast.merge_pairs(counts, 3) == expected[:3]
    # More tokens than 16 bits can name.
    assert fast.merge_pairs(counts, 70_000)[:100] == expected


@given(repetitive_word_counts)
@settings(max_examples=100, deadline=None)
def test_no_two_merges_make_the_same_token(counts: dict[bytes, int]) -> None:
    """Leftmost merging cuts equal bytes in equal ways, so a vocabulary holds nothing twice."""
    tokens = [left + right for left, right in merge_pairs(counts, 100)]
    assert len(tokens) == len(set(tokens))


@given(
    st.dictionaries(
        st.lists(st.sampled_from("abcdeé🙂"), min_size=2, max_size=8, unique=True).map("".join),
        st.integers(1, 40),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=100, deadline=None)
def test_merges_equal_those_of_tokenizers(counts: dict[str, int]) -> None:
    """As long as no two pairs tie, the tokenizers library's trainer finds the same merges."""
    encoded = {word.encode(): count for word, count in counts.items()}
    merge_count = max((n for n in range(8) if not slow_merges(encoded, n)[1]), default=0)
    merges = merge_pairs(encoded, merge_count)
    assert fast.merge_pairs(encoded, merge_count) == merges
    assume(merges)
    assert merges == merges_of_tokenizers(counts, len(merges))


def merges_of_tokenizers(counts: dict[str, int], merge_count: int) -> list[Pair]:
    """What the library's trainer merges in a corpus of these words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + merge_count,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    corpus = [word for word, count in counts.items() for _ in range(count)]
    tokenizer.train_from_iterator(corpus, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(as_bytes(left), as_bytes(right)) for left, right in merges]


def as_bytes(token: str) -> bytes:
    """The bytes that the library writes as one printable character each."""
    return bytes(BYTES[letter] for letter in token)


@pytest.mark.parametrize("seed", range(3))
def test_beginnings_of_a_story_have_no_ties(seed: int) -> None:
    """Whatever a trainer does with ties, its first 80 merges are the same."""
    corpus = "\n".join(beginnings(Draws(seed, "beginnings")))
    pretokens = Counter(found.encode() for found in regex.findall(GPT2_PATTERN, corpus))
    merges, tied = slow_merges(pretokens, 80)
    assert len(merges) == 80
    assert not tied


@pytest.mark.parametrize("seed", range(3))
def test_training_on_text(tmp_path: Path, seed: int) -> None:
    """A whole text gives the merges that the slow twin finds in its pre-tokens."""
    draw = Draws(seed, "training on text")
    path = tmp_path / "corpus.txt"
    documents = [*stories(draw, 5), messy(draw, 500), foreign(draw, 200)]
    path.write_bytes(END_OF_TEXT.join(documents).encode())
    pretokens = Counter(
        word.encode() for text in documents for word in regex.findall(GPT2_PATTERN, text)
    )
    trained = train_bpe(path, 317, [END_OF_TEXT])
    assert trained[1] == slow_merges(pretokens, 60)[0]
    assert fast.train_bpe(path, 317, [END_OF_TEXT]) == trained


SPECIALS = ["<|a|>", "<|a|><|a|>", "|>", "aa", "é", *(f"<{number}>" for number in range(100))]
ADVERSARIAL = {
    "one letter": "a" * 10_000,
    "overlaps": "".join("ab" * n + " " + "aab" * n + " " + "aba" * n + "\n" for n in range(40)),
    "ties": " ".join(f"{left}{right}" for left in "abcdefghij" for right in "abcdefghij"),
    "ties of many bytes": "日本 本日 語日 日語 本語 語本 éè èé 🙂🙃 🙃🙂 " * 3,
    "blanks": " \n\t  \r\n\u00a0\u3000   x" * 50,
    "specials": "".join(f"{special}aab{special[:-1]} é" for special in SPECIALS) * 2,
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_training_on_adversarial_text(tmp_path: Path, name: str) -> None:
    """Repeats, overlaps, ties, many bytes a character, many special tokens that overlap."""
    text = ADVERSARIAL[name]
    path = tmp_path / "corpus.txt"
    path.write_bytes(text.encode())
    longest_first = sorted(SPECIALS, key=len, reverse=True)
    pretokens = Counter(
        word.encode()
        for part in regex.split("|".join(map(regex.escape, longest_first)), text)
        for word in regex.findall(GPT2_PATTERN, part)
    )
    expected, _ = slow_merges(pretokens, 200)
    for train in (train_bpe, fast.train_bpe):
        assert train(path, 256 + len(SPECIALS) + 200, SPECIALS, 1)[1] == expected


def test_hash_seed_changes_nothing(tmp_path: Path) -> None:
    """The merges do not depend on the order of sets or dictionaries."""
    path = tmp_path / "corpus.txt"
    path.write_bytes(messy(Draws(0, "hash seed"), 2000).encode())
    program = (
        "import sys; from cs336_basics.train_bpe import train_bpe;"
        "print(train_bpe(sys.argv[1], 400, ['<|endoftext|>'])[1])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, str(path)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
