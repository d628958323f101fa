"""Text of a student's cannot act on a terminal, nor hide what stands around it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs336_grader.reports.plain_text import plain, plain_line

HOSTILE = {
    "colours": ("\x1b[1;31mred\x1b[0m", "red"),
    "cursor": ("FAILED\x1b[2K\x1b[1Gpassed", "FAILEDpassed"),
    "title": ("\x1b]0;title\x07x", "]0;titlex"),
    "clipboard": ("a\x1b]52;c;aGk=\x1b\\b", "a]52;c;aGk=\\b"),
    "eight-bit": ("\x9b31mred", "red"),
    "backspace": ("FAILED\b\b\b\b\b\bpassed", "FAILEDpassed"),
    "carriage return": ("FAILED\rpassed", "FAILED\npassed"),
    "reversed": ("a\u202eb", "ab"),
    "invisible": ("a\u200bb\ufeff", "ab"),
    "surrogate": ("a\ud800b", "a\ufffdb"),
    "unterminated": ("\x1b]0;rest of the message", "]0;rest of the message"),
    "null": ("a\0b", "ab"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text(kind: str) -> None:
    """What could act on a terminal is gone, all else is there."""
    text, expected = HOSTILE[kind]
    assert plain(text, 100) == expected


@given(st.text(), st.integers(1, 50))
def test_any_text(text: str, limit: int) -> None:
    """No text leaves a control character, exceeds the limit or cannot be encoded."""
    found = plain(text, limit)
    assert len(found) <= limit
    assert all(
        unicodedata.category(character)[0] != "C" for character in found if character != "\n"
    )
    found.encode()
    assert "\n" not in plain_line(text, limit)


def test_huge_text_is_cut_before_it_is_looked_at() -> None:
    """A hundred megabytes cost no more than the limit."""
    assert len(plain("\x1b[" * 50_000_000, 100)) <= 100
