"""Wrong ways to part text into pre-tokens before it is encoded, and texts that are changed."""

import unicodedata
from collections.abc import Iterable, Iterator

import regex

from cs336_basics.pretokenization import PRETOKEN

from .tokenizer import Pieces, tokenizer_mistake


@tokenizer_mistake(
    kind="formula",
    wrong="merges cross everything, for there are no pre-tokens",
    hint="No token reaches from one word into the next. Where is GPT-2's pattern applied?",
)
class WholeTexts(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return [text] if text else []

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        for text in texts:
            yield from self.encode(text)


@tokenizer_mistake(
    kind="formula",
    wrong="the text is split at blanks, which are lost",
    hint="Decode what you encoded: where are the blanks?",
)
class SplitAtBlanks(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return text.split()


@tokenizer_mistake(
    kind="edge",
    wrong="a run of blanks takes the last one with it",
    hint="Print the pre-tokens of two words with three spaces between. The last space goes with "
    "the word.",
)
class LookaheadDropped(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return regex.findall(PRETOKEN.pattern.replace(r"|\s+(?!\S)", ""), text)


@tokenizer_mistake(
    kind="formula",
    wrong="the space before a word is no part of it",
    hint="Print the pre-tokens of two words. Which of them has the space between?",
)
class SpaceByItself(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        pattern = r"'(?:[sdmt]|ll|ve|re)|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+|\s+"
        return regex.findall(pattern, text)


@tokenizer_mistake(
    kind="edge",
    wrong="contractions are not pre-tokens of their own",
    hint="Print the pre-tokens of words such as it's and they'll.",
)
class ContractionsDropped(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return regex.findall(PRETOKEN.pattern.removeprefix("'(?:[sdmt]|ll|ve|re)|"), text)


@tokenizer_mistake(
    kind="edge",
    wrong="contractions in capitals are pre-tokens of their own",
    hint="GPT-2's pattern knows contractions in small letters alone.",
)
class ContractionsInCapitals(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return regex.findall(PRETOKEN.pattern.replace("'(?:", "'(?i:", 1), text)


@tokenizer_mistake(
    kind="edge",
    wrong="only ASCII letters and digits count as such",
    hint="Print the pre-tokens of a word with an accent. Which classes of your pattern know "
    "letters of other scripts?",
)
class AsciiLetters(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        pattern = r"'(?:[sdmt]|ll|ve|re)| ?[a-zA-Z]+| ?[0-9]+| ?[^\sa-zA-Z0-9]+|\s+(?!\S)|\s+"
        return regex.findall(pattern, text)


@tokenizer_mistake(
    kind="formula",
    wrong="letters and digits make one pre-token together",
    hint="Print the pre-tokens of x12. A word ends where a number begins.",
)
class LettersWithDigits(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return regex.findall(r" ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+", text)


@tokenizer_mistake(
    kind="edge",
    wrong="the text is split by GPT-4's pattern",
    hint="There are several published patterns. Which one does the text give?",
)
class PatternOfGpt4(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        pattern = (
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
            r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
        )
        return regex.findall(pattern, text)


@tokenizer_mistake(
    kind="edge",
    wrong="each line is encoded by itself",
    hint="A run of line ends is one pre-token. What does your code see of it, line by line?",
)
class LineByLine(Pieces):
    def pretokens(self, text: str) -> Iterable[str]:
        return (found for line in text.splitlines(True) for found in PRETOKEN.findall(line))


@tokenizer_mistake(
    kind="edge",
    wrong="blanks at the ends of a text are taken away",
    hint="Decode what you encoded: is it the text, to the last character?",
)
class TextStripped(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.strip())


@tokenizer_mistake(
    kind="formula",
    wrong="a space is put before the text",
    hint="Decode what you encoded: is it the text, from the first character on?",
)
class SpaceBefore(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(" " + text)


@tokenizer_mistake(
    kind="edge",
    wrong="a byte order mark at the beginning of the text is left out",
    hint="Decode what you encoded: is it the text, from the first character on?",
)
class ByteOrderMarkLost(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.removeprefix("\ufeff"))


@tokenizer_mistake(
    kind="edge",
    wrong="characters are normalised, so that some become others",
    hint="Decode what you encoded: is it the text, to the byte? Try an accent that is a character "
    "by itself.",
)
class Normalised(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(unicodedata.normalize("NFC", text))


@tokenizer_mistake(
    kind="edge",
    wrong="line ends \\r\\n become \\n",
    hint="Decode what you encoded: is it the text, to the byte?",
)
class LineEndsTranslated(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.replace("\r\n", "\n"))


@tokenizer_mistake(
    kind="formula",
    wrong="all text is turned into lower case",
    hint="Decode what you encoded: is it the text?",
)
class LowerCase(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.lower())


@tokenizer_mistake(
    kind="edge",
    wrong="characters beyond ASCII are left out",
    hint="Decode what you encoded: is it the text? Try a word with an accent.",
)
class AsciiOnly(Pieces):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.encode("ascii", errors="ignore").decode())
