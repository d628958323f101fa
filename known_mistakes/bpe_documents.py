"""Wrong ways to read a corpus for BPE training and to part it at special tokens."""

import dataclasses
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import regex

from cs336_basics.pretokenization import find_chunk_boundaries

from .bpe import PATTERN, Trainer, count, documents, longest_first, read, trainer_mistake

# Chunks are for files that are worth it.
CHUNK_BYTES = 2**15


def count_text(trainer: Trainer, text: str, special_tokens: Sequence[str]) -> Counter[str]:
    """How often each pre-token occurs in a text."""
    return count(dataclasses.replace(trainer, read=lambda _: text), Path(), special_tokens)


@trainer_mistake(
    "documents",
    kind="formula",
    wrong="special tokens are counted as ordinary text",
    hint="A special token is never made by merges. Where is it taken out of the text?",
)
def special_tokens_are_text(text: str, special_tokens: Sequence[str]) -> list[str]:
    return [text]


@trainer_mistake(
    "documents",
    kind="formula",
    wrong="special tokens stay among the parts that the text was split into",
    hint="A group in a pattern makes split return what it matched as well. Print the parts.",
)
def special_tokens_are_parts(text: str, special_tokens: Sequence[str]) -> list[str]:
    if not special_tokens:
        return [text]
    return regex.split("(" + "|".join(map(regex.escape, longest_first(special_tokens))) + ")", text)


@trainer_mistake(
    "documents",
    kind="formula",
    wrong="special tokens are cut out and what stood beside them is joined",
    hint="A document's last word and the next one's first are neighbours then, and may merge. What "
    "should a special token do?",
)
def neighbours_joined(text: str, special_tokens: Sequence[str]) -> list[str]:
    return ["".join(documents(text, special_tokens))]


@trainer_mistake(
    "documents",
    kind="formula",
    wrong="special tokens are replaced by a space",
    hint="A space belongs to the word that follows it, so the next document's first word is "
    "another one then. What should a special token do?",
)
def special_tokens_are_spaces(text: str, special_tokens: Sequence[str]) -> list[str]:
    return [" ".join(documents(text, special_tokens))]


@trainer_mistake(
    "documents",
    kind="laziness",
    wrong="only the first of the special tokens is a border",
    hint="Train with two special tokens: are both in your pattern?",
)
def first_special_token_only(text: str, special_tokens: Sequence[str]) -> list[str]:
    return documents(text, special_tokens[:1])


@trainer_mistake(
    "documents",
    kind="laziness",
    wrong="the text is split at <|endoftext|>, whatever the special tokens are",
    hint="Train with another special token. Where does your code read those that it is given?",
)
def end_of_text_hard_coded(text: str, special_tokens: Sequence[str]) -> list[str]:
    return documents(text, ["<|endoftext|>"])


@trainer_mistake(
    "documents",
    kind="edge",
    wrong="special tokens are used as regular expressions",
    hint="In a pattern, a bar means or, and brackets and dots have meanings, too. How do "
    "you escape a text so that it matches only itself?",
)
def special_tokens_not_escaped(text: str, special_tokens: Sequence[str]) -> list[str]:
    if not special_tokens:
        return [text]
    return [part for part in regex.split("|".join(longest_first(special_tokens)), text) if part]


@trainer_mistake(
    "documents",
    kind="edge",
    wrong="without special tokens the text is split at every place",
    hint="A pattern made of no alternatives matches the empty text, which is everywhere. What if "
    "the list is empty?",
)
def parted_everywhere(text: str, special_tokens: Sequence[str]) -> list[str]:
    return re.split("|".join(map(re.escape, longest_first(special_tokens))), text)


@trainer_mistake(
    "documents",
    kind="edge",
    wrong="what follows the last special token is lost",
    hint="A corpus need not end in a special token. What does your loop do with the rest?",
)
def last_document_lost(text: str, special_tokens: Sequence[str]) -> list[str]:
    parts = documents(text, special_tokens)
    return parts[:-1] if len(parts) > 1 else parts


@trainer_mistake(
    "documents",
    kind="formula",
    wrong="blanks at the ends of each document are taken away",
    hint="Blanks belong to the corpus as well: their bytes are counted and merged.",
)
def documents_stripped(text: str, special_tokens: Sequence[str]) -> list[str]:
    return [part.strip() for part in documents(text, special_tokens)]


