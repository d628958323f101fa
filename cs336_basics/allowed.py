"""Values that make no sense, refused with their name and what is allowed."""

import math
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from numbers import Integral, Real


def require_whole(name: str, value: object, least: int, most: int | float = math.inf) -> None:
    """Refuse a value that is not a whole number from least to most.

    Raises:
        ValueError: names the value and what it may be.
    """
    # bool is a kind of int in Python alone.
    if not isinstance(value, bool) and isinstance(value, Integral) and least <= int(value) <= most:
        return
    allowed = f"at least {least}" if most == math.inf else f"from {least} to {most}"
    raise ValueError(f"{name} = {value!r} must be a whole number, {allowed}")


def require_number(name: str, value: object, allowed: str, holds: Callable[[float], bool]) -> None:
    """Refuse a value that is not a finite number, or for which a condition does not hold.

    Raises:
        ValueError: names the value and what it may be.
    """
    if not isinstance(value, bool) and isinstance(value, Real):
        with suppress(OverflowError):  # a whole number that is too large for a float
            if math.isfinite(float(value)) and holds(float(value)):
                return
    raise ValueError(f"{name} = {value!r} must be a finite number, {allowed}")


def require_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse a value that is not one of the choices.

    Raises:
        ValueError: names the value and the choices.
    """
    if value not in choices:
        raise ValueError(f"{name} = {value!r} must be one of {', '.join(choices)}")


def require_utf8(name: str, text: str) -> None:
    """Refuse text that is not UTF-8, whose bytes Python reads as lone surrogates.

    Raises:
        ValueError: tells the first such byte and what to do.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        byte = os.fsencode(text[error.start])[0]
        raise ValueError(
            f"{name} = {text!r} is not UTF-8: character {error.start + 1} is the byte 0x{byte:02x};"
            " type it in a terminal whose encoding is UTF-8"
        ) from error
