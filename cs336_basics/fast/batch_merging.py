"""Apply merges to many words at once, with arrays.

In every round, each unfinished word merges its pair of lowest rank, the leftmost if there are
several. Tokenizer.merge does the same for one word.
"""

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


class BatchMerger:
    """Encodes words with the merges of a tokenizer.

    Args:
        ranks: the merges and their ranks; at least one merge.
        token_ids: the ids of tokens.

    Attributes:
        whole: the ids of the tokens that result from encoding their own bytes: in a trained
            vocabulary, of all tokens. Empty if a merge comes before one that makes its tokens.

    Raises:
        KeyError: a byte, or a token of a merge, has no id.
    """

    def __init__(
        self, ranks: Mapping[tuple[bytes, bytes], int], token_ids: Mapping[bytes, int]
    ) -> None:
        pairs = sorted(ranks, key=ranks.__getitem__)
        tokens = [first + second for first, second in pairs]
        # Tables are indexed by a token's position in token_ids, because ids may be any numbers.
        places = {token: place for place, token in enumerate(token_ids)}
        self.ids = np.array(list(token_ids.values()))
        self.of_byte = np.array([places[bytes([byte])] for byte in range(256)])
        self.merged = np.array([places[token] for token in tokens])
        first, second = (np.array([places[pair[half]] for pair in pairs]) for half in (0, 1))
        self.factor = len(places)
        keys = first * self.factor + second
        self.order = keys.argsort()
        self.keys = keys[self.order]
        # look_up returns this number for a pair that no merge joins.
        self.none = len(pairs)
        # Most look-ups are of pairs of bytes, so a table holds these results.
        bytes_and_bytes = np.meshgrid(self.of_byte, self.of_byte, indexing="ij")
        self.of_bytes = self.look_up(*bytes_and_bytes)
        made = np.full(self.factor, -1)  # the place of the merge that makes each token
        made[self.merged] = np.arange(len(pairs))
        parts_made = np.maximum(made[first], made[second])
        in_order = (parts_made < np.arange(len(pairs))).all()
        self.whole: dict[bytes, int] = {}
        if in_order and np.count_nonzero(made >= 0) == len(pairs):
            reached = self.reached(first, second, made)
            ids = self.ids[self.merged].tolist()
            self.whole = dict(compress(zip(tokens, ids, strict=True), reached))

    def look_up(self, first: Integers, second: Integers) -> Integers:
        """Return the index of each pair among the merges, or self.none."""
        keys = first * self.factor + second
        places = self.keys.searchsorted(keys)
        places[places == len(self.keys)] = 0
        return np.where(self.keys[places] == keys, self.order[places], self.none)

    def reached(self, first: Integers, second: Integers, made: Integers) -> Booleans:
        """Find the merges whose token results from encoding that token's own bytes.

        Both halves of the token must result from their own bytes, and no earlier merge may join two
        tokens across the border between them. The loop goes back in time: it splits the later of
        the two tokens at the border, until both are bytes.
        """
        merge = left_end = right_end = np.arange(len(first))  # the merges that end the parts
        left, right = first, second
        reached = np.ones(len(first), dtype=bool)
        while len(merge):
            across = self.look_up(left, right)
            # Of equal pairs the one to the left comes first.
            reached[merge[(across < left_end) & (across <= right_end)]] = False
            apart = made[left] > made[right]
            left_end, right_end = (
                np.where(apart, made[left], left_end),
                np.where(apart, right_end, made[right]),
            )
            open_ends = np.maximum(made[left], made[right]) >= 0
            left = np.where(apart, second[left_end], left)
            right = np.where(apart, right, first[right_end])
            merge, left, right, left_end, right_end = (
                array[open_ends] for array in (merge, left, right, left_end, right_end)
            )
        of_token = np.zeros(self.factor, dtype=bool)
        of_token[self.of_byte] = True
        while not np.array_equal(of_token[self.merged], reached):
            of_token[self.merged] = reached
            reached = reached & of_token[first] & of_token[second]
        return reached

    def encode(self, words: Sequence[bytes]) -> list[list[int]]:
        """Return the token ids of each word. No word may be empty."""
        found = [self.whole.get(word) for word in words]
        others = [word for word, token_id in zip(words, found, strict=True) if token_id is None]
        merged = iter(self.merge(others) if others else ())
        return [next(merged) if token_id is None else [token_id] for token_id in found]

    def merge(self, words: Sequence[bytes]) -> list[list[int]]:
        """Merge the bytes of at least one word, none empty, and return the token ids of each."""
        sizes = np.array([len(word) for word in words])
        letters = np.frombuffer(b"".join(words), dtype=np.uint8)
        tokens = self.of_byte[letters]
        owners = np.repeat(np.arange(len(words)), sizes)
        ranks = np.full(len(tokens), self.none)
        ranks[:-1] = self.of_bytes[letters[:-1], letters[1:]]
        ranks[sizes.cumsum() - 1] = self.none  # no pair begins with the last token of a word
        finished = []
        while True:
            best = np.minimum.reduceat(ranks, sizes.cumsum() - sizes)
            unfinished = np.repeat(best < self.none, sizes)
            finished.append((tokens[~unfinished], owners[~unfinished]))
            if not unfinished.any():
                break
            tokens, owners, ranks = tokens[unfinished], owners[unfinished], ranks[unfinished]
            best, sizes = best[best < self.none], sizes[best < self.none]
            places = np.flatnonzero(ranks == np.repeat(best, sizes))
            places = places[np.diff(owners[places], prepend=-1) > 0]
            tokens[places] = self.merged[best]
            kept = np.ones(len(tokens), dtype=bool)
            kept[places + 1] = False
            tokens, owners, ranks = tokens[kept], owners[kept], ranks[kept]
            sizes -= 1
            self.rank_anew(tokens, owners, ranks, places - np.arange(len(places)))
        return self.by_word(finished, len(words))

    def rank_anew(
        self, tokens: Integers, owners: Integers, ranks: Integers, places: Integers
    ) -> None:
        """Look up the ranks of the pairs that contain the new tokens at these positions."""
        ranks[places] = self.none
        begins = np.concatenate((places - 1, places))
        begins = begins[(begins >= 0) & (begins + 1 < len(tokens))]
        begins = begins[owners[begins] == owners[begins + 1]]
        ranks[begins] = self.look_up(tokens[begins], tokens[begins + 1])

    def by_word(self, finished: list[tuple[Integers, Integers]], num_words: int) -> list[list[int]]:
        """Group the tokens of all words, which were finished in different rounds, by word."""
        tokens, owners = (np.concatenate(parts) for parts in zip(*finished, strict=True))
        ids = self.ids[tokens[owners.argsort(kind="stable")]].tolist()
        ends = np.bincount(owners, minlength=num_words).cumsum().tolist()
        return [ids[start:end] for start, end in zip([0, *ends], ends, strict=False)]
