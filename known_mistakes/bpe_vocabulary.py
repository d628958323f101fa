"""Wrong vocabularies, and merges of wrong types, after BPE training."""

from collections.abc import Iterable, Sequence
from typing import Any

from .bpe import EVERY_BYTE, Pair, Word, number, trainer_mistake
from .bpe_choice import printable


def numbered(tokens: Iterable[Any]) -> dict[int, Any]:
    """Tokens with the ids from 0 on."""
    return dict(enumerate(tokens))


@trainer_mistake(
    "number",
    kind="formula",
    wrong="special tokens are missing in the vocabulary",
    hint="Look for a special token among your vocabulary's tokens.",
)
def special_tokens_missing(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    return number([], merges, words)


@trainer_mistake(
    "number",
    kind="formula",
    wrong="the bytes take the ids of the special tokens",
    hint="How many entries has your vocabulary? Two tokens cannot have one id.",
)
def bytes_over_special_tokens(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    specials = [token.encode("utf-8") for token in special_tokens]
    vocab = {**numbered(specials), **numbered(EVERY_BYTE)}
    made = [left + right for left, right in merges]
    return vocab | {256 + len(specials) + i: token for i, token in enumerate(made)}


@trainer_mistake(
    "number",
    kind="formula",
    wrong="only bytes that the corpus holds are in the vocabulary",
    hint="Which token has a byte that occurs in no text you trained on?",
)
def seen_bytes_only(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    seen = sorted({token for word in words for token in word})
    specials = [token.encode("utf-8") for token in special_tokens]
    return numbered([*specials, *seen, *(left + right for left, right in merges)])


@trainer_mistake(
    "number",
    kind="formula",
    wrong="bytes from 128 on are encoded as characters, and become two bytes",
    hint="How long is your token for byte 200? A number below 256 is one byte by itself.",
)
def bytes_as_characters(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    specials = [token.encode("utf-8") for token in special_tokens]
    letters = [chr(byte).encode("utf-8") for byte in range(256)]
    return numbered([*specials, *letters, *(left + right for left, right in merges)])


@trainer_mistake(
    "number",
    kind="formula",
    wrong="byte i is made as i bytes of zero",
    hint="How long is your token for byte 200? Given a number, bytes makes that many zeros.",
)
def runs_of_zeros(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    specials = [token.encode("utf-8") for token in special_tokens]
    zeros = [bytes(byte) for byte in range(256)]
    return numbered([*specials, *zeros, *(left + right for left, right in merges)])


@trainer_mistake(
    "number",
    kind="formula",
    wrong="the ids begin at 1",
    hint="Which is your smallest id?",
)
def ids_from_one(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    vocab = number(special_tokens, merges, words)
    return {token_id + 1: token for token_id, token in vocab.items()}


@trainer_mistake(
    "number",
    kind="interface",
    wrong="special tokens stay text in the vocabulary",
    hint="Of which type is each of your tokens?",
)
def special_tokens_as_text(
    special_tokens: Sequence[str], merges: Sequence[Pair], words: Iterable[Word]
) -> Any:
    vocab: dict[int, Any] = number(special_tokens, merges, words)
    return vocab | numbered(special_tokens)


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="the vocabulary maps tokens to ids",
    hint="What stands before the colon in your dictionary, the id or the token?",
)
def tokens_to_ids(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    return {token: token_id for token_id, token in vocab.items()}, merges


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="merges are lists of two, not tuples",
    hint="Of which type is one of your merges?",
)
def merges_as_lists(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    return vocab, [list(pair) for pair in merges]


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="merges are pairs of ids, not of bytes",
    hint="Of which type is half of one of your merges?",
)
def merges_as_ids(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    ids = {token: token_id for token_id, token in vocab.items()}
    return vocab, [(ids[left], ids[right]) for left, right in merges]


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="merges hold what they make, not its two halves",
    hint="A tokenizer must know which two tokens become one. What does each of your merges hold?",
)
def merges_as_tokens(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    return vocab, [left + right for left, right in merges]


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="tokens are text, not bytes",
    hint="A token may be half of a character. Of which type is it?",
)
def tokens_as_text(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    def text(token: bytes) -> str:
        return token.decode("utf-8", errors="replace")

    texts = {token_id: text(token) for token_id, token in vocab.items()}
    return texts, [(text(left), text(right)) for left, right in merges]


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="tokens are written in GPT-2's printable alphabet",
    hint="That alphabet is for files. Which bytes does a space have in your tokens?",
)
def tokens_for_files(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    def for_files(token: bytes) -> bytes:
        return "".join(map(chr, printable(token))).encode("utf-8")

    written = {token_id: for_files(token) for token_id, token in vocab.items()}
    return written, [(for_files(left), for_files(right)) for left, right in merges]


@trainer_mistake(
    "returned",
    kind="interface",
    wrong="the merges alone are returned",
    hint="Training returns two things.",
)
def merges_alone(vocab: dict[int, bytes], merges: list[Pair]) -> Any:
    return merges
