"""Wrong ways to apply merges, and to give ids; the tokenizer that mistakes are made from."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from cs336_basics.pretokenization import PRETOKEN
from cs336_basics.tokenizer import Tokenizer
from cs336_checks.catalogue import Kind

from .catalogue import mistake
from .parts import Parts

# Of the pre-tokens at the end of a text, so many may become others when it goes on.
UNCERTAIN = 2

Vocabulary = dict[int, bytes]
Pair = tuple[bytes, bytes]
T = TypeVar("T", bound=type[Tokenizer])


class Pieces(Tokenizer):
    """The reference's tokenizer, with pre-tokenization as a method of its own."""

    def pretokens(self, text: str) -> Iterable[str]:
        """What merges do not cross."""
        return PRETOKEN.findall(text)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        parts = [text] if self.special_pattern is None else self.special_pattern.split(text)
        for index, part in enumerate(parts):
            if index % 2 == 1:
                ids.append(self.special_ids[part])
            else:
                self.encode_pretokens(self.pretokens(part), ids)
        return ids

    def encode_certain(self, text: str) -> tuple[list[int], str]:
        ids: list[int] = []
        start = 0
        open_starts = self.unfinished_special_starts(text)
        while True:
            open_start = next((i for i in open_starts if i >= start), len(text))
            match = self.special_pattern.search(text, start) if self.special_pattern else None
            if match is None or match.start() >= open_start:
                break
            self.encode_pretokens(self.pretokens(text[start : match.start()]), ids)
            ids.append(self.special_ids[match.group()])
            start = match.end()
        pretokens = list(self.pretokens(text[start:open_start]))
        self.encode_pretokens(pretokens[:-UNCERTAIN], ids)
        return ids, "".join(pretokens[-UNCERTAIN:]) + text[open_start:]

    def encode_pretokens(self, pretokens: Iterable[str], ids: list[int]) -> None:
        for pretoken in pretokens:
            # Of any length, because most mistakes need the square of it.
            if pretoken not in self.cache:
                self.cache[pretoken] = self.encode_pretoken(pretoken)
            ids += self.cache[pretoken]


def tokenizer_mistake(*, kind: Kind, wrong: str, hint: str) -> Callable[[T], T]:
    """Enter the tokenizer below, under its name in small letters."""

    def enter(tokenizer: T) -> T:
        def adapter(
            vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
        ) -> Tokenizer:
            return tokenizer(vocab, merges, special_tokens)

        adapter.__name__ = re.sub("(?<!^)(?=[A-Z])", "_", tokenizer.__name__).lower()
        mistake("tokenizer", "get_tokenizer", kind=kind, wrong=wrong, hint=hint)(adapter)
        return tokenizer

    return enter


def bytes_of(word: bytes) -> list[bytes]:
    """Each byte by itself."""
    return [word[i : i + 1] for i in range(len(word))]


def join_best(parts: list[bytes], rating: Callable[[bytes, bytes, int], Any | None]) -> list[bytes]:
    """Join the pair rated lowest until none is rated; the rating is told the place as well."""
    while True:
        rated = [
            (rate, i)
            for i, pair in enumerate(pairwise(parts))
            if (rate := rating(*pair, i)) is not None
        ]
        if not rated:
            return parts
        _, i = min(rated)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


