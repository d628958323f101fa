"""Checks of BPE training: small corpora worked out by hand, laws, and saved merges.

In a corpus of one word a line, each word is a pre-token of its own and each line end another, of
one byte. So the words alone decide which pairs there are, and a short calculation gives the merges.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from .comparison import assert_refuses
from .draws import Draws
from .snapshots import Snapshot
from .texts import END_OF_TEXT, FOREIGN_WORDS, foreign, messy, stories, without_repeats
from .vocabularies import Merge, Vocabulary, vocabulary

Train = Callable[..., tuple[dict[int, bytes], list[Merge]]]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TWO_BYTE_LETTERS = "".join(filter(str.isalpha, map(chr, range(0xC0, 0x530))))
MARKS = "'\"\\#]!~`"


@pytest.fixture
def train(adapters: Any, tmp_path: Path) -> Train:
    """Train on a text: gives the vocabulary and the merges, of which there are at most so many."""
    count = 0

    def run(
        text: str, merge_count: int, special_tokens: tuple[str, ...] = (END_OF_TEXT,)
    ) -> tuple[dict[int, bytes], list[Merge]]:
        nonlocal count
        count += 1
        path = tmp_path / f"corpus{count}.txt"
        path.write_bytes(text.encode())
        result = adapters.run_train_bpe(
            input_path=path,
            vocab_size=256 + len(special_tokens) + merge_count,
            special_tokens=list(special_tokens),
        )
        assert isinstance(result, tuple | list), "Training returns the vocabulary and the merges."
        assert len(result) == 2, "Training returns two things: the vocabulary and the merges."
        vocab, merges = result
        assert isinstance(vocab, dict), "The vocabulary is a dict from ids to bytes."
        assert isinstance(merges, list | tuple), "The merges are a list of pairs of bytes."
        return vocab, list(merges)

    return run


def lines(**counts: int) -> str:
    """A corpus of one word a line, each as often as said."""
    return "\n".join(word for word, count in counts.items() for _ in range(count))


def pairs(text: str) -> list[Merge]:
    """Merges written as ``a+b ab+c``, with ``_`` for a space."""
    halves = [merge.replace("_", " ").split("+") for merge in text.split()]
    return [(left.encode(), right.encode()) for left, right in halves]


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # we 7+4+5, lo 14, lo+we 12, st 11, lowe+st 7, lowe+r 5, we+st 4, lo+w 2.
        pytest.param(
            lines(lowest=7, west=4, lower=5, low=2),
            pairs("w+e l+o lo+we s+t lowe+st lowe+r we+st lo+w"),
            id="low, lower, lowest",
        ),
        # ab 5 times in one word, cd 4 times in three: occurrences count, not words.
        pytest.param(lines(ab=5, cd=1, cde=2, cdf=1), pairs("a+b c+d cd+e cd+f"), id="words"),
        # xy 3 times in one word against de 2, and every xy of the word is merged.
        pytest.param(lines(xyaxybxyc=1, de=2), pairs("x+y d+e"), id="one word"),
        # Once bc is one token, no ab is left; what was counted before no longer holds.
        pytest.param(lines(abc=3, bc=1, de=2), pairs("b+c a+bc d+e"), id="used up"),
    ],
)
def test_train_bpe_merges(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Each merge joins the pair of tokens that is most frequent in the corpus at that moment."""
    snapshot.assert_close(train(corpus, len(merges))[1], merges, "merges")


def test_train_bpe_stories(train: Train, snapshot: Snapshot, draw: Draws) -> None:
    """On a corpus of stories the merges are the ones the text's definition gives, in order."""
    _, merges = train(END_OF_TEXT.join(stories(draw, 40)), 150)
    snapshot.assert_match(merges, "merges")