@trainer_mistake(
    "read",
    kind="edge",
    wrong="line ends are translated while the file is read",
    hint="Opening a file as text turns some line ends into others. How is it read as it is?",
)
def line_ends_translated(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@trainer_mistake(
    "read",
    kind="edge",
    wrong="a byte order mark at the beginning of the file is left out",
    hint="Compare the text you read with the file. Which encodings drop what they begin with?",
)
def byte_order_mark_lost(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


@trainer_mistake(
    "read",
    kind="edge",
    wrong="the file is read as Latin-1, and each byte becomes a character",
    hint="Print a word with an accent after reading it. In which encoding is the file?",
)
def read_as_latin_1(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


@trainer_mistake(
    "read",
    kind="edge",
    wrong="whatever is not ASCII is left out",
    hint="Print a word with an accent after reading it. What happens to what cannot be decoded?",
)
def ascii_only(path: Path) -> str:
    return path.read_bytes().decode("ascii", errors="ignore")


@trainer_mistake(
    "read",
    kind="formula",
    wrong="all text is turned into lower case",
    hint="Compare the text you read with the file. Nothing in it may change.",
)
def lower_case(path: Path) -> str:
    return read(path).lower()


@trainer_mistake(
    "read",
    kind="edge",
    wrong="characters are normalised, so that some become others",
    hint="Compare the text you read with the file. Nothing in it may change.",
)
def normalised(path: Path) -> str:
    return unicodedata.normalize("NFKC", read(path))


@trainer_mistake(
    "read",
    kind="laziness",
    wrong="only the beginning of the file is read",
    hint="How many of the file's bytes does your code see?",
)
def beginning_only(path: Path) -> str:
    return path.read_bytes()[: 2 * CHUNK_BYTES].decode("utf-8", errors="ignore")


@trainer_mistake(
    "count",
    kind="edge",
    wrong="each chunk's counts take the place of those before",
    hint="A word may be in several chunks. How does a dictionary's update differ from a counter's?",
)
def chunks_overwrite(trainer: Trainer, path: Path, special_tokens: Sequence[str]) -> Counter[str]:
    boundaries = find_chunk_boundaries(path, special_tokens, CHUNK_BYTES)
    data = path.read_bytes()
    counts: dict[str, int] = {}
    for start, end in pairwise(boundaries):
        chunk = data[start:end].decode("utf-8")
        counts.update(count_text(trainer, chunk, special_tokens))
    return Counter(counts)


@trainer_mistake(
    "count",
    kind="edge",
    wrong="chunks end anywhere, and bytes of a character that is cut are dropped",
    hint="Where may a text be cut without changing any word? Decode without ignoring errors, and "
    "see.",
)
def characters_cut(trainer: Trainer, path: Path, special_tokens: Sequence[str]) -> Counter[str]:
    data = path.read_bytes()
    counts: Counter[str] = Counter()
    for start in range(0, len(data), CHUNK_BYTES):
        chunk = data[start : start + CHUNK_BYTES].decode("utf-8", errors="ignore")
        counts.update(count_text(trainer, chunk, special_tokens))
    return counts


@trainer_mistake(
    "count",
    kind="edge",
    wrong="chunks end within words",
    hint="Where may a text be cut without changing any word?",
)
def words_cut(trainer: Trainer, path: Path, special_tokens: Sequence[str]) -> Counter[str]:
    text = trainer.read(path)
    counts: Counter[str] = Counter()
    for start in range(0, len(text), CHUNK_BYTES):
        chunk = text[start : start + CHUNK_BYTES]
        counts.update(count_text(trainer, chunk, special_tokens))
    return counts


@trainer_mistake(
    "count",
    kind="edge",
    wrong="the last chunk is lost",
    hint="There is one boundary more than there are chunks. Is the end of the file the last"
    " boundary?",
)
def last_chunk_lost(trainer: Trainer, path: Path, special_tokens: Sequence[str]) -> Counter[str]:
    boundaries = find_chunk_boundaries(path, special_tokens, CHUNK_BYTES)
    if len(boundaries) <= 2:
        return count(trainer, path, special_tokens)
    text = path.read_bytes()[: boundaries[-2]].decode("utf-8")
    return count_text(trainer, text, special_tokens)


@trainer_mistake(
    "count",
    kind="edge",
    wrong="special tokens after the first are tried at the places where a pre-token may begin, not "
    "looked for in the whole text",
    hint="Put a space or a mark before such a special token. Which pre-token has the space, and "
    "what is left of the special token?",
)
def special_tokens_among_pretokens(
    trainer: Trainer, path: Path, special_tokens: Sequence[str]
) -> Counter[str]:
    others = special_tokens[1:]
    pattern = "|".join([*map(regex.escape, longest_first(others)), PATTERN.pattern])
    counts: Counter[str] = Counter()
    for document in documents(trainer.read(path), special_tokens[:1]):
        counts.update(found for found in regex.findall(pattern, document) if found not in others)
    return counts
