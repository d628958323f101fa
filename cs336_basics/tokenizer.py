r"""A byte-level BPE tokenizer: text to token ids and back.

Sources: Sennrich et al. (arXiv:1508.07909) for the merges, GPT-2 (Radford et al., 2019) for bytes
and pre-tokens.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat

from cs336_basics.pretokenization import pretokenize, special_token_pattern, without_repeats
from cs336_basics.vocabulary_files import read_files, write_files

# Some 10 MB after English text, 55 MB at the most; longer pre-tokens hardly ever come twice.
CACHE_SIZE = 2**16
CACHED_LENGTH = 32
# A longer unfinished pre-token is looked at again only when it has doubled: its time stays linear.
LONG_PRETOKEN = 4096


class Tokenizer:
    """Encodes with a vocabulary and its merges, as trained by train_bpe.

    Special tokens are kept whole, the longest where several match; those that the vocabulary lacks
    get the ids after its largest one.

    Raises:
        TypeError: the special tokens are a single string.
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
        specials = without_repeats(special_tokens or ())
        self.special_ids = {token: self.add(token.encode()) for token in specials}
        self.special_pattern = special_token_pattern(self.special_ids)
        self.special_beginnings = {
            token[:end] for token in self.special_ids for end in range(1, len(token))
        }
        self.longest_beginning = max(map(len, self.special_beginnings), default=0)
        self.cache: dict[str, list[int]] = {}

    def add(self, token: bytes) -> int:
        """Return the id of a token, or add the token with a new id if it has none."""
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
        """Return the token ids of a text.

        Raises:
            ValueError: the vocabulary lacks a byte of the text.
        """
        # The pattern has one group, so split gives text and special token in turn.
        parts = [text] if self.special_pattern is None else self.special_pattern.split(text)
        ids: list[int] = []
        for index, part in enumerate(parts):
            if index % 2 == 1:
                ids.append(self.special_ids[part])
            else:
                self.encode_pretokens(pretokenize(part), ids)
        return ids

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """Yield the ids that encode returns for the joined texts, wherever they are cut.

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
        """Return the ids that no continuation can change, and the rest of the text."""
        ids: list[int] = []
        start = 0
        open_starts = self.unfinished_special_starts(text)
        while True:
            open_start = next((i for i in open_starts if i >= start), len(text))
            match = self.special_pattern.search(text, start) if self.special_pattern else None
            # From open_start on, a special token that starts earlier or is longer may be coming.
            if match is None or match.start() >= open_start:
                break
            self.encode_pretokens(pretokenize(text[start : match.start()]), ids)
            ids.append(self.special_ids[match.group()])
            start = match.end()
        pretokens, rest = split_certain(text[start:open_start])
        self.encode_pretokens(pretokens, ids)
        return ids, rest + text[open_start:]

    def unfinished_special_starts(self, text: str) -> list[int]:
        """Return the positions where a special token may begin that the text cuts off."""
        first = max(0, len(text) - self.longest_beginning)
        begun = self.special_beginnings
        return [i for i in range(first, len(text)) if text[i] in begun and text[i:] in begun]

    def encode_pretokens(self, pretokens: Iterable[str], ids: list[int]) -> None:
        """Append the ids of each pre-token to ids."""
        for pretoken in pretokens:
            known = self.cache.get(pretoken)
            if known is None:
                known = self.encode_pretoken(pretoken)
                if len(self.cache) >= CACHE_SIZE:
                    self.cache.clear()
                if len(pretoken) <= CACHED_LENGTH:
                    self.cache[pretoken] = known
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
        """Merge the pair of lowest rank, the leftmost of several, until no pair has a rank."""
        parts = [word[i : i + 1] for i in range(len(word))]
        none = len(self.ranks)
        while len(parts) > 1:
            ranks = [*map(self.ranks.get, pairwise(parts), repeat(none))]
            if (lowest := min(ranks)) == none:
                break
            i = ranks.index(lowest)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        return parts

    def decode(self, token_ids: Iterable[int]) -> str:
        """Return the text of the ids, with U+FFFD for bytes that are not UTF-8.

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


def split_certain(segment: str) -> tuple[list[str], str]:
    """Return the pre-tokens that no continuation can change, and the rest of the segment.

    The last pre-token may grow; a run of whitespace at the end is one pre-token, and how it will
    be divided depends on what follows. Of "'l", "'v" and "'r" both pre-tokens may become one.

    >>> split_certain("we  are")
    (['we', ' '], ' are')
    >>> split_certain("we'l")
    (['we'], "'l")
    """
    pretokens = pretokenize(segment)
    unfinished = 2 if pretokens[-2:] in (["'", "l"], ["'", "v"], ["'", "r"]) else 1
    return pretokens[:-unfinished], "".join(pretokens[-unfinished:])
