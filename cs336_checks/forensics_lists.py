"""Describes the first difference between two lists: token ids, tokens, merges."""

from collections import Counter
from collections.abc import Callable

from .differences import with_tuples

# Fewer items than this have too many likenesses.
ENOUGH_ITEMS = 3
# What lists that are compared hold, by themselves or in pairs.
KINDS = {"int", "str", "bytes"}


def examine_list(actual: object, expected: list[object]) -> str:
    """Return what a wrong list looks like beside the right one, or an empty text."""
    if not isinstance(actual, list | tuple) or len(expected) < ENOUGH_ITEMS or not actual:
        return ""
    got, wanted = with_tuples(actual), with_tuples(expected)
    if not kinds(got) <= KINDS:
        return ""
    return next(filter(None, (question(got, wanted) for question in QUESTIONS)), "")


def other_kind(got: list[object], wanted: list[object]) -> str:
    """Characters instead of bytes, or the other way round."""
    if kinds(got) == {"str"} and kinds(wanted) == {"bytes"}:
        return "Yours holds characters where bytes are expected."
    return ""


def kinds(items: list[object]) -> set[str]:
    """The names of the types of items, of pairs those of their members."""
    found: set[str] = set()
    for item in items:
        found |= kinds(list(item)) if isinstance(item, tuple) else {type(item).__name__}
    return found


def cut_short(got: list[object], wanted: list[object]) -> str:
    """One list begins with the other."""
    shorter = min(len(got), len(wanted))
    if got[:shorter] != wanted[:shorter] or len(got) == len(wanted) or shorter < ENOUGH_ITEMS:
        return ""
    if len(got) < len(wanted):
        return f"Yours is right as far as it goes, and ends {items(len(wanted) - shorter)} early."
    return f"Yours is right, and then goes on with {items(len(got) - shorter)} more."


def items(count: int) -> str:
    """So many items, in words."""
    return "1 item" if count == 1 else f"{count:,} items"


def one_off(got: list[object], wanted: list[object]) -> str:
    """One item missing, too many, or another."""
    at = first_difference(got, wanted)
    if len(wanted) < ENOUGH_ITEMS or len(got) < ENOUGH_ITEMS:
        return ""
    if got[at:] == wanted[at + 1 :]:
        return f"One item is missing, at {at}; all others are right."
    if got[at + 1 :] == wanted[at:]:
        return f"There is one item too many, at {at}; all others are right."
    if got[at + 2 :] == wanted[at + 2 :] and got[at : at + 2] == wanted[at : at + 2][::-1]:
        return (
            f"Items {at} and {at + 1} are swapped; all others are right. If nothing else decides"
            " which comes first, do you break the tie as the text says?"
        )
    if got[at + 1 :] == wanted[at + 1 :]:
        return f"Only item {at} is wrong."
    return ""


def first_difference(got: list[object], wanted: list[object]) -> int:
    """Where two lists begin to differ."""
    pairs = zip(got, wanted, strict=False)
    return next((i for i, (g, w) in enumerate(pairs) if g != w), min(len(got), len(wanted)))


def offset(got: list[object], wanted: list[object]) -> str:
    """Each number too large by the same amount."""
    numbers = [(g, w) for g, w in zip(got, wanted, strict=False) if is_id(g) and is_id(w)]
    steps = {g - w for g, w in numbers if isinstance(g, int) and isinstance(w, int)}
    if len(got) != len(wanted) or len(numbers) < len(got) or len(steps) != 1:
        return ""
    if len(set(wanted)) < ENOUGH_ITEMS:
        return ""
    step = steps.pop()
    return f"Every number is {abs(step)} too {'large' if step > 0 else 'small'}."


def is_id(item: object) -> bool:
    """Return True for an integer."""
    return isinstance(item, int) and not isinstance(item, bool)


def reversed_order(got: list[object], wanted: list[object]) -> str:
    """Return a sentence if the items are the same, backwards or in another order."""
    if len(got) < ENOUGH_ITEMS or Counter(got) != Counter(wanted):
        return ""
    if got == wanted[::-1]:
        return "The items are right, and in reverse order."
    at = first_difference(got, wanted)
    return (
        f"The items are right, but not their order, from item {at} on. If nothing else decides"
        " which comes first, do you break the tie as the text says?"
    )


def across_a_border(got: list[object], wanted: list[object]) -> str:
    """The first item that is wrong joins what pre-tokenization or a special token keeps apart."""
    at = first_difference(got, wanted)
    if at >= len(got) or "bytes" not in kinds(wanted):
        return ""
    item = got[at]
    token = b"".join(p for p in item if isinstance(p, bytes)) if isinstance(item, tuple) else item
    if not isinstance(token, bytes):
        return ""
    if b"<|" in token or b"|>" in token:
        return f"Item {at} of yours is a piece of a special token, which is never counted."
    inner = token.lstrip()
    if inner and any(blank in inner for blank in (b" ", b"\n", b"\t")):
        return f"Item {at} of yours crosses the border of a pre-token: there is a blank within it."
    return ""


QUESTIONS: tuple[Callable[[list[object], list[object]], str], ...] = (
    *(other_kind, across_a_border, cut_short, one_off, offset, reversed_order),
)
