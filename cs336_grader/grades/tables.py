"""Reads CSV files that people and platforms write; what is wrong is told with its line."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 32 * 2**20


class GradesError(Exception):
    """Something in the files of a class is wrong: one line of text for each."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file.

    Attributes:
        path: where it lies.
        columns: their names, without blanks around them, in the order of the file.
        rows: the cells of each line by column, without blanks around them.
        lines: the number of each row's line in the file.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]
    lines: tuple[int, ...]

    def where(self, number: int) -> str:
        """Return the place of a row, counted from 0, for a message."""
        return f"{self.path.name}, line {self.lines[number]}"


def read_table(path: Path) -> Table:
    """Read a CSV file: UTF-8, separated by commas, semicolons or tabs. Empty lines are skipped.

    Raises:
        GradesError: it cannot be read, or it has no row of column names.
    """
    text = text_of(path)
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        numbered = [(reader.line_num, cells) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise GradesError([f"{path.name}: is no CSV file: {error}"]) from error
    if not numbered:
        raise GradesError([f"{path.name}: is empty; its first line names the columns"])
    columns = tuple(name.strip() for name in numbered[0][1])
    if twice := [name for name in columns if name and columns.count(name) > 1]:
        raise GradesError([f"{path.name}, line 1: there are two columns {twice[0]!r}"])
    long = [number for number, cells in numbered[1:] if len(cells) > len(columns)]
    if long:
        raise GradesError([f"{path.name}, line {long[0]}: has more cells than there are columns"])
    return Table(
        path,
        columns,
        tuple(
            dict.fromkeys(columns, "") | dict(zip(columns, map(str.strip, cells), strict=False))
            for _, cells in numbered[1:]
        ),
        tuple(number for number, _ in numbered[1:]),
    )


def text_of(path: Path) -> str:
    """Return the text of a file that people write.

    Raises:
        GradesError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise GradesError([f"{path.name}: has more than {MAX_BYTES:,} bytes"])
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise GradesError(
            [f"{path.name}, line {line}: is not UTF-8; save the file as CSV UTF-8"]
        ) from error
    except OSError as error:
        raise GradesError([f"{path}: {error.strerror or type(error).__name__}"]) from error
