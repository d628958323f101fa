"""Wrong ways to choose the pair that BPE training merges next."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from .bpe import Pair, Trainer, choose, trainer_mistake


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="of equally frequent pairs the lexicographically least is merged",
    hint="Read the rule for ties again, and try two pairs that occur once each.",
)
def tie_least(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return min(tied)


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="of equally frequent pairs the one counted first is merged",
    hint="The order in which pairs come up in the text must not matter. What does your maximum do "
    "with equals?",
)
def tie_first_counted(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return tied[0]


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="of equally frequent pairs the one counted last is merged",
    hint="The order in which pairs come up in the text must not matter. What does your maximum do "
    "with equals?",
)
def tie_last_counted(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return tied[-1]


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="equally frequent pairs are compared by the ids of their tokens",
    hint="A token that was made later is not a greater one. What are the tokens themselves, and "
    "how do bytes compare?",
)
def tie_by_ids(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: (made[pair[0]], made[pair[1]]))


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="equally frequent pairs are compared by what they make, joined",
    hint="Two pairs may make the same bytes. Compare first with first and, if they are equal, "
    "second with second.",
)
def tie_joined(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: (pair[0] + pair[1], pair))


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="of equally frequent pairs the longest is merged",
    hint="Length does not count. How do bytes compare, and what is a prefix compared with the "
    "whole?",
)
def tie_longest(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: (len(pair[0] + pair[1]), pair))


@trainer_mistake(
    "tie",
    kind="formula",
    wrong="equally frequent pairs are compared by their second token first",
    hint="A pair compares as a tuple does: which of its two tokens comes first?",
)
def tie_second_first(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: pair[::-1])


@trainer_mistake(
    "tie",
    kind="edge",
    wrong="equally frequent pairs are compared as decoded text",
    hint="Half of a character cannot be decoded, and all halves look alike. Compare the bytes.",
)
def tie_decoded(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: tuple(token.decode(errors="replace") for token in pair))


@trainer_mistake(
    "tie",
    kind="edge",
    wrong="equally frequent pairs are compared as they are printed, with escapes",
    hint="Printing puts a backslash before some bytes and quotes around all. Compare the bytes.",
)
def tie_printed(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: (repr(pair[0]), repr(pair[1])))


PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
ALPHABET = [*PRINTABLE, *(byte for byte in range(256) if byte not in PRINTABLE)]


def printable(token: bytes) -> list[int]:
    """The numbers of a token's characters in GPT-2's files."""
    places = map(ALPHABET.index, token)
    return [ALPHABET[i] if i < len(PRINTABLE) else 256 + i - len(PRINTABLE) for i in places]


@trainer_mistake(
    "tie",
    kind="edge",
    wrong="equally frequent pairs are compared in GPT-2's printable alphabet",
    hint="In that alphabet a space is greater than a letter. Compare the bytes.",
)
def tie_printable(tied: list[Pair], made: Mapping[bytes, int]) -> Pair:
    return max(tied, key=lambda pair: (printable(pair[0]), printable(pair[1])))


@trainer_mistake(
    "choose",
    kind="formula",
    wrong="pairs are rated by their frequency divided by that of their halves, as WordPiece does",
    hint="BPE looks at the frequency alone. By what do you divide?",
)
def word_piece_score(
    trainer: Trainer, pairs: Mapping[Pair, int], made: Mapping[bytes, int]
) -> Pair | None:
    firsts: Counter[bytes] = Counter()
    seconds: Counter[bytes] = Counter()
    for (first, second), n in pairs.items():
        firsts[first] += n
        seconds[second] += n
    return max(
        (pair for pair, n in pairs.items() if n > 0),
        key=lambda pair: (Fraction(pairs[pair], firsts[pair[0]] * seconds[pair[1]]), pair),
        default=None,
    )


@trainer_mistake(
    "choose",
    kind="formula",
    wrong="pairs are rated by their frequency times their length",
    hint="BPE looks at the frequency alone, and every merge saves one token wherever it applies.",
)
def bytes_saved(
    trainer: Trainer, pairs: Mapping[Pair, int], made: Mapping[bytes, int]
) -> Pair | None:
    return max(
        (pair for pair, n in pairs.items() if n > 0),
        key=lambda pair: (pairs[pair] * len(pair[0] + pair[1]), pair),
        default=None,
    )


@trainer_mistake(
    "choose",
    kind="edge",
    wrong="training ends when no pair occurs twice",
    hint="A pair that occurs once is a pair. When does the text say that training ends?",
)
def pairs_of_one_refused(
    trainer: Trainer, pairs: Mapping[Pair, int], made: Mapping[bytes, int]
) -> Pair | None:
    best = choose(trainer, pairs, made)
    return best if best is not None and pairs[best] > 1 else None


@trainer_mistake(
    "choose",
    kind="edge",
    wrong="the most frequent pair is looked for although no pair is left",
    hint="A small corpus runs out of pairs before the vocabulary is full. What does your loop do "
    "then?",
)
def no_pairs_unexpected(
    trainer: Trainer, pairs: Mapping[Pair, int], made: Mapping[bytes, int]
) -> Pair | None:
    most = max(n for n in pairs.values() if n > 0)
    return max(pair for pair, n in pairs.items() if n == most)
