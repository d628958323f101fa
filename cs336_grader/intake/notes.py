"""What intake chose, left out or refused, in sentences for the report."""

# Of the paths that one reason holds for, this many are named.
NAMED = 3
MOST_SENTENCES = 30


class Notes:
    """Collects sentences, and paths that were skipped for the same reason."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.paths: dict[str, dict[str, None]] = {}

    def say(self, sentence: str) -> None:
        """Add a sentence."""
        self.sentences.append(sentence)

    def skipped(self, reason: str, path: object) -> None:
        """Note a path that was left out."""
        self.paths.setdefault(reason, {})[str(path)] = None

    def lines(self) -> tuple[str, ...]:
        """All that was noted, one line a sentence or reason.

        >>> notes = Notes()
        >>> for name in "abcde":
        ...     notes.skipped("links are not followed", name)
        >>> notes.lines()
        ('Left out (links are not followed): a, b, c and 2 more.',)
        """
        more = len(self.sentences) - MOST_SENTENCES
        return (
            *self.sentences[:MOST_SENTENCES],
            *([f"And {more:,} remarks more."] if more > 0 else []),
            *(
                f"Left out ({reason}): {named(list(paths))}."
                for reason, paths in self.paths.items()
            ),
        )


def named(names: list[str], most: int = NAMED) -> str:
    """The first few of some names, and how many there are beside them."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
