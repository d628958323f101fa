"""Wrong ways to part text into pre-tokens for BPE training."""

from collections.abc import Iterable

import regex

from .bpe import PATTERN, Word, pretokens, trainer_mistake


@trainer_mistake(
    "pretokens",
    kind="formula",
    wrong="there are no pre-tokens, so merges join words with what is beside them",
    hint="A merge never joins a word with the one before it. Where is GPT-2's pattern applied?",
)
def whole_documents(document: str) -> Iterable[str]:
    return [document] if document else []


@trainer_mistake(
    "pretokens",
    kind="formula",
    wrong="the text is split at blanks, which are lost",
    hint="Every character of the text belongs to a pre-token, blanks too. What does GPT-2's "
    "pattern do with them?",
)
def split_at_blanks(document: str) -> Iterable[str]:
    return document.split()


@trainer_mistake(
    "pretokens",
    kind="edge",
    wrong="each line is split by itself",
    hint="A run of line ends is one pre-token. What does your code see of it, line by line?",
)
def line_by_line(document: str) -> Iterable[str]:
    return (found for line in document.splitlines(keepends=True) for found in pretokens(line))


@trainer_mistake(
    "pretokens",
    kind="formula",
    wrong="each line is split by itself, without the blanks at its ends",
    hint="Line ends and blanks belong to the corpus as well: their bytes are counted and merged.",
)
def stripped_lines(document: str) -> Iterable[str]:
    return (found for line in document.splitlines() for found in pretokens(line.strip()))


@trainer_mistake(
    "pretokens",
    kind="formula",
    wrong="the space before a word is no part of it",
    hint="Print the pre-tokens of two words. Which of them has the space between?",
)
def space_by_itself(document: str) -> Iterable[str]:
    pattern = r"'(?:[sdmt]|ll|ve|re)|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+|\s+"
    return regex.findall(pattern, document)


@trainer_mistake(
    "pretokens",
    kind="edge",
    wrong="a run of blanks takes the last one with it",
    hint="Print the pre-tokens of two words with three spaces between. The last space goes with "
    "the word.",
)
def lookahead_dropped(document: str) -> Iterable[str]:
    return regex.findall(PATTERN.pattern.replace(r"|\s+(?!\S)", ""), document)


@trainer_mistake(
    "pretokens",
    kind="edge",
    wrong="contractions are not pre-tokens of their own",
    hint="Print the pre-tokens of words such as it's and they'll.",
)
def contractions_dropped(document: str) -> Iterable[str]:
    return regex.findall(PATTERN.pattern.removeprefix("'(?:[sdmt]|ll|ve|re)|"), document)


@trainer_mistake(
    "pretokens",
    kind="edge",
    wrong="contractions in capitals are pre-tokens of their own",
    hint="GPT-2's pattern knows contractions in small letters alone.",
)
def contractions_in_capitals(document: str) -> Iterable[str]:
    pattern = PATTERN.pattern.replace("'(?:", "'(?i:", 1)
    return regex.findall(pattern, document)


@trainer_mistake(
    "pretokens",
    kind="formula",
    wrong="letters and digits make one pre-token together",
    hint="Print the pre-tokens of x12. A word ends where a number begins.",
)
def letters_with_digits(document: str) -> Iterable[str]:
    return regex.findall(r" ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+", document)


@trainer_mistake(
    "pretokens",
    kind="edge",
    wrong="only ASCII letters and digits count as such",
    hint="Print the pre-tokens of a word with an accent. Which classes of your pattern know "
    "letters of other scripts?",
)
def ascii_letters(document: str) -> Iterable[str]:
    pattern = PATTERN.pattern.replace(r"\p{L}", "a-zA-Z").replace(r"\p{N}", "0-9")
    pattern = pattern.replace(" ?a-zA-Z+", " ?[a-zA-Z]+").replace(" ?0-9+", " ?[0-9]+")
    return regex.findall(pattern, document)


@trainer_mistake(
    "pretokens",
    kind="edge",
    wrong="the text is split by GPT-4's pattern",
    hint="There are several published patterns. Which one does the text give?",
)
def pattern_of_gpt4(document: str) -> Iterable[str]:
    pattern = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    )
    return regex.findall(pattern, document)


@trainer_mistake(
    "split",
    kind="edge",
    wrong="training starts from characters, not from bytes",
    hint="What is in the vocabulary before the first merge? Of how many of those tokens does é "
    "consist?",
)
def characters(pretoken: str) -> Word:
    return tuple(character.encode("utf-8") for character in pretoken)