@tokenizer_mistake(
    kind="formula",
    wrong="the first pair from the left that can be merged is merged, whatever its rank",
    hint="Merges are applied in the order in which training made them. Which one comes first in "
    "your loop?",
)
class LeftmostPairFirst(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        return join_best(bytes_of(word), lambda a, b, i: i if (a, b) in self.ranks else None)


@tokenizer_mistake(
    kind="formula",
    wrong="the pair of the latest merge is merged first",
    hint="Merges are applied in the order in which training made them. Do you look for the lowest "
    "rank or the highest?",
)
class LatestMergeFirst(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        ranks = self.ranks
        return join_best(bytes_of(word), lambda a, b, _: -ranks[a, b] if (a, b) in ranks else None)


@tokenizer_mistake(
    kind="formula",
    wrong="the longest token that fits is taken, from left to right, without merges",
    hint="BPE builds a word up from its bytes with merges in their order. The result may have "
    "shorter tokens than the longest match.",
)
class LongestTokenFirst(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        parts: list[bytes] = []
        while word:
            ends = range(len(word), 0, -1)
            end = next((end for end in ends if word[:end] in self.token_ids), 1)
            parts.append(word[:end])
            word = word[end:]
        return parts


@tokenizer_mistake(
    kind="edge",
    wrong="merges are ordered by the ids of what they make",
    hint="Ids may be given in any order. Which of the things you are given says in what order "
    "merges were made?",
)
class ByTokenId(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        return join_best(bytes_of(word), lambda a, b, _: self.token_ids.get(a + b))


@tokenizer_mistake(
    kind="edge",
    wrong="of equal pairs the rightmost is merged first",
    hint="In three equal letters there are two places for the pair. Which one does training take?",
)
class RightmostFirst(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        ranks = self.ranks
        return join_best(
            bytes_of(word), lambda a, b, i: (ranks[a, b], -i) if (a, b) in ranks else None
        )


@tokenizer_mistake(
    kind="formula",
    wrong="each merge is applied once in a word, at the first place",
    hint="Take a word that holds a pair twice. How many of them are merged?",
)
class FirstPlaceOnly(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        used: set[Pair] = set()

        def rating(a: bytes, b: bytes, i: int) -> int | None:
            return self.ranks.get((a, b)) if (a, b) not in used else None

        parts = bytes_of(word)
        while True:
            rated = [
                (rate, i)
                for i, (a, b) in enumerate(pairwise(parts))
                if (rate := rating(a, b, i)) is not None
            ]
            if not rated:
                return parts
            _, i = min(rated)
            used.add((parts[i], parts[i + 1]))
            parts[i : i + 2] = [parts[i] + parts[i + 1]]


@tokenizer_mistake(
    kind="formula",
    wrong="only bytes are merged, and what they make is not merged again",
    hint="A merge may join what merges before it made. When does your loop end?",
)
class BytesMergedOnly(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        def rating(a: bytes, b: bytes, _: int) -> int | None:
            return self.ranks.get((a, b)) if len(a) == len(b) == 1 else None

        return join_best(bytes_of(word), rating)


@tokenizer_mistake(
    kind="edge",
    wrong="the merges start from characters, not from bytes",
    hint="Of how many bytes does é consist, and which merges join them? Not every character is a "
    "token.",
)
class Characters(Pieces):
    def merge(self, word: bytes) -> list[bytes]:
        parts = [character.encode("utf-8") for character in word.decode("utf-8")]
        return join_best(parts, lambda a, b, _: self.ranks.get((a, b)))


@tokenizer_mistake(
    kind="laziness",
    wrong="ids are numbered anew in the order of the vocabulary, and its own are ignored",
    hint="The vocabulary leads from ids to tokens. Do you turn it round or count it?",
)
class IdsCounted(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(dict(enumerate(vocab.values())), merges, special_tokens)


@tokenizer_mistake(
    kind="interface",
    wrong="tokens are returned, not their ids",
    hint="What does a model take? Look every token up.",
)
class TokensReturned(Pieces):
    def encode(self, text: str) -> Any:
        return [self.vocab[token_id] for token_id in super().encode(text)]


@tokenizer_mistake(
    kind="interface",
    wrong="a list of ids for each pre-token is returned, not one for all",
    hint="Appending a list to a list puts it inside. What is asked for is one row of ids.",
)
class ListOfLists(Pieces):
    def encode(self, text: str) -> Any:
        ids: list[list[int]] = []
        for pretoken in self.pretokens(text):
            found: list[int] = []
            self.encode_pretokens([pretoken], found)
            ids.append(found)
        return ids


@tokenizer_mistake(
    kind="edge",
    wrong="nothing is returned for an empty text",
    hint="An empty text has no tokens: which list is that?",
)
class NothingForNothing(Pieces):
    def encode(self, text: str) -> Any:
        return super().encode(text) if text else None


@tokenizer_mistake(
    kind="laziness",
    wrong="a remembered word's ids are taken out of their list, which is empty the next time",
    hint="A list that is kept for later must not be changed. Which of your operations shortens it?",
)
class RememberedListEmptied(Pieces):
    def encode_pretokens(self, pretokens: Iterable[str], ids: list[int]) -> None:
        for pretoken in pretokens:
            if pretoken not in self.cache:
                self.cache[pretoken] = self.encode_pretoken(pretoken)
            while self.cache[pretoken]:
                ids.append(self.cache[pretoken].pop(0))


@mistake(
    "tokenizer",
    "get_tokenizer",
    kind="laziness",
    wrong="all tokenizers of a program remember words in one place",
    hint="Make two tokenizers in one program. What is an attribute of the class, a global, or a "
    "cache around a method?",
)
def words_of_all_tokenizers(
    parts: Parts, vocab: Vocabulary, merges: list[Pair], special_tokens: list[str] | None = None
) -> Tokenizer:
    made = Pieces(vocab, merges, special_tokens)
    made.cache = parts.kept
    return made
