"""Finds submissions that are nearly the same, in what is theirs: an aid for a person who looks.

rapidfuzz compares: it is exact, needs no threshold on hashes, and takes seconds for a whole class.
"""

import contextlib
import io
import keyword
import tokenize
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from cs336_grader.records import Staged

# Two are alike where this share of their tokens is the same, in the same order.
ALIKE = 0.9
# With less than this, everybody's looks the same.
FEWEST_TOKENS = 200
# So many tokens are read of a submission; of those that were not handed out, so many are compared.
MAX_READ = 1_000_000
MAX_TOKENS = 50_000
# Where the characters that stand for tokens begin, and how many there are.
FIRST, KINDS = 0x4E00, 20_000
NAME, NUMBER, TEXT = "\u0101", "\u0102", "\u0103"
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}


@dataclass(frozen=True, slots=True)
class Group:
    """Submissions that are alike.

    Attributes:
        names: their names.
        share: of tokens that are the same in the two that differ most of those compared.
    """

    names: tuple[str, ...]
    share: float


def tokens(staged: Staged) -> str:
    """A submission's modules as text: a character for each token, a line for each statement.

    Names and layout do not count. The adapters are left out: they are mostly the same for all.
    """
    return "\n".join(islice(statements(staged), MAX_READ))[:MAX_READ]


def statements(staged: Staged) -> Iterator[str]:
    """The tokens of each statement of a submission's modules."""
    adapters = staged.module.rpartition(".")[2] + ".py"
    for path in sorted(staged.root.rglob("*.py")):
        if path.name != adapters:
            with contextlib.suppress(OSError):
                yield from lines(path.read_bytes())


def lines(source: bytes) -> Iterator[str]:
    """The tokens of each statement of a module, as far as it can be read."""
    found: list[str] = []
    attribute = False
    with contextlib.suppress(SyntaxError, tokenize.TokenError, UnicodeError):
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type == tokenize.NEWLINE:
                yield "".join(found)
                found = []
            elif token.type not in LAYOUT:
                found.append(letter(token, attribute=attribute))
                attribute = token.string == "."
    yield "".join(found)


def letter(token: tokenize.TokenInfo, *, attribute: bool) -> str:
    """The character for a token: the same for all names that one may choose."""
    if token.type == tokenize.NUMBER:
        return NUMBER
    if token.type == tokenize.STRING:
        return TEXT
    if token.type == tokenize.NAME and not attribute and not keyword.iskeyword(token.string):
        return NAME
    total = 0
    for character in token.string[:64]:
        total = (total * 31 + ord(character)) % KINDS
    return chr(FIRST + total)


def groups(submissions: Sequence[tuple[str, str]], handed_out: Container[str] = ()) -> list[Group]:
    """The groups of submissions that are alike, the largest and most alike first.

    Args:
        submissions: names with tokens.
        handed_out: the statements that every student was given; they do not count.
    """
    own = [(name, without(text, handed_out)) for name, text in submissions]
    named = [(name, text) for name, text in own if len(text) >= FEWEST_TOKENS]
    texts = [text for _, text in named]
    shares = cdist(texts, texts, scorer=Indel.normalized_similarity, score_cutoff=ALIKE, workers=1)
    leader = list(range(len(named)))
    lowest = [1.0] * len(named)
    for one in range(len(named)):
        for other in range(one + 1, len(named)):
            if shares[one][other] >= ALIKE:
                kept, joined = sorted((leader[one], leader[other]))
                lowest[kept] = min(lowest[kept], lowest[joined], float(shares[one][other]))
                leader = [kept if each == joined else each for each in leader]
    found = [
        Group(tuple(named[i][0] for i, of in enumerate(leader) if of == first), lowest[first])
        for first in sorted(set(leader))
    ]
    alike = [group for group in found if len(group.names) > 1]
    return sorted(alike, key=lambda group: (-len(group.names), -group.share))


def without(text: str, handed_out: Container[str]) -> str:
    """The tokens of the statements that were not handed out, up to a limit."""
    return "".join(line for line in text.split("\n") if line not in handed_out)[:MAX_TOKENS]
