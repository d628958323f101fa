"""Training and using vocabularies, beside tokenizers and tiktoken."""

import sys

import numpy as np
import tiktoken

from benchmarks.measuring import alone_in_turn, in_turn
from benchmarks.report import Row, grid, mebibytes
from benchmarks.texts import text_file
from cs336_basics.fast.tokenizer import FastTokenizer
from cs336_basics.tokenizer import CACHE_SIZE, CACHED_LENGTH, Tokenizer
from tests.vocabularies import GPT2_PATTERN, Vocabulary, gpt2


def made_ready(vocabulary: Vocabulary) -> FastTokenizer:
    """A tokenizer with all that it computes from a vocabulary, once, and an empty cache."""
    tokenizer = FastTokenizer(vocabulary.tokens, vocabulary.merges)
    if tokenizer.batch_merger is None:
        raise ValueError("the vocabulary lacks tokens that its merges make")
    return tokenizer


def training(sizes: list[tuple[str, int, int, int]]) -> list[Row]:
    """Vocabularies from texts: kind and size of the text, size of the vocabulary, rounds."""
    rows = []
    for kind, size, vocab_size, rounds in sizes:
        path = str(text_file(kind, size))
        names = ("fast", "plain", "theirs")
        costs = alone_in_turn({name: [name, path, str(vocab_size)] for name in names}, rounds)
        what = f"{size / 1e6:.0f} MB of {kind}, {vocab_size:,} tokens"
        rows += [Row(f"{what}, {name}", costs[name], costs["theirs"]) for name in names[:2]]
    return rows


def encoding(sizes: list[int], rounds: int) -> list[Row]:
    """Texts with GPT-2's vocabulary; each time with a new tokenizer, whose cache is empty."""
    vocabulary = gpt2()
    oracle = vocabulary.tiktoken
    rows = []
    for size in sizes:
        text = text_file("docstrings", size).read_text(encoding="utf-8")
        tokenizers = [made_ready(vocabulary) for _ in range(rounds + 1)]
        plain = [Tokenizer(vocabulary.tokens, vocabulary.merges) for _ in range(rounds + 1)]
        costs = in_turn(
            {
                "fast": lambda: tokenizers.pop().encode(text),  # noqa: B023 - called at once
                "plain": lambda: plain.pop().encode(text),  # noqa: B023 - called at once
                "theirs": lambda: oracle.encode_ordinary(text),  # noqa: B023 - called at once
            },
            rounds,
        )
        what = f"{size / 1e6:.0f} MB of docstrings, nothing in the cache"
        rows += [Row(f"{what}, {name}", costs[name], costs["theirs"]) for name in ("fast", "plain")]
    return rows


def making_ready(rounds: int) -> list[Row]:
    """What is computed from GPT-2's vocabulary before a text is encoded."""
    vocabulary = gpt2()
    ranks = {vocabulary.tokens[token_id]: token_id for token_id in vocabulary.tokens}
    costs = in_turn(
        {
            "ours": lambda: made_ready(vocabulary),
            "theirs": lambda: tiktoken.Encoding(
                "made here", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={}
            ),
        },
        rounds,
    )
    return [Row("the tables of 50,256 tokens", costs["ours"], costs["theirs"])]


def caches() -> str:
    """What remains in the cache after a text, and at the most."""
    vocabulary = gpt2()
    letters = np.random.default_rng(0).integers(97, 123, (CACHE_SIZE - 1, CACHED_LENGTH - 1))
    words = (bytes(word).decode("ascii") for word in letters.tolist())
    texts = {
        "10 MB of docstrings": text_file("docstrings", 10**7).read_text(encoding="utf-8"),
        "10 MB of sources": text_file("sources", 10**7).read_text(encoding="utf-8"),
        "random words of the longest kind that is kept": " ".join(words),
    }
    rows = []
    for what, text in texts.items():
        tokenizer = made_ready(vocabulary)
        tokenizer.encode(text)
        size = sys.getsizeof(tokenizer.cache) + sum(
            sum(map(sys.getsizeof, (pretoken, ids, *ids)))
            for pretoken, ids in tokenizer.cache.items()
        )
        rows.append((what, f"{len(tokenizer.cache):,}", mebibytes(size / 2**20)))
    return grid(("after", "pre-tokens in the cache", "memory"), rows)


def one_letter(rounds: int) -> list[Row]:
    """A word of 1 MB beside 1 MB of English, both ours."""
    vocabulary = gpt2()
    tokenizers = [made_ready(vocabulary) for _ in range(2 * rounds + 2)]
    text = text_file("docstrings", 10**6).read_text(encoding="utf-8")
    costs = in_turn(
        {
            "letter": lambda: tokenizers.pop().encode("a" * 10**6),
            "english": lambda: tokenizers.pop().encode(text),
        },
        rounds,
    )
    return [Row("1 MB of one letter", costs["letter"], costs["english"])]
