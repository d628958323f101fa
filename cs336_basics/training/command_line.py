"""What all commands do alike: options that are checked, endings in words, text as it is."""

import argparse
import io
import math
import os
import sys
from collections.abc import Callable, Collection
from contextlib import suppress


def in_words(name: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit status: 1, with one sentence, where something is wrong.

    A closed pipe is no error, because its reader has enough. Interrupted, the status is 130.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without a sign for a character gets another one, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        # As in arguments, so that there is one message for text in another encoding.
        sys.stdin.reconfigure(errors="surrogateescape")
    try:
        return command()
    except BrokenPipeError:
        # Python must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        sys.stderr.write(f"python -m cs336_basics.{name}: there is not enough memory: {error}\n")
        return 1
    except (OSError, ValueError, ArithmeticError) as error:
        sys.stderr.write(f"python -m cs336_basics.{name}: {error}\n")
        return 1


def whole_number(least: int, most: float = math.inf) -> Callable[[str], int]:
    """A type for argparse: a whole number of some range, both ends included."""
    allowed = f"at least {least}" if most == math.inf else f"from {least} to {most}"

    def parsed(text: str) -> int:
        with suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, {allowed}")

    return parsed


def require_whole(name: str, value: object, least: int, most: float = math.inf) -> None:
    """Refuse what is not a whole number of some range, both ends included.

    Raises:
        ValueError: names the value and what it may be.
    """
    allowed = f"at least {least}" if most == math.inf else f"from {least} to {most}"
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} = {value!r} must be a whole number, {allowed}")


def require_number(name: str, value: object, allowed: str, holds: Callable[[float], bool]) -> None:
    """Refuse what is not a finite number for which a condition holds.

    Raises:
        ValueError: names the value and what it may be.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not holds(value)
    ):
        raise ValueError(f"{name} = {value!r} must be a finite number, {allowed}")


def require_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Refuse what is none of the choices.

    Raises:
        ValueError: names the value and the choices.
    """
    if value not in choices:
        raise ValueError(f"{name} = {value!r} must be one of {', '.join(choices)}")


def require_utf8(name: str, text: str) -> None:
    """Refuse text from a command line that is not UTF-8: Python has half characters for its bytes.

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
