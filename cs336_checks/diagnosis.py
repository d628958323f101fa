"""Names the known mistake that a failed comparison shows, and never guesses.

A mistake is named where the output agrees with what it gives, within the tolerance that right work
is held to, at places where it is wrong, and in enough of them that it is no accident.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .catalogue import Mistake
from .comparison import Comparison, Explanation
from .differences import Numbers, as_array, dtype_name, errors, number_kind, rounding
from .fingerprints import (
    Fingerprint,
    FingerprintFolder,
    digest,
    elements,
    fingerprint,
)

__all__ = ["Suspect", "diagnose", "fingerprint", "matches"]

# More mistakes than this that give the same are no help.
MOST_TOLD = 3
# With up to so many in all, those of the problem itself are told, and the parts of the others.
MOST_ALIKE = 8
# An explanation must be this unlikely to agree by accident: one in 2^10.
ENOUGH_BITS = 10.0
# What one number can tell at most, however well it agrees, and what one item of a list does.
NUMBER_BITS, ITEM_BITS = 16.0, 5.0
# Numbers that come out of many mistakes tell almost nothing.
PLAIN_NUMBERS, PLAIN_BITS = 2, 1.0
# A list or an array of fewer different items accuses nothing.
LEAST_ITEMS = 2
# What each place tells that is wrong alike, beside others that are right alike, and all together.
PLACE_BITS, PATTERN_BITS = 2, 10


# Returns a problem's title as it stands within a sentence.
Title = Callable[[str], str]


@dataclass(frozen=True, eq=False)
class Suspect:
    """Known mistakes made together, most often a single one, and what they give.

    Attributes:
        mistakes: all that are made.
        value: what they give for the comparison.
    """

    mistakes: tuple[Mistake, ...]
    value: Fingerprint


@dataclass(frozen=True, eq=False)
class Match:
    """A suspect that a comparison's value agrees with.

    Attributes:
        error: the largest at the known places.
        bits: how unlikely that is by accident.
    """

    suspect: Suspect
    error: float
    bits: float


def diagnose(
    comparison: Comparison,
    suspects: Sequence[Suspect],
    problem: str,
    title: Title,
) -> Explanation:
    """Name the mistakes that a failed comparison shows, or nothing.

    Args:
        comparison: what failed.
        suspects: what is known to give something wrong for it.
        problem: the problem that the comparison is about.
        title: returns a problem's title within a sentence.
    """
    if accuses_nothing(comparison.actual):
        return Explanation("", candidates=None)
    every = matches(comparison, suspects)
    candidates = tuple({mistake.id for match in every for mistake in match.suspect.mistakes})
    found = every
    if MOST_TOLD < len(every) <= MOST_ALIKE:
        found = [match for match in every if own(match, problem)]
    if not 1 <= len(found) <= MOST_TOLD or min(match.bits for match in found) < ENOUGH_BITS:
        return Explanation("", candidates=candidates)
    rest = [match for match in every if match not in found]
    groups = [accused(match.suspect, problem) for match in found]
    beside = [one for one in found[0].suspect.mistakes if one not in groups[0]]
    given = f"Given your {parts(beside, title)}, your" if beside and len(found) == 1 else "Your"
    return replace(
        explanation(groups, problem, title, given),
        doubt=also_given(rest, title),
        candidates=candidates,
    )


def explanation(
    groups: Sequence[tuple[Mistake, ...]], problem: str, title: Title, given: str = "Your"
) -> Explanation:
    """Return what is told of mistakes that give the same.

    Args:
        groups: the mistakes; those of a group are made together.
        problem: the problem that the comparison is about.
        title: returns a problem's title within a sentence.
        given: begins the sentence.
    """
    ids = tuple(dict.fromkeys(mistake.id for group in groups for mistake in group))
    alike: dict[str, Sequence[Mistake]] = {}
    for group in groups:
        # Mistakes of two problems may be told in the same words.
        if clause(group) not in alike or any(mistake.problem == problem for mistake in group):
            alike[clause(group)] = group
    mistakes = [mistake for group in alike.values() for mistake in group]
    start, clauses = f"{given} output", list(alike)
    hint = " ".join(mistake.hint for mistake in mistakes)
    if all(mistake.problem != problem for mistake in mistakes):
        right = f"Your {title(problem)} is right, given your {parts(mistakes, title)}:"
        # The question is asked where the mistake is.
        start, hint = f"{right} its output", ""
    if len(clauses) == 1:
        return Explanation(f"{start} is what you get when {clauses[0]}.", hint, mistakes=ids)
    count = "either of two" if len(clauses) == 2 else "any of three"
    same = f"{start} is what you get with {count} known mistakes, which give the same here:"
    return Explanation("\n".join([same, *(f"- {one}" for one in clauses)]), mistakes=ids)


def clause(mistakes: Sequence[Mistake]) -> str:
    """Return what goes wrong with mistakes that are made together."""
    return " and ".join(mistake.wrong for mistake in mistakes)


def matches(comparison: Comparison, suspects: Sequence[Suspect]) -> list[Match]:
    """The suspects that a comparison's value agrees with, those with needless mistakes left out."""
    with np.errstate(all="ignore"):
        found = [agreed for suspect in suspects if (agreed := agreement(comparison, suspect))]
    made = [{mistake.id for mistake in match.suspect.mistakes} for match in found]
    return [
        match
        for match, mistakes in zip(found, made, strict=True)
        if not any(fewer < mistakes for fewer in made)
    ]