def test_train_bpe_shortens(train: Train, draw: Draws) -> None:
    """Each merge shortens the corpus, and none by more than the merge before it."""
    documents = stories(draw, 12)
    _, merges = train(END_OF_TEXT.join(documents), 30)
    assert len(merges) == 30, "A corpus with pairs enough gives as many merges as were asked for."
    lengths = []
    for count in range(31):
        learned = vocabulary(merges[:count]).tiktoken
        lengths.append(sum(len(learned.encode_ordinary(document)) for document in documents))
    saved = [before - after for before, after in pairwise(lengths)]
    assert saved[-1] > 0, "Every merge must occur in the corpus, split into pre-tokens."
    assert saved == sorted(saved, reverse=True), (
        "A merge saves more tokens than one before it, so it should have come earlier."
    )


def test_train_bpe_laws(train: Train, draw: Draws) -> None:
    """The same merges come from documents in another order, from all twice, for a smaller size."""
    documents = stories(draw, 12)
    order = draw.permutation(len(documents)).tolist()
    _, merges = train(END_OF_TEXT.join(documents), 80)
    _, fewer = train(END_OF_TEXT.join(documents), 30)
    assert fewer == merges[:30], "With a smaller vocabulary the first merges are the same."
    _, reordered = train(END_OF_TEXT.join(documents[i] for i in order), 80)
    assert reordered == merges, "The order of the documents changes no count and no merge."
    _, twice = train(END_OF_TEXT.join(documents * 2), 80)
    assert twice == merges, "Twice the corpus doubles each count and changes no merge."


@pytest.mark.parametrize(
    "alphabet",
    [
        pytest.param(LETTERS, id="letters"),
        pytest.param(MARKS, id="quotes and backslashes"),
    ],
)
def test_train_bpe_ties(train: Train, snapshot: Snapshot, draw: Draws, alphabet: str) -> None:
    """Of the pairs that are equally frequent, the lexicographically greatest is merged."""
    every = [a + b for a in alphabet for b in alphabet]
    words = [every[i] for i in draw.permutation(len(every))[:24]]
    merges = sorted(((word[:1].encode(), word[1:].encode()) for word in words), reverse=True)
    snapshot.assert_close(train("\n".join(words), 24)[1], merges, "merges")


def test_train_bpe_ties_of_bytes(train: Train, snapshot: Snapshot, draw: Draws) -> None:
    """Equally frequent pairs are compared as bytes, not as the characters they may stand for."""
    letters = [TWO_BYTE_LETTERS[i] for i in draw.permutation(len(TWO_BYTE_LETTERS))[:24]]
    codes = [letter.encode() for letter in letters]
    merges = sorted(((code[:1], code[1:]) for code in codes), reverse=True)
    snapshot.assert_close(train("\n".join(letters), 24)[1], merges, "merges")


