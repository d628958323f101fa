"""The program ``cs336``: how it starts, before it is known which command is asked for."""

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

# Python looks for garbage whenever there are so many objects more. Modules and syntax trees are
# many objects and no garbage: to look through them takes as long as to parse.
OBJECTS_BETWEEN_COLLECTIONS = 100_000


def commands() -> "click.Group":
    """All commands, imported, in a process of their own."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    from .cli import main as imported  # noqa: PLC0415 (only now, when the collector is told)

    # What is here stays to the end, and is not looked through once more at the end.
    gc.freeze()
    return imported


def main() -> None:
    """Run the command that is asked for."""
    commands()()


if __name__ == "__main__":
    main()
