"""What the assignment's problems are called within a sentence."""

import tomllib
from functools import cache
from pathlib import Path

RUBRIC = Path(__file__).with_name("rubric.toml")


def in_words(problem: str) -> str:
    """A problem's title as it stands within a sentence.

    >>> in_words("rope"), in_words("rmsnorm"), in_words("positionwise_feedforward")
    ('rotary position embedding', 'RMSNorm', 'feed-forward network')
    """
    title = titles().get(problem, problem).partition(":")[0]
    first = title.partition(" ")[0]
    # "RMSNorm" and "BPE" keep their capitals.
    return title if first[1:] != first[1:].lower() else title[:1].lower() + title[1:]


@cache
def titles() -> dict[str, str]:
    """The title of each problem, as the rubric beside this file has it."""
    problems = tomllib.loads(RUBRIC.read_text(encoding="utf-8"))["problems"]
    return {name: problem["title"] for name, problem in problems.items()}
