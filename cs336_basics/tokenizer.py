r"""A byte-level BPE tokenizer: text to token ids and back.

Sources: Sennrich et al. (arXiv:1508.07909) for the merges, GPT-2 (Radford et al., 2019) for bytes
and pre-tokens.
"""

import heapq
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice

from cs336_basics.batch_merging import BatchMerger
from cs336_basics.pretokenization import pretokenize, special_token_pattern
from cs336_basics.vocabulary_files import read_files, write_files

# Some 10 MB after English text, 55 MB at the most; longer pre-tokens hardly ever come twice.
CACHE_SIZE = 2**16
CACHED_LENGTH = 32
# In a text of so many characters, pre-tokens that are new are worth encoding side by side.
LONG_TEXT = 2**17
# So many pre-tokens are looked at together.
TOGETHER = 2**18

# An unfinished pre-token of more characters is looked at again only when it has doubled, so that
# the time for it grows with its length and not with the square.
LONG_PRETOKEN = 4096


class Tokenizer:
    """Encodes with a vocabulary and its merges, as trained by train_bpe.

    Special tokens are kept whole, the longest where several match; those that the vocabulary lacks
    get the ids after its largest one.

    Raises:
        ValueError: a special token is empty.
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Iterable[tuple[bytes, bytes]],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        self.vocab = dict(vocab)
        self.merges = [(first, second) for first, second in merges]
        self.ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self.token_ids = {token: token_id for token_id, token in self.vocab.items()}
        self.special_ids = {token: self.add(token.encode()) for token in special_tokens or ()}
        self.special_pattern = special_token_pattern(self.special_ids)
        self.special_beginnings = {
            token[:end] for token in self.special_ids for end in range(1, len(token))
        }
        self.longest_beginning = max(map(len, self.special_beginnings), default=0)
        self.cache: dict[str, list[int]] = {}

    @cached_property
    def in_order(self) -> bool:
        """Whether no merge makes a part of itself or of an earlier one, as in trained vocabularies.

        Then what is made is merged later than what made it.
        """
        made: set[bytes] = set()
        for first, second in reversed(self.merges):
            made.add(first + second)
            if first in made or second in made:
                return False
        return True

    @cached_property
    def batch_merger(self) -> BatchMerger | None:
        """The same merges for many words at once, where every token that they need has an id.

        Made for the first long text: it takes as long as encoding half a megabyte.
        """
        try:
            return BatchMerger(self.ranks, self.token_ids) if self.ranks else None
        except KeyError:
            return None

    def add(self, token: bytes) -> int:
        """The id of a token, a new one if the vocabulary lacks it."""
        if token not in self.token_ids:
            self.token_ids[token] = max(self.vocab, default=-1) + 1
            self.vocab[self.token_ids[token]] = token
        return self.token_ids[token]

    @classmethod
    def from_files(
        cls,
        vocab_path: str | os.PathLike[str],
        merges_path: str | os.PathLike[str],
        special_tokens: Sequence[str] | None = None,
    ) -> "Tokenizer":
        """Read what save wrote, or GPT-2's own files.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: a file is damaged, or the two do not belong together.
        """
        return cls(*read_files(vocab_path, merges_path), special_tokens)

    def save(self, vocab_path: str | os.PathLike[str], merges_path: str | os.PathLike[str]) -> None:
        """Write files in GPT-2's format (see vocabulary_files).

        Raises:
            ValueError: two ids stand for the same bytes, which the format cannot express.
        """
        write_files(self.vocab, self.merges, vocab_path, merges_path)

    def encode(self, text: str) -> list[int]:
        """The token ids of a text.

        Raises:
            ValueError: the vocabulary lacks a byte of the text.
        """
        # The pattern has one group, so split gives text and special token in turn.
        parts = [text] if self.special_pattern is None else self.special_pattern.split(text)
        if len(text) >= LONG_TEXT and self.batch_merger is not None:
            return self.encode_long(parts, self.batch_merger)
        ids: list[int] = []
        for index, part in enumerate(parts):
            if index % 2 == 1:
                ids.append(self.special_ids[part])
            else:
                self.encode_pretokens(chain.from_iterable(pretokenize(part)), ids)
        return ids

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """The ids that encode gives for all the texts joined, wherever they are cut.

        Reads one text at a time and holds back no more than its last pre-token, which may grow,
        and what may become a special token.
        """
        pieces: list[str] = []
        held = wanted = 0
        for text in texts:
            pieces.append(text)
            held += len(text)
            if held >= wanted:
                ids, rest = self.encode_certain("".join(pieces))
                yield from ids
                pieces, held = [rest], len(rest)
                wanted = 2 * held if held > LONG_PRETOKEN else 0
        yield from self.encode("".join(pieces))

    def encode_certain(self, text: str) -> tuple[list[int], str]:
        """The ids that no continuation of the text can change, and the rest of the text."""
        ids: list[int] = []
        start = 0
        open_starts = self.unfinished_special_starts(text)
        while True:
            open_start = next((i for i in open_starts if i >= start), len(text))
            match = self.special_pattern.search(text, start) if self.special_pattern else None
            # From open_start on, a special token that starts earlier or is longer may be coming.
            if match is None or match.start() >= open_start:
                break
            before = pretokenize(text[start : match.start()])
            self.encode_pretokens(chain.from_iterable(before), ids)
            ids.append(self.special_ids[match.group()])
            start = match.end()
        pretokens, rest = split_certain(text[start:open_start])
        self.encode_pretokens(pretokens, ids)
        return ids, rest + text[open_start:]

    def unfinished_special_starts(self, text: str) -> list[int]:
        """Where a special token may have begun that the text does not hold to its end."""
        first = max(0, len(text) - self.longest_beginning)
        begun = self.special_beginnings
        # A look at one letter spares most places the copy of all that follows.
        return [i for i in range(first, len(text)) if text[i] in begun and text[i:] in begun]

    def encode_long(self, parts: Iterable[str], merger: BatchMerger) -> list[int]:
        """The ids of text and special token in turn."""
        # No pre-token holds a special token, so that both can be looked up in one table.
        pieces = ([[part]] if i % 2 else pretokenize(part) for i, part in enumerate(parts))
        pretokens = chain.from_iterable(chain.from_iterable(pieces))
        ids: list[int] = []
        while found := self.encode_together(islice(pretokens, TOGETHER), merger):
            ids += chain.from_iterable(found)
        return ids

    def encode_together(self, pretokens: Iterable[str], merger: BatchMerger) -> list[list[int]]:
        """The ids of each pre-token and special token; those that are new side by side."""
        # A copy, for threads that share a tokenizer must not see lists that are still empty.
        table = defaultdict(list, self.cache)
        table.update((token, [token_id]) for token, token_id in self.special_ids.items())
        num_known = len(table)
        found = list(map(table.__getitem__, pretokens))
        new = dict(islice(reversed(table.items()), len(table) - num_known))
        short = [pretoken for pretoken in new if len(pretoken) <= CACHED_LENGTH]
        encoded = merger.encode([pretoken.encode("utf-8") for pretoken in short])
        for pretoken, ids in zip(short, encoded, strict=True):
            new[pretoken].extend(ids)
        for pretoken in new.keys() - set(short):
            new[pretoken].extend(self.encode_pretoken(pretoken))
        if len(self.cache) + len(short) > CACHE_SIZE:
            self.cache.clear()
        self.cache.update((pretoken, new[pretoken]) for pretoken in short[:CACHE_SIZE])
        return found

    def encode_pretokens(self, pretokens: Iterable[str], ids: list[int]) -> None:
        """Append the ids of each pre-token to ids."""
        cache = self.cache
        for pretoken in pretokens:
            known = cache.get(pretoken)
            if known is None:
                known = self.encode_pretoken(pretoken)
                if len(pretoken) <= CACHED_LENGTH:
                    if len(cache) >= CACHE_SIZE:
                        cache.clear()
                    cache[pretoken] = known
            ids += known

    def encode_pretoken(self, pretoken: str) -> list[int]:
        """Merge the bytes of one pre-token and look up what is left."""
        try:
            return [self.token_ids[part] for part in self.merge(pretoken.encode("utf-8"))]
        except KeyError as error:
            raise ValueError(
                f"the vocabulary has no token {error} and cannot encode {pretoken!r}"
            ) from error

    def merge(self, word: bytes) -> list[bytes]:
        """Merge the pair of lowest rank, the leftmost of several, until no pair has a rank.

        Places are kept by rank, and neighbours linked, so that a word of n bytes takes O(n log n).
        """
        parts = [word[i : i + 1] for i in range(len(word))]
        after = list(range(1, len(parts) + 1))
        before = list(range(-1, len(parts)))
        places: defaultdict[int, list[int]] = defaultdict(list)
        waiting: list[int] = []
        begins: Iterable[int] = range(len(parts) - 1)
        while True:
            for i in begins:
                rank = self.ranks.get((parts[i], parts[after[i]]))
                if rank is not None:
                    if rank not in places:
                        heapq.heappush(waiting, rank)
                    places[rank].append(i)
            if not waiting:
                return [part for part in parts if part]
            rank = heapq.heappop(waiting)
            found = sorted(places.pop(rank))
            if not self.in_order and len(found) > 1:  # a pair that is new may come before the rest
                found, places[rank] = found[:1], found[1:]
                heapq.heappush(waiting, rank)
            begins = merge_at(found, self.merges[rank], parts, after, before)

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of the ids, with U+FFFD for bytes that are no UTF-8.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        try:
            data = b"".join([self.vocab[token_id] for token_id in token_ids])
        except KeyError as error:
            raise ValueError(
                f"token id {error} is not in the vocabulary of {len(self.vocab)} tokens"
            ) from error
        return data.decode("utf-8", errors="replace")


def merge_at(
    places: Iterable[int],
    pair: tuple[bytes, bytes],
    parts: list[bytes],
    after: list[int],
    before: list[int],
) -> list[int]:
    """Merge a pair where it still stands and return where the pairs of what it makes begin.

    Args:
        places: Where the pair has stood, from left to right.
        pair: Its two halves.
        parts: The word; a part that another has swallowed is empty.
        after: Where the part after each begins, the length of parts where there is none.
        before: Where the part before each begins, -1 where there is none.
    """
    first, second = pair
    both = first + second
    end = len(parts)
    last = -1
    begins: list[int] = []
    for i in places:
        j = after[i]
        if j < end and parts[i] == first and parts[j] == second:
            parts[i], parts[j] = both, b""
            after[i] = after[j]
            before[after[i]] = i
            if before[i] > last:  # otherwise that pair is known by its first half
                begins.append(before[i])
            begins.append(i)
            last = i
    return [i for i in begins if after[i] < end]


def split_certain(segment: str) -> tuple[list[str], str]:
    """The pre-tokens of a segment that no continuation can change, and the rest of the segment.

    The last pre-token may grow; a run of whitespace at the end is one pre-token, and how it will
    be divided depends on what follows. Of "'l", "'v" and "'r" both pre-tokens may become one.

    >>> split_certain("we  are")
    (['we', ' '], ' are')
    >>> split_certain("we'l")
    (['we'], "'l")
    """
    pretokens = list(chain.from_iterable(pretokenize(segment)))
    unfinished = 2 if pretokens[-2:] in (["'", "l"], ["'", "v"], ["'", "r"]) else 1
    return pretokens[:-unfinished], "".join(pretokens[-unfinished:])
