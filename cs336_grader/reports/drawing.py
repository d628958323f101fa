"""The picture of a failed comparison as SVG paths and in words."""

from collections.abc import Iterator

from cs336_grader.records import Picture

# What each level stands for, in multiples of the tolerance.
STEPS = ("1", "3", "10", "32", "100", "320", "1,000", "3,200", "10,000")


def paths(picture: Picture) -> Iterator[tuple[int, str]]:
    """A path for each level that occurs, with a mark for each of its cells."""
    for level in range(10):
        marks = [
            mark(level, column, row)
            for row, cells in enumerate(picture.levels)
            for column, digit in enumerate(cells)
            if digit == str(level)
        ]
        if marks:
            yield level, "".join(marks)


def mark(level: int, column: int, row: int) -> str:
    """A dot where the result is right, else the whole cell: colour is not all that tells them."""
    if level == 0:
        return f"M{column}.35 {row}.35h.3v.3h-.3z"
    return f"M{column} {row}h1v1h-1z"


def size(picture: Picture) -> tuple[int, int]:
    """Columns and rows."""
    return max(map(len, picture.levels), default=0), len(picture.levels)


def in_words(picture: Picture) -> str:
    """What there is to see: how many cells are off, where, and by how much."""
    off = [
        (row, column)
        for row, cells in enumerate(picture.levels)
        for column, digit in enumerate(cells)
        if digit != "0"
    ]
    if not off:
        return "No cell is off."
    columns, rows = size(picture)
    worst = max(max(cells, default="0") for cells in picture.levels)
    if len(off) == rows * columns:
        where = f"All {len(off)} cells are off"
    else:
        down, across = span("row", [row for row, _ in off]), span("column", [at for _, at in off])
        where = f"{len(off)} of {rows * columns} cells are off, in {down} and {across}"
    return f"{where}; the worst by more than {STEPS[int(worst) - 1]} times the tolerance."


def span(what: str, places: list[int]) -> str:
    """From the first of some places to the last, counted from 0."""
    first, last = min(places), max(places)
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"
