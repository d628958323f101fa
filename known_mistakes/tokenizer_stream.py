"""Wrong ways to encode a stream of texts."""

from collections.abc import Iterable, Iterator
from typing import Any

from .tokenizer import Pieces, tokenizer_mistake

BUFFER = 4096


@tokenizer_mistake(
    kind="memory",
    wrong="the whole stream is joined before anything is encoded",
    hint="A file may be larger than memory. How much have you read when the first id comes?",
)
class StreamJoined(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        yield from self.encode("".join(texts))


@tokenizer_mistake(
    kind="memory",
    wrong="the whole stream is encoded before the first id is given",
    hint="A file may be larger than memory. How much have you read when the first id comes?",
)
class AllIdsFirst(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Any:
        return list(super().encode_iterable(texts))


@tokenizer_mistake(
    kind="memory",
    wrong="all texts of the stream are kept",
    hint="When a text has been encoded, what still refers to it?",
)
class TextsKept(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        kept: list[str] = []

        def remembered() -> Iterator[str]:
            for text in texts:
                kept.append(text)
                yield text

        yield from super().encode_iterable(remembered())
        kept.clear()


@tokenizer_mistake(
    kind="formula",
    wrong="blanks at the ends of each text are taken away",
    hint="Encode the lines of a file and compare with its whole text: where are the line ends?",
)
class EachStripped(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        for text in texts:
            yield from self.encode(text.strip())


@tokenizer_mistake(
    kind="formula",
    wrong="a line end is added to each text",
    hint="A file's lines bring their line ends along. Compare with the joined text.",
)
class LineEndsAdded(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        yield from super().encode_iterable(f"{text}\n" for text in texts)


@tokenizer_mistake(
    kind="formula",
    wrong="each character of a text is encoded by itself",
    hint="A text is a row of characters. Over what does your inner loop go?",
)
class EachCharacter(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        for text in texts:
            for character in text:
                yield from self.encode(character)


@tokenizer_mistake(
    kind="formula",
    wrong="what is held back at the end of the stream is lost",
    hint="You hold back what may go on. Who encodes it when nothing more comes?",
)
class EndLost(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        rest = ""
        for text in texts:
            ids, rest = self.encode_certain(rest + text)
            yield from ids


@tokenizer_mistake(
    kind="edge",
    wrong="the stream ends at an empty text",
    hint="An empty text is a text. With what do you compare to find the end?",
)
class EmptyTextEnds(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        yield from super().encode_iterable(iter(iter(texts).__next__, ""))


@tokenizer_mistake(
    kind="edge",
    wrong="the first text is taken to look at it, and lost",
    hint="An iterator gives each text once. What did you do with the first?",
)
class FirstTextLost(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        stream = iter(texts)
        next(stream, None)
        yield from super().encode_iterable(stream)


@tokenizer_mistake(
    kind="interface",
    wrong="a list of ids is given for each text, not one id after the other",
    hint="Compare yield with yield from. What is asked for is ids.",
)
class ListsGiven(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Any:
        for text in texts:
            yield self.encode(text)


@tokenizer_mistake(
    kind="edge",
    wrong="the stream is cut wherever a buffer of fixed size is full",
    hint="Where may a text be cut without changing any pre-token?",
)
class CutWhereFull(Pieces):
    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        held = ""
        for text in texts:
            held += text
            while len(held) >= BUFFER:
                yield from self.encode(held[:BUFFER])
                held = held[BUFFER:]
        yield from self.encode(held)


@tokenizer_mistake(
    kind="laziness",
    wrong="what is held back of a stream is kept by the tokenizer, where other streams find it",
    hint="Encode two streams in turn with one tokenizer. To which of them does what you hold back "
    "belong?",
)
class HeldBackByTheTokenizer(Pieces):
    rest = ""

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        for text in texts:
            ids, self.rest = self.encode_certain(self.rest + text)
            yield from ids
        rest, self.rest = self.rest, ""
        yield from self.encode(rest)
