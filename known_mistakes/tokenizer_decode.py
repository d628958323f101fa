"""Wrong ways to decode."""

from collections.abc import Iterable

from .tokenizer import Pieces, tokenizer_mistake


@tokenizer_mistake(
    kind="formula",
    wrong="each token is decoded by itself",
    hint="A character may be made of several tokens. What must be joined first, the bytes or the "
    "texts?",
)
class TokenByToken(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        tokens = (self.vocab[token_id] for token_id in token_ids)
        return "".join(token.decode("utf-8", errors="replace") for token in tokens)


@tokenizer_mistake(
    kind="edge",
    wrong="bytes that are no UTF-8 raise an error",
    hint="A model may give any ids. What does your decoding do with what it cannot read?",
)
class MalformedRaises(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        return b"".join(self.vocab[token_id] for token_id in token_ids).decode("utf-8")


@tokenizer_mistake(
    kind="edge",
    wrong="bytes that are no UTF-8 are left out",
    hint="What cannot be read must leave a trace. Which character stands for it?",
)
class MalformedIgnored(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        data = b"".join(self.vocab[token_id] for token_id in token_ids)
        return data.decode("utf-8", errors="ignore")


@tokenizer_mistake(
    kind="edge",
    wrong="a byte order mark at the beginning is left out",
    hint="Decode what you encoded: which encodings drop the character they begin with?",
)
class DecodedMarkLost(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        data = b"".join(self.vocab[token_id] for token_id in token_ids)
        return data.decode("utf-8-sig", errors="replace")


@tokenizer_mistake(
    kind="edge",
    wrong="bytes that are no UTF-8 are written as escapes",
    hint="What cannot be read is replaced by one character. Which one?",
)
class MalformedEscaped(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        data = b"".join(self.vocab[token_id] for token_id in token_ids)
        return data.decode("utf-8", errors="backslashreplace")


@tokenizer_mistake(
    kind="formula",
    wrong="each byte is decoded as a character of its own",
    hint="Decode a word with an accent. In which encoding are the tokens?",
)
class Latin1(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        return b"".join(self.vocab[token_id] for token_id in token_ids).decode("latin-1")


@tokenizer_mistake(
    kind="formula",
    wrong="special tokens are left out",
    hint="Decode what you encoded: where are the special tokens?",
)
class SpecialTokensLeftOut(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        specials = set(self.special_ids.values())
        return super().decode(token_id for token_id in token_ids if token_id not in specials)


@tokenizer_mistake(
    kind="formula",
    wrong="a space is put between the tokens",
    hint="Spaces are in the tokens already. With what do you join?",
)
class SpacesBetween(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        return " ".join(super().decode([token_id]) for token_id in token_ids)


@tokenizer_mistake(
    kind="edge",
    wrong="blanks at the ends of the text are taken away",
    hint="Decode what you encoded: is it the text, to the last character?",
)
class TextStrippedAfterwards(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        return super().decode(token_ids).strip()


@tokenizer_mistake(
    kind="laziness",
    wrong="an id is taken for a token's place in the order of the vocabulary",
    hint="The vocabulary leads from ids to tokens. Do you look the id up or count?",
)
class PlacesForIds(Pieces):
    def decode(self, token_ids: Iterable[int]) -> str:
        tokens = list(self.vocab.values())
        data = b"".join(tokens[token_id] for token_id in token_ids)
        return data.decode("utf-8", errors="replace")
