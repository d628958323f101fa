"""Wrong ways to find special tokens in a text, and to give them ids."""

import re
from collections.abc import Iterable, Sequence

import regex

from cs336_basics.pretokenization import PRETOKEN

from .tokenizer import Pair, Pieces, Vocabulary, tokenizer_mistake

END_OF_TEXT = "<|endoftext|>"


@tokenizer_mistake(
    kind="formula",
    wrong="special tokens are encoded as ordinary text",
    hint="How many ids has a text that is one special token?",
)
class SpecialTokensAreText(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges)


@tokenizer_mistake(
    kind="formula",
    wrong="special tokens are cut out and get no id",
    hint="Decode what you encoded: where are the special tokens?",
)
class SpecialTokensLost(Pieces):
    def encode(self, text: str) -> list[int]:
        specials = set(self.special_ids.values())
        return [token_id for token_id in super().encode(text) if token_id not in specials]


@tokenizer_mistake(
    kind="laziness",
    wrong="only the first of the special tokens is known",
    hint="Give two special tokens: are both in your pattern?",
)
class FirstSpecialTokenOnly(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges, (special_tokens or [])[:1])


@tokenizer_mistake(
    kind="laziness",
    wrong="<|endoftext|> is a special token whether it was given or not",
    hint="Without special tokens all text is ordinary. Where does your code read those that it is "
    "given?",
)
class EndOfTextHardCoded(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges, [END_OF_TEXT, *(special_tokens or [])])


@tokenizer_mistake(
    kind="edge",
    wrong="special tokens are used as regular expressions",
    hint="In a pattern, a bar means or, and brackets and dots have meanings, too. How do "
    "you escape a text so that it matches only itself?",
)
class SpecialTokensNotEscaped(Pieces):
    def encode(self, text: str) -> list[int]:
        if not self.special_ids:
            return super().encode(text)
        ids: list[int] = []
        for part in regex.split("(" + "|".join(self.special_ids) + ")", text):
            if part in self.special_ids:
                ids.append(self.special_ids[part])
            else:
                self.encode_pretokens(self.pretokens(part or ""), ids)
        return ids


@tokenizer_mistake(
    kind="edge",
    wrong="the first given of overlapping special tokens is taken instead of the longest",
    hint="One special token may be the beginning of another. In which order does your pattern try "
    "them?",
)
class FirstGivenFirst(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges, special_tokens)
        if special_tokens:
            pattern = "|".join(map(regex.escape, special_tokens))
            self.special_pattern = regex.compile(f"({pattern})")


@tokenizer_mistake(
    kind="edge",
    wrong="with an empty list of special tokens the text is split at every place",
    hint="A pattern made of no alternatives matches the empty text, which is everywhere. What if "
    "the list is empty?",
)
class PartedEverywhere(Pieces):
    def encode(self, text: str) -> list[int]:
        if self.special_ids or not self.given:
            return super().encode(text)
        return [token_id for part in re.split("()", text) for token_id in super().encode(part)]

    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges, special_tokens)
        self.given = special_tokens is not None


@tokenizer_mistake(
    kind="formula",
    wrong="blanks around special tokens are taken away",
    hint="Decode what you encoded: are the blanks beside the special tokens still there?",
)
class BlanksAroundLost(Pieces):
    def encode(self, text: str) -> list[int]:
        if self.special_pattern is None:
            return super().encode(text)
        parts = self.special_pattern.split(text)
        return super().encode("".join(part.strip() or part[:0] for part in parts))


@tokenizer_mistake(
    kind="edge",
    wrong="special tokens are found in capitals as well",
    hint="A special token is text that is matched to the letter. Which flags has your pattern?",
)
class CapitalsAreAlike(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges, special_tokens)
        if self.special_pattern is not None:
            pattern = self.special_pattern.pattern
            self.special_pattern = regex.compile(pattern, regex.IGNORECASE)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        known = {token.lower(): token_id for token, token_id in self.special_ids.items()}
        parts = [text] if self.special_pattern is None else self.special_pattern.split(text)
        for part in parts:
            if part.lower() in known:
                ids.append(known[part.lower()])
            else:
                self.encode_pretokens(self.pretokens(part), ids)
        return ids


@tokenizer_mistake(
    kind="edge",
    wrong="a special token is found only where blanks stand around it",
    hint="A special token is found anywhere, also between two letters. How do you look for it?",
)
class WordsByThemselves(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        super().__init__(vocab, merges, special_tokens)
        if self.special_pattern is not None:
            pattern = self.special_pattern.pattern
            self.special_pattern = regex.compile(rf"(?<!\S){pattern}(?!\S)")


@tokenizer_mistake(
    kind="edge",
    wrong="a special token that the vocabulary lacks is not added to it",
    hint="Special tokens may be given that training did not know. Which id do they get?",
)
class MissingNotAdded(Pieces):
    def add(self, token: bytes) -> int:
        return self.token_ids[token]


@tokenizer_mistake(
    kind="edge",
    wrong="a special token that the vocabulary lacks gets an id that is taken",
    hint="Which ids are free? Count from the largest one, not from the special tokens.",
)
class TakenId(Pieces):
    def add(self, token: bytes) -> int:
        if token not in self.token_ids:
            self.token_ids[token] = len(self.merges)
            self.vocab[len(self.merges)] = token
        return self.token_ids[token]


@tokenizer_mistake(
    kind="edge",
    wrong="an added special token can be encoded but not decoded",
    hint="There are two directions, from ids to tokens and back. Which one does not know the added "
    "token?",
)
class AddedOneWay(Pieces):
    def add(self, token: bytes) -> int:
        found = super().add(token)
        if len(self.vocab) > len(self.merges) + 256:
            del self.vocab[found]
        return found


@tokenizer_mistake(
    kind="edge",
    wrong="all special tokens that the vocabulary lacks get the same id",
    hint="Give two special tokens that the vocabulary lacks. When do you ask for the next free id?",
)
class OneIdForAllMissing(Pieces):
    def add(self, token: bytes) -> int:
        free = 256 + len(self.merges)
        self.vocab[self.token_ids.setdefault(token, free)] = token
        return self.token_ids[token]


@tokenizer_mistake(
    kind="edge",
    wrong="special tokens after the first are tried at the places where a pre-token may begin, not "
    "looked for in the whole text",
    hint="Put a space or a mark before such a special token. Which pre-token has the space, and "
    "what is left of the special token?",
)
class SpecialTokensAmongPretokens(Pieces):
    def __init__(
        self,
        vocab: Vocabulary,
        merges: Sequence[Pair],
        special_tokens: Sequence[str] | None = None,
    ) -> None:
        first, others = (special_tokens or [])[:1], (special_tokens or [])[1:]
        super().__init__(vocab, merges, first)
        self.others = {token: self.add(token.encode()) for token in others}

    def pretokens(self, text: str) -> Iterable[str]:
        others = map(regex.escape, sorted(self.others, key=len, reverse=True))
        return regex.findall("|".join([*others, PRETOKEN.pattern]), text)

    def encode_pretoken(self, pretoken: str) -> list[int]:
        if pretoken in self.others:
            return [self.others[pretoken]]
        return super().encode_pretoken(pretoken)
