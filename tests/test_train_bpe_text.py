"""Checks of how BPE training reads a corpus: special tokens, pre-tokens, scripts, large files."""

from pathlib import Path
from typing import Any

import pytest

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

from .texts import END_OF_TEXT, FOREIGN_WORDS, foreign, messy, without_repeats
from .training import BETWEEN_DOCUMENTS, Train, first_merges, lines, pairs, trainer
from .vocabularies import Merge


@pytest.fixture
def train(adapters: Any, tmp_path: Path) -> Train:
    """Trains on a text."""
    return trainer(adapters, tmp_path)


@pytest.mark.parametrize(
    "special_tokens",
    [
        pytest.param((END_OF_TEXT,), id="one"),
        pytest.param((END_OF_TEXT, "<|pad|>"), id="two"),
        pytest.param(("<|pad|>", "<sep>", END_OF_TEXT), id="three"),
        pytest.param(("[SEP]", "^.*$", "(a+b)?|"), id="regex characters"),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [("", ""), (" ", ""), ("!", ""), ("\n", "\n"), ("", "\t")],
    ids=["letters", "space before", "mark before", "between lines", "space after"],
)
def test_train_bpe_special_tokens(
    train: Train, snapshot: Snapshot, special_tokens: tuple[str, ...], before: str, after: str
) -> None:
    """A special token, taken literally, is a border no merge crosses, and its text never counts."""
    # ab 6 (twice at the end), cd 5, xy 3. Were the neighbours joined, directly or by a space, there
    # would be b+c or a space before cd 5 times; were a special token or what stands before it
    # counted, at least 4 times.
    words = ["ab", "cd", "ab", "cd", "", "ab", "cd", "cd", "xy", "ab", "cd", "xy", "", "xy"]
    corpus = "".join(
        word + before + special_tokens[i % len(special_tokens)] + after
        for i, word in enumerate(words)
    )
    merges = first_merges(train, corpus + "ab\nab", 3, special_tokens)
    snapshot.assert_close(merges, pairs("a+b c+d x+y"), "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # A space belongs to the word after it: go 4, then _go 3.
        pytest.param("go go go go", pairs("g+o _+go"), id="spaces"),
        # 's is a pre-token: 5 times, and it 3 times; no t goes with it, and 'S is none.
        pytest.param("it's it's it's he's he's" + "\nA'S" * 4, pairs("'+s i+t"), id="contractions"),
        # Letters, numbers and other marks part: 12 4 times, a space before x 3, !? 2.
        pytest.param("x12 x12!? x12!? x12", pairs("1+2 _+x !+?"), id="numbers"),
        # The last of three line feeds goes with what follows: two stay together 3 times; xy 2.
        pytest.param("xy\n\n\nxy\n\n\ncd\n\n", [(b"\n", b"\n"), *pairs("x+y")], id="blank lines"),
        # Two spaces 4 times, at both ends too; ab 2.
        pytest.param(
            f"   xy\n   uv\nab   ab  {END_OF_TEXT}", pairs("_+_ a+b"), id="blanks at the ends"
        ),
    ],
)
def test_train_bpe_pretokens(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Merges join bytes within pre-tokens, which GPT-2's pattern finds in the text as it stands."""
    snapshot.assert_close(first_merges(train, corpus, len(merges)), merges, "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # é is two bytes, 8 times; then té 7 times, and all of tés is one pre-token.
        pytest.param(
            lines(tés=3, té=4, é=1, xy=2),
            [(b"\xc3", b"\xa9"), *pairs("t+é té+s x+y")],
            id="accents",
        ),
        # Emoji of four bytes: f09f 5 times, f09f+98 4 times, f09f98+80 3 times.
        pytest.param(
            "\n".join(["😀"] * 3 + ["😁", "🚀", "xy", "xy"]),
            [(b"\xf0", b"\x9f"), (b"\xf0\x9f", b"\x98"), (b"\xf0\x9f\x98", b"\x80"), (b"x", b"y")],
            id="emoji",
        ),
        # A mark that is no letter, two bytes, 4 times; a digit of two bytes 3 times, which ! ends.
        pytest.param(
            "\n".join(["e\u0301"] * 4 + ["٣!"] * 3 + ["xy"] * 2),
            [(b"\xcc", b"\x81"), (b"\xd9", b"\xa3"), (b"x", b"y")],
            id="marks and digits",
        ),
    ],
)
def test_train_bpe_beyond_ascii(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Letters and digits of several bytes belong to the same pre-tokens as those of one byte."""
    snapshot.assert_close(first_merges(train, corpus, len(merges)), merges, "merges")


def test_train_bpe_any_text(train: Train, snapshot: Snapshot, draw: Draws) -> None:
    """The merges are right for text of any script, emoji, combining marks and runs of blanks."""
    # Carriage returns and pairs that overlap themselves are left to other checks.
    texts = [messy(draw, 300).replace("\r", "\n") for _ in range(8)] + [foreign(draw, 300)]
    documents = [without_repeats(text) for text in texts]
    merges = first_merges(train, END_OF_TEXT.join(documents), 120)
    snapshot.assert_match(merges, "merges")


@pytest.mark.parametrize("separator", [BETWEEN_DOCUMENTS, "\n"], ids=["documents", "one document"])
def test_train_bpe_large_file(train: Train, draw: Draws, separator: str) -> None:
    """A file that is worth reading in several chunks gives the same merges as if read at once."""
    # All pairs of a word are equally frequent, and one word cut, lost or read twice is enough to
    # change which comes first. Both files begin with the same words, so that a rule for ties that
    # asks for the order in which they come changes nothing.
    halves = [word for word in FOREIGN_WORDS if len(word.encode()) >= 8]
    chosen = draw.permutation(len(halves)).tolist()
    words = [halves[i] + halves[j] for i, j in zip(chosen[:8], chosen[8:16], strict=True)]
    repeated = words * 999
    order = draw.permutation(len(repeated)).tolist()
    _, merges = train(separator.join([*words, *words, ""]), 80)
    large = [*words, *(repeated[i] for i in order), ""]
    _, of_large_file = train(separator.join(large), 80)
    longer = [merge for merge in merges if is_longer_part(merge, words)]
    assert len(longer) >= 10, (
        "Many merges should join what earlier merges have made, side by side in a word of the file."
    )
    assert of_large_file == merges, (
        "The same words, 500 times as often and in another order, give other merges:"
        " is text cut at a chunk's end, within a word or a character?"
    )


def is_longer_part(merge: Merge, words: list[str]) -> bool:
    """Whether a merge makes a token of three bytes or more that some word holds."""
    token = b"".join(half for half in merge if isinstance(half, bytes))
    return len(token) > 2 and any(token in word.encode() for word in words)


@pytest.mark.parametrize("in_order", [True, False], ids=["shorter first", "longer first"])
def test_train_bpe_contained_special_token(
    train: Train, snapshot: Snapshot, in_order: bool
) -> None:
    """Where one special token begins with another, the longer one is the border."""
    special_tokens = ("<|end|>", "<|pad|>", "<|end|>xyz")
    # Were the shorter one taken, xyz would remain, 3 times; were it the only one, pad, 4 times.
    corpus = "ab<|end|>xyz" * 3 + "cd<|end|>cd" + " <|pad|>" * 4
    given = special_tokens if in_order else special_tokens[::-1]
    snapshot.assert_close(first_merges(train, corpus, 2, given), pairs("a+b c+d"), "merges")


def test_train_bpe_no_special_tokens(train: Train, snapshot: Snapshot) -> None:
    """Without special tokens all text is ordinary, text that looks like a special token too."""
    # t+e is 3 times in "endoftext" and once by itself; a+b twice.
    corpus = f"{END_OF_TEXT}\n" * 3 + "te\nab\nab"
    snapshot.assert_close(first_merges(train, corpus, 1, ()), pairs("t+e"), "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # ab 3 times, \r\n\r twice, \n twice, and \r\n\r\n at the end.
        pytest.param(
            "ab\r\n\r\n" * 3, [(b"\r", b"\n"), (b"a", b"b"), (b"\r\n", b"\r")], id="line ends"
        ),
        # The mark EF BB BF twice, a letter EF BB BC 3 times, an emoji once.
        pytest.param(
            "\ufeffa\nﻼ\nﻼ\nﻼ\n\ufeff\n😀",
            [(b"\xef", b"\xbb"), (b"\xef\xbb", b"\xbc"), (b"\xef\xbb", b"\xbf")],
            id="byte order mark",
        ),
    ],
)
def test_train_bpe_line_ends(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    r"""The file's bytes are kept: \r\n stays two of them, and a byte order mark is text."""
    snapshot.assert_close(first_merges(train, corpus, len(merges)), merges, "merges")