def accuses_nothing(actual: object) -> bool:
    """Return True for a list or an array that has not two different items."""
    if isinstance(actual, list | tuple):
        return len(set(map(repr, actual))) < LEAST_ITEMS
    array = as_array(actual)
    return array is not None and array.size != 1 and np.unique(array).size < LEAST_ITEMS


def recognise(comparison: Comparison, prints: FingerprintFolder, title: Title) -> Explanation:
    """Name the mistakes by the fingerprints beside the suite."""
    suspects = [Suspect((mistake,), value) for mistake, value in prints.of(comparison)]
    file = prints.file(comparison.check)
    problem = file.problem(comparison.check)
    return diagnose(comparison, suspects, problem, title)


def agreement(comparison: Comparison, suspect: Suspect) -> Match | None:
    """The suspect, if the comparison's value agrees with what it gives."""
    value, actual = suspect.value, comparison.actual
    if value.shape is None:
        if not isinstance(actual, list | tuple) or digest(actual) != value.digest:
            return None
        return Match(suspect, 0.0, bits_of_items(list(actual), comparison.expected[0]))
    array = as_array(actual)
    if array is None or array.shape != value.shape or not value.places.size:
        return None
    same = dtype_name(actual) == value.dtype
    if not same and (comparison.same_dtype or number_kind(array) != value.kind):
        return None
    noise = rounding(value.numbers)
    error = errors(elements(array, value.places), value.numbers)
    if (error > comparison.tolerance.allowed(value.numbers) + noise).any():
        return None
    bits = bits_of_numbers(comparison, value, error + noise)
    return Match(suspect, float(error.max()), bits)


def bits_of_numbers(comparison: Comparison, value: Fingerprint, error: Numbers) -> float:
    """How unlikely it is that a wrong output agrees this well with a mistake's by accident.

    Each different number, at a place where the mistake's is clearly wrong, tells as many bits as it
    is nearer to the mistake's than the mistake's is to the right one. That the same places are
    wrong tells something as well, if telling numbers are right at others.
    """
    expected, numbers = comparison.expected[0], value.numbers
    wanted = as_array(expected)
    if wanted is None or wanted.shape != value.shape:
        return float(told_by(numbers, np.abs(numbers), error).sum())
    right = elements(wanted, value.places)
    apart = errors(numbers, right)
    wrong = apart > 2 * comparison.tolerance.allowed(right) + 4 * error
    if not wrong.any():
        other = dtype_name(expected) != value.dtype
        return ENOUGH_BITS if other and comparison.same_dtype else 0.0
    bits = told_by(numbers[wrong], apart[wrong], error[wrong])
    telling = told_by(numbers[~wrong], np.abs(numbers[~wrong]), error[~wrong]) > PLAIN_BITS
    pattern = PLACE_BITS * min(np.count_nonzero(wrong), np.count_nonzero(telling))
    return float(bits.sum() + min(pattern, PATTERN_BITS))


def told_by(numbers: Numbers, apart: Numbers, error: Numbers) -> Numbers:
    """The bits that each different number tells; those that all kinds of mistakes give, hardly any.

    Args:
        numbers: what a mistake gives.
        apart: how far each is from what it would be otherwise.
        error: how well the output agrees with it.
    """
    _, chosen = np.unique(rounded(numbers), return_index=True)
    found = numbers[chosen]
    bits = np.clip(np.log2(apart[chosen] / error[chosen]), 0.0, NUMBER_BITS)
    plain = ~np.isfinite(found) | np.isin(np.abs(found), np.arange(PLAIN_NUMBERS + 1))
    return np.where(plain, PLAIN_BITS, bits)


def rounded(numbers: Numbers) -> Numbers:
    """Numbers to four digits, so that equal ones are the same."""
    scale = 10.0 ** (3 - np.floor(np.log10(np.abs(numbers))))
    found = np.round(numbers * scale) / scale
    return np.where(np.isfinite(found), found, numbers)


def bits_of_items(actual: list[object], expected: object) -> float:
    """Return the bits for equal lists: what the items tell that are not the expected ones."""
    if not isinstance(expected, list):
        return 0.0
    got, wanted = Counter(map(repr, actual)), Counter(map(repr, expected))
    others = {item for item in got | wanted if got[item] != wanted[item]}
    return sum(ITEM_BITS if len(item) > 1 else PLAIN_BITS for item in others)


def accused(suspect: Suspect, problem: str) -> tuple[Mistake, ...]:
    """The mistakes of the problem itself, or where there is none, all of those it is built on."""
    found = tuple(mistake for mistake in suspect.mistakes if mistake.problem == problem)
    return found or suspect.mistakes


def own(found: Match, problem: str) -> bool:
    """Return True if it holds a mistake of the problem itself."""
    return any(mistake.problem == problem for mistake in found.suspect.mistakes)


def parts(mistakes: Sequence[Mistake], title: Title) -> str:
    """The problems of mistakes: ``softmax and your linear layer``."""
    return " and your ".join(dict.fromkeys(title(mistake.problem) for mistake in mistakes))


def also_given(rest: Sequence[Match], title: Title) -> str:
    """Return a sentence on parts in which a mistake would give the same, if there are any."""
    mistakes = [mistake for found in rest for mistake in found.suspect.mistakes]
    if not mistakes:
        return ""
    return f"A mistake in your {parts(mistakes, title)} would give the same: do their checks pass?"
