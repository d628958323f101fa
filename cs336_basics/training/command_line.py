"""Shared by all commands: exit statuses with one sentence, and options that are whole numbers."""

import argparse
import io
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress


def in_words(name: str, command: Callable[[], int]) -> int:
    """Run a command and return its exit status: 1, with one sentence, where it fails.

    A closed pipe is no error, because its reader has enough. Interrupted, the status is 130.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets an escape, and no traceback.
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        # As Python reads arguments, so that one message serves for text in another encoding.
        sys.stdin.reconfigure(errors="surrogateescape")
    try:
        return command()
    except BrokenPipeError:
        # Python would try to write the rest when it ends.
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
    """Return a type for argparse: a whole number from least to most."""
    allowed = f"at least {least}" if most == math.inf else f"from {least} to {most}"

    def parsed(text: str) -> int:
        with suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, {allowed}")

    return parsed
