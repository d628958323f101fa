"""Training and using vocabularies, beside tokenizers and tiktoken."""

from benchmarks.measuring import alone_in_turn, in_turn
from benchmarks.report import Row
from benchmarks.texts import text_file
from cs336_basics.tokenizer import Tokenizer
from tests.vocabularies import gpt2


def training(sizes: list[tuple[str, int, int, int]]) -> list[Row]:
    """Vocabularies from texts: kind and size of the text, size of the vocabulary, rounds."""
    rows = []
    for kind, size, vocab_size, rounds in sizes:
        path = str(text_file(kind, size))
        contenders = {name: [name, path, str(vocab_size)] for name in ("ours", "theirs")}
        costs = alone_in_turn(contenders, rounds)
        what = f"{size / 1e6:.0f} MB of {kind}, {vocab_size:,} tokens"
        rows.append(Row(what, costs["ours"], costs["theirs"]))
    return rows


def encoding(sizes: list[int], rounds: int) -> list[Row]:
    """Texts with GPT-2's vocabulary; each time with a new tokenizer, whose cache is empty."""
    vocabulary = gpt2()
    tiktoken = vocabulary.tiktoken
    rows = []
    for size in sizes:
        text = text_file("docstrings", size).read_text(encoding="utf-8")
        tokenizers = [Tokenizer(vocabulary.tokens, vocabulary.merges) for _ in range(rounds + 1)]
        costs = in_turn(
            {
                "ours": lambda: tokenizers.pop().encode(text),  # noqa: B023 - called at once
                "theirs": lambda: tiktoken.encode_ordinary(text),  # noqa: B023 - called at once
            },
            rounds,
        )
        what = f"{size / 1e6:.0f} MB of docstrings, nothing in the cache"
        rows.append(Row(what, costs["ours"], costs["theirs"]))
    return rows


def one_letter(rounds: int) -> list[Row]:
    """A word of 1 MB beside 1 MB of English, both ours."""
    vocabulary = gpt2()
    tokenizers = [Tokenizer(vocabulary.tokens, vocabulary.merges) for _ in range(2 * rounds + 2)]
    text = text_file("docstrings", 10**6).read_text(encoding="utf-8")
    costs = in_turn(
        {
            "letter": lambda: tokenizers.pop().encode("a" * 10**6),
            "english": lambda: tokenizers.pop().encode(text),
        },
        rounds,
    )
    return [Row("1 MB of one letter", costs["letter"], costs["english"])]