def test_train_bpe_ties_of_prefixes(train: Train, snapshot: Snapshot) -> None:
    """Equally frequent pairs are compared token by token, and a prefix is less than the whole."""
    # ab 6; then 3 each: ab+a, a+z, c+z. Joined, az > aba, and aba is the longest, but neither
    # counts: c > ab > a. Then 2 each: x+ab and x+b, and b > ab.
    corpus = lines(aba=3, az=3, cz=3, ab=1, xab=2, xb=2)
    merges = pairs("a+b c+z ab+a a+z x+b x+ab")
    snapshot.assert_close(train(corpus, len(merges))[1], merges, "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # ab 9; then ab+ab occurs 3 + 2 times, and no ba is left.
        pytest.param(
            lines(abab=3, ababab=1, ca=2), pairs("a+b ab+ab c+a abab+ab"), id="alternating"
        ),
        # aa 2 + 2 times: each "aaa" holds two pairs of neighbours, though only one can be merged.
        pytest.param(lines(aaa=2, bc=3), pairs("a+a b+c aa+a"), id="three"),
        # aa aa a and aa aa: aa+aa 4, aa+a 3; then aaaa+a 3.
        pytest.param(lines(aaaaa=3, aaaa=1, bc=2), pairs("a+a aa+aa aaaa+a b+c"), id="five"),
        # aa aa aa a and aa aa aa: aa+aa 4; then aaaa aa a and aaaa aa: aaaa+aa 2, aa+a 1.
        pytest.param(lines(aaaaaaa=1, aaaaaa=1), pairs("a+a aa+aa aaaa+aa aaaaaa+a"), id="seven"),
    ],
)
def test_train_bpe_repeats(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Where a pair overlaps itself, it is merged from left to right and the counts stay right."""
    snapshot.assert_close(train(corpus, len(merges))[1], merges, "merges")


@pytest.mark.parametrize(
    ("special_tokens", "merge_count"),
    [((END_OF_TEXT,), 40), ((END_OF_TEXT, "<|pad|>", "[MASK]"), 40)],
)
def test_train_bpe_vocabulary(
    train: Train, draw: Draws, special_tokens: tuple[str, ...], merge_count: int
) -> None:
    """The vocabulary numbers all special tokens, all 256 bytes and what each merge makes."""
    vocab, merges = train(special_tokens[-1].join(stories(draw, 8)), merge_count, special_tokens)
    size = 256 + len(special_tokens) + merge_count
    assert len(merges) == merge_count, (
        "vocab_size counts the 256 bytes, the special tokens and one token for each merge."
    )
    assert all(
        isinstance(merge, tuple) and len(merge) == 2 and all(type(half) is bytes for half in merge)
        for merge in merges
    ), "Each merge is a tuple of two bytes objects."
    assert all(type(token) is bytes for token in vocab.values()), "Each token is a bytes object."
    assert set(vocab) == set(range(size)), "The ids are 0, 1, 2 … vocab_size - 1."
    tokens = {*vocab.values()}
    assert {bytes([byte]) for byte in range(256)} <= tokens, "Every single byte is a token."
    assert {text.encode() for text in special_tokens} <= tokens, "Every special token is a token."
    assert {left + right for left, right in merges} <= tokens, "What a merge makes is a token."
    made: set[bytes] = {bytes([byte]) for byte in range(256)}
    for left, right in merges:
        assert {left, right} <= made, "A merge joins bytes or what merges before it have made."
        made.add(left + right)


@pytest.mark.parametrize(
    "special_tokens",
    [
        pytest.param((END_OF_TEXT,), id="one"),
        pytest.param((END_OF_TEXT, "<|pad|>"), id="two"),
        pytest.param(("[SEP]", "^.*$", "(a+b)?|"), id="regex characters"),
    ],
)
def test_train_bpe_special_tokens(
    train: Train, snapshot: Snapshot, special_tokens: tuple[str, ...]
) -> None:
    """A special token, taken literally, is a border no merge crosses, and its text never counts."""
    # cd 4, ab 3, xy 2. Were the neighbours joined, directly or by a space, there would be b+c or
    # a space before cd 4 times; were special tokens counted, theirs would be more.
    words = ["ab", "cd", "ab", "cd", "", "ab", "cd", "cd", "xy", "xy", ""]
    corpus = "".join(word + special_tokens[i % len(special_tokens)] for i, word in enumerate(words))
    merges = pairs("c+d a+b x+y")
    snapshot.assert_close(train(corpus, 3, special_tokens)[1], merges, "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # A space belongs to the word after it: go 4, then _go 3.
        pytest.param("go go go go", pairs("g+o _+go"), id="spaces"),
        # 's is a pre-token: 5 times, and it 3 times; no t goes with it, and 'S is none.
        pytest.param("it's it's it's he's he's" + "\nA'S" * 4, pairs("'+s i+t"), id="contractions"),
        # Letters, numbers and other marks part: 12 4 times, a space before x 3, !? 2.
        pytest.param("x12 x12!? x12!? x12", pairs("1+2 _+x !+?"), id="numbers"),
        # The last of three line feeds goes with what follows: two stay together twice, and at the
        # end; xy 2, cd 1.
        pytest.param(
            "xy\n\n\nxy\n\n\ncd\n\n", [(b"\n", b"\n"), *pairs("x+y c+d")], id="blank lines"
        ),
        # Two spaces 3 times, at both ends too; ab 2; then xy 1, _xy 1 (and _ab, which is less).
        pytest.param("   xy\nab   ab  ", pairs("_+_ a+b x+y _+xy"), id="blanks at the ends"),
    ],
)
def test_train_bpe_pretokens(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Merges join bytes within pre-tokens, which GPT-2's pattern finds in the text as it stands."""
    snapshot.assert_close(train(corpus, len(merges))[1], merges, "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        # é is two bytes, 7 times; then té 4 times, and all of été is one pre-token.
        pytest.param(
            lines(été=3, té=1, xy=2), [(b"\xc3", b"\xa9"), *pairs("t+é é+té x+y")], id="accents"
        ),
        # Emoji of four bytes: f09f 5 times, f09f+98 4 times, f09f98+80 3 times.
        pytest.param(
            "\n".join(["😀"] * 3 + ["😁", "🚀", "xy", "xy"]),
            [(b"\xf0", b"\x9f"), (b"\xf0\x9f", b"\x98"), (b"\xf0\x9f\x98", b"\x80"), (b"x", b"y")],
            id="emoji",
        ),
    ],
)
def test_train_bpe_beyond_ascii(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """A letter of several bytes is a letter: a word that holds one is a single pre-token."""
    snapshot.assert_close(train(corpus, len(merges))[1], merges, "merges")


def test_train_bpe_any_text(train: Train, snapshot: Snapshot, draw: Draws) -> None:
    """Text of any script, with emoji, combining marks, numbers and runs of blanks, is learned."""
    # Carriage returns and pairs that overlap themselves are left to other checks.
    texts = [messy(draw, 300).replace("\r", "\n") for _ in range(8)] + [foreign(draw, 300)]
    documents = [without_repeats(text) for text in texts]
    vocab, merges = train(END_OF_TEXT.join(documents), 120)
    learned = Vocabulary(vocab, merges)
    for document in documents:
        ids = learned.encode(document)
        assert len(ids) < len(document.encode()), "The merges shorten every document."
    snapshot.assert_match(merges, "merges")


@pytest.mark.parametrize("separator", [END_OF_TEXT, "\n"], ids=["documents", "one document"])
def test_train_bpe_large_file(train: Train, draw: Draws, separator: str) -> None:
    """A file that is worth reading in several chunks gives the same merges as if read at once."""
    # Most pairs are as frequent as others, and one word cut, lost or read twice is enough to
    # change which comes first.
    halves = [word for word in FOREIGN_WORDS if len(word.encode()) >= 8]
    chosen = draw.permutation(len(halves)).tolist()
    words = [halves[i] + halves[j] for i, j in zip(chosen[:8], chosen[8:16], strict=True)]
    repeated = words * 1000
    order = draw.permutation(len(repeated)).tolist()
    _, merges = train(separator.join(words), 80)
    _, of_large_file = train(separator.join(repeated[i] for i in order), 80)
    assert of_large_file == merges, (
        "The same words, 1,000 times each and in another order, give other merges:"
        " is text cut at a chunk's end, within a word or a character?"
    )


@pytest.mark.parametrize("in_order", [True, False], ids=["shorter first", "longer first"])
def test_train_bpe_contained_special_token(
    train: Train, snapshot: Snapshot, in_order: bool
) -> None:
    """Where one special token begins with another, the longer one is the border."""
    special_tokens = ("<|end|>", "<|pad|>", "<|end|>xyz")
    # Were the shorter one taken, xyz would remain, 3 times; were it the only one, pad, 4 times.
    corpus = "ab<|end|>xyz" * 3 + "cd<|end|>cd" + "<|pad|>" * 4
    given = special_tokens if in_order else special_tokens[::-1]
    snapshot.assert_close(train(corpus, 2, given)[1], pairs("a+b c+d"), "merges")


def test_train_bpe_no_special_tokens(train: Train, snapshot: Snapshot) -> None:
    """Without special tokens all text is ordinary, text that looks like a special token too."""
    # t+e is 3 times in "endoftext" and once by itself; a+b twice.
    corpus = f"{END_OF_TEXT}\n" * 3 + "te\nab\nab"
    snapshot.assert_close(train(corpus, 1, ())[1], pairs("t+e"), "merges")


def test_train_bpe_line_ends(train: Train, snapshot: Snapshot) -> None:
    r"""Line ends are kept as they are in the file: \r\n stays two bytes."""
    # Pre-tokens: ab 3 times, \r\n\r twice, \n twice, and \r\n\r\n at the end.
    merges = [(b"\r", b"\n"), (b"a", b"b"), (b"\r\n", b"\r")]
    snapshot.assert_close(train("ab\r\n\r\n" * 3, 3)[1], merges, "merges")


@pytest.mark.parametrize(
    ("corpus", "merges"),
    [
        pytest.param("abc\nbc", pairs("b+c a+bc"), id="two words"),
        pytest.param("a b", pairs("_+b"), id="one pair"),
        pytest.param(f"a{END_OF_TEXT}b", [], id="no pair"),
        pytest.param("\ufeffa", [(b"\xef", b"\xbb"), (b"\xef\xbb", b"\xbf")], id="byte order mark"),
    ],
)
def test_train_bpe_exhausted(
    train: Train, snapshot: Snapshot, corpus: str, merges: list[Merge]
) -> None:
    """Training ends when no pair is left, with a vocabulary smaller than was asked for."""
    vocab, learned = train(corpus, 43)
    snapshot.assert_close(learned, merges, "merges")
    assert len(vocab) == 257 + len(merges), "The vocabulary holds no token that was not learned."


def test_train_bpe_no_merges(train: Train, draw: Draws) -> None:
    """A vocabulary with no room for a merge holds the bytes and the special tokens."""
    vocab, merges = train(END_OF_TEXT.join(stories(draw, 8)), 0)
    assert merges == [], "There is no room for a merge."
    assert set(vocab) == set(range(257)), "The ids are 0, 1, 2 … vocab_size - 1."
    every = {bytes([byte]) for byte in range(256)} | {END_OF_TEXT.encode()}
    assert {*vocab.values()} == every, "The tokens are all bytes and the special token."


@pytest.mark.parametrize("corpus", ["", END_OF_TEXT * 3], ids=["empty", "special tokens alone"])
def test_train_bpe_empty_corpus(train: Train, corpus: str) -> None:
    """A corpus without text gives the bytes, the special tokens and no merges."""
    vocab, merges = train(corpus, 43)
    assert merges == [], "There is nothing to merge."
    assert len(vocab) == 257, "The vocabulary holds the bytes and the special token."


def test_train_bpe_two_corpora(train: Train, snapshot: Snapshot) -> None:
    """Training knows nothing of another corpus that it was given before."""
    snapshot.assert_close(train(lines(cd=5), 1)[1], pairs("c+d"), "merges of the first")
    snapshot.assert_close(train(lines(ab=3, cd=1), 1)[1], pairs("a+b"), "merges of the second")


def test_train_bpe_path_as_text(adapters: Any, snapshot: Snapshot, tmp_path: Path) -> None:
    """The path of the corpus may be a str as well as a Path."""
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"abc")
    _, merges = adapters.run_train_bpe(
        input_path=str(path), vocab_size=258, special_tokens=[END_OF_TEXT]
    )
    snapshot.assert_close(merges, pairs("b+c"), "merges")


def test_train_bpe_vocabulary_too_small(adapters: Any, tmp_path: Path) -> None:
    """A vocabulary with no room for all bytes and special tokens is refused."""
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"abc")
    assert_refuses(
        lambda vocab_size: adapters.run_train_bpe(path, vocab_size, [END_OF_TEXT]),
        258,
        256,
        "A vocabulary of 256 with a special token",
    )
