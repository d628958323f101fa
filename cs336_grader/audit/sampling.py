"""Chooses the elements of a tensor that tell known mistakes apart."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

# So many elements, evenly spread, are always among them; so many are where a mistake is wrong.
SPREAD, WRONG = 6, 6
MOST_PLACES = 40


def telling_places(
    values: Numbers, right: Numbers | None, allowed: Numbers
) -> npt.NDArray[np.int64]:
    """Elements by which mistakes are told from what is right and from each other.

    Args:
        values: what each mistake gives, (mistake, element).
        right: what is right, (element,), or None if it is of another shape.
        allowed: the largest error allowed, (element,) or a single one.
    """
    count = values.shape[1]
    chosen = set(np.linspace(0, count - 1, min(count, SPREAD)).astype(int).tolist())
    wrong = np.ones(values.shape, dtype=np.bool_)
    if right is not None:
        wrong = ~near(values, right, allowed)
    missing = np.minimum(wrong.sum(1), WRONG) - wrong[:, sorted(chosen)].sum(1)
    while (missing > 0).any() and len(chosen) < MOST_PLACES:
        helped = wrong[missing > 0].sum(0)
        helped[sorted(chosen)] = 0
        place = int(helped.argmax())
        chosen.add(place)
        missing = missing - wrong[:, place]
    separate(values, allowed, chosen)
    return np.array(sorted(chosen), dtype=np.int64)


def near(one: Numbers, other: Numbers, allowed: Numbers) -> npt.NDArray[np.bool_]:
    """Where numbers hardly differ by more than is allowed."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.asarray(same | (apart <= 2 * allowed))


def separate(values: Numbers, allowed: Numbers, chosen: set[int]) -> None:
    """Add an element for each two mistakes that differ, but in none of those chosen so far."""
    for i in range(len(values) - 1):
        for row in near(values[i + 1 :], values[i], allowed):
            if len(chosen) >= MOST_PLACES:
                return
            if not row.all() and row[sorted(chosen)].all():
                chosen.add(int(row.argmin()))
