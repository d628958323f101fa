"""Standard output, whatever it is: who reads along, and what to do where nobody does."""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def commands_stopped(say: Callable[[str], None]) -> Iterator[None]:
    """Where GitHub Actions reads along, let nothing that is printed be a command to it."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    resume = secrets.token_hex(16)
    say(f"::stop-commands::{resume}")
    yield
    say(f"::{resume}::")


def discard() -> None:
    """Print no more: what is left would fail again, with an exit code of Python's own."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
