"""Wrong ways to count pairs, to keep the counts, and to merge in BPE training."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from .bpe import (
    EVERY_BYTE,
    Pair,
    Trainer,
    Word,
    count,
    merge,
    number,
    room,
    trainer_mistake,
    update,
)
from .catalogue import mistake
from .parts import Parts


@trainer_mistake(
    "pairs_of",
    kind="formula",
    wrong="a pair counts once a word, however often the word holds it",
    hint="How often does a word of three equal halves hold the pair in a half?",
)
def once_a_word(word: Word) -> Counter[Pair]:
    return Counter(set(pairwise(word)))


@trainer_mistake(
    "pairs_of",
    kind="formula",
    wrong="only every other occurrence of a pair that overlaps itself is counted",
    hint="In three equal letters there are two pairs of neighbours, although only one can be "
    "merged.",
)
def overlaps_skipped(word: Word) -> Counter[Pair]:
    found: Counter[Pair] = Counter()
    last: dict[Pair, int] = {}
    for i, pair in enumerate(pairwise(word)):
        if last.get(pair) != i - 1:
            found[pair] += 1
            last[pair] = i
    return found


@trainer_mistake(
    "count",
    kind="formula",
    wrong="every distinct word counts once, however often it occurs",
    hint="How often does the corpus hold each word? The frequency of a pair depends on it.",
)
def words_count_once(trainer: Trainer, path: Path, special_tokens: Sequence[str]) -> Counter[str]:
    return Counter(dict.fromkeys(count(trainer, path, special_tokens), 1))


@trainer_mistake(
    "merge",
    kind="formula",
    wrong="only the first occurrence of a pair in a word is merged",
    hint="Take a word that holds a pair twice. What is it after the merge?",
)
def first_occurrence_merged(word: Word, pair: Pair) -> Word:
    i = next((i for i in range(len(word)) if word[i : i + 2] == pair), None)
    return word if i is None else (*word[:i], pair[0] + pair[1], *word[i + 2 :])


@trainer_mistake(
    "merge",
    kind="formula",
    wrong="pairs are merged from right to left",
    hint="In three equal letters there are two places for the pair. Which one does the text take?",
)
def from_right_to_left(word: Word, pair: Pair) -> Word:
    parts: list[bytes] = []
    i = len(word)
    while i > 0:
        joined = word[max(0, i - 2) : i] == pair
        parts.append(pair[0] + pair[1] if joined else word[i - 1])
        i -= 2 if joined else 1
    return tuple(reversed(parts))


@trainer_mistake(
    "merge",
    kind="formula",
    wrong="tokens that only end and begin like the pair are joined, too",
    hint="A token is equal to the pair's half or it is not. Is text replaced without regard to "
    "where tokens end?",
)
def ends_and_beginnings_joined(word: Word, pair: Pair) -> Word:
    parts = [word[0]]
    for token in word[1:]:
        if parts[-1].endswith(pair[0]) and token.startswith(pair[1]):
            parts[-1] += token
        else:
            parts.append(token)
    return tuple(parts)


@trainer_mistake(
    "merge",
    kind="formula",
    wrong="a token that was just made is joined again by the same merge",
    hint="One merge makes tokens out of two that were there before it. From which list do you read "
    "the next token?",
)
def merged_again(word: Word, pair: Pair) -> Word:
    parts: list[bytes] = []
    for token in merge(word, pair):
        if len(parts) > 0 and parts[-1] == token == pair[0] + pair[1]:
            parts[-1] += token
        else:
            parts.append(token)
    return tuple(parts)


@trainer_mistake(
    "update",
    kind="formula",
    wrong="pairs that a merge destroys keep their counts",
    hint="When two tokens become one, which pairs with their neighbours are no longer there?",
)
def destroyed_pairs_stay(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    for other in pairwise(new):
        if pair[0] + pair[1] in other:
            pairs[other] += times


@trainer_mistake(
    "update",
    kind="formula",
    wrong="the pair with the neighbour on the right keeps its count after a merge",
    hint="A merge destroys the pairs on both its sides. Which one do you take off?",
)
def right_neighbour_stays(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    update(trainer, pairs, old, new, pair, times)
    for i, other in enumerate(pairwise(old)):
        if i > 0 and old[i - 1 : i + 1] == pair and other != pair:
            pairs[other] += times


@trainer_mistake(
    "update",
    kind="formula",
    wrong="the pair with the neighbour on the left keeps its count after a merge",
    hint="A merge destroys the pairs on both its sides. Which one do you take off?",
)
def left_neighbour_stays(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    update(trainer, pairs, old, new, pair, times)
    for i, other in enumerate(pairwise(old)):
        if old[i + 1 : i + 3] == pair and other != pair:
            pairs[other] += times


@trainer_mistake(
    "update",
    kind="formula",
    wrong="pairs that a merge creates are not counted",
    hint="The new token has neighbours. Which pairs does it make with them?",
)
def created_pairs_not_counted(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    update(trainer, pairs, old, new, pair, times)
    for other in pairwise(new):
        if pair[0] + pair[1] in other:
            del pairs[other]


@trainer_mistake(
    "update",
    kind="edge",
    wrong="two merges side by side each take their neighbours from the word as it was before both",
    hint="Merge by hand in a word such as abab: the second merge has the token of the first on its "
    "left.",
)
def neighbours_of_the_old_word(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    made = pair[0] + pair[1]
    i = 0
    while i + 1 < len(old):
        if old[i : i + 2] != pair:
            i += 1
            continue
        if i > 0:
            pairs[old[i - 1], pair[0]] -= times
            pairs[old[i - 1], made] += times
        if i + 2 < len(old):
            pairs[pair[1], old[i + 2]] -= times
            pairs[made, old[i + 2]] += times
        i += 2


@trainer_mistake(
    "update",
    kind="formula",
    wrong="words' counts are forgotten once they have been merged, and each change counts 1",
    hint="A word that occurs seven times changes each count by seven.",
)
def changes_count_once(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    update(trainer, pairs, old, new, pair, 1)


@trainer_mistake(
    "room",
    kind="formula",
    wrong="special tokens are not counted in the size of the vocabulary",
    hint="Of what does the vocabulary consist? Count its entries.",
)
def special_tokens_beside_the_size(vocab_size: int, special_tokens: Sequence[str]) -> int:
    return vocab_size - 256


@trainer_mistake(
    "room",
    kind="formula",
    wrong="there is one merge too few",
    hint="Count the entries of the vocabulary: are there as many as were asked for?",
)
def one_merge_too_few(vocab_size: int, special_tokens: Sequence[str]) -> int:
    return room(vocab_size, special_tokens) - 1


@trainer_mistake(
    "room",
    kind="formula",
    wrong="there is one merge too many",
    hint="Count the entries of the vocabulary: are there more than were asked for?",
)
def one_merge_too_many(vocab_size: int, special_tokens: Sequence[str]) -> int:
    return room(vocab_size, special_tokens) + 1


@mistake(
    "train_bpe",
    "run_train_bpe",
    kind="laziness",
    wrong="the words of an earlier training are counted again",
    hint="Train on two corpora in one program. What is a global, an attribute of the class, or a "
    "default argument that is changed?",
)
def words_of_earlier_trainings(
    parts: Parts, input_path: Path, vocab_size: int, special_tokens: list[str]
) -> Any:
    earlier: Counter[str] = parts.kept.setdefault("counts", Counter())

    def all_counts(trainer: Trainer, path: Path, special_tokens: Sequence[str]) -> Counter[str]:
        earlier.update(count(trainer, path, special_tokens))
        return earlier

    return Trainer(count=all_counts).train(input_path, vocab_size, special_tokens)


@trainer_mistake(
    "update",
    kind="edge",
    wrong="a pair of two new tokens is counted twice, once from each of them",
    hint="Merge by hand in a word such as abab. How many pairs are left, and which of its two "
    "tokens adds it to the counts?",
)
def counted_from_both_sides(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    update(trainer, pairs, old, new, pair, times)
    made = pair[0] + pair[1]
    pairs[made, made] += times * list(pairwise(new)).count((made, made))


@trainer_mistake(
    "update",
    kind="edge",
    wrong="a pair whose count has fallen is never merged",
    hint="A merge may take some occurrences of another pair and leave the rest. What does your "
    "code do with a pair whose stored count is out of date?",
)
def fallen_counts_forgotten(
    trainer: Trainer, pairs: Counter[Pair], old: Word, new: Word, pair: Pair, times: int
) -> None:
    update(trainer, pairs, old, new, pair, times)
    for other in set(pairwise(old)) - set(pairwise(new)):
        pairs[other] = min(pairs[other], 0)


@mistake(
    "train_bpe",
    "run_train_bpe",
    kind="laziness",
    wrong="the merges are the same whatever the corpus holds",
    hint="Train on two corpora that have no letter in common. Where is the corpus read?",
)
def corpus_ignored(input_path: Path, vocab_size: int, special_tokens: list[str]) -> Any:
    merges = [(EVERY_BYTE[i // 256], EVERY_BYTE[i % 256]) for i in range(256**2)]
    merges = merges[: room(vocab_size, special_tokens)]
    return number(special_tokens, merges, []), merges
