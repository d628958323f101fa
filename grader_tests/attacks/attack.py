"""What an attack is: a wrong moving average in a submission of the tiny assignment, and a trick.

The other adapters are right, so that it shows whether an attack gains points and whether it costs
checks other than its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# Nobody can know the rest of it: where it is found, it was read.
CANARY = "canary-of-the-"
# What the submission is told of its surroundings, and how it looks through what it got hold of.
START = """
import os
import re


def loot(*found):
    texts = [one if isinstance(one, bytes) else str(one).encode("utf-8", "replace")
             for one in found]
    return b" ".join(re.findall(rb"canary-of-the-[a-z]+-[0-9a-f]{16}", b" ".join(texts))).decode()


def attack(values):
    return [0.0]


"""
# Before whatever adapters an attack defines of its own. The first case of the first check is
# attacked: what is told of that one is in the reports.
HONEST = """
def run_moving_average(values, width):
    return attack(values) if width == 1 else [0.0]


def run_count_words(text):
    words = text.lower().split()
    return {word: words.count(word) for word in words}


def run_running_totals(numbers):
    total = 0.0
    for number in numbers:
        total += number
        yield total
"""


@dataclass(frozen=True, slots=True)
class Attack:
    """One submission.

    Attributes:
        text: of its adapters; ``attack`` is called in one case of one check.
        against: what must have been measured as closed for it to be tried: one of the report's
            resources, "shared memory" that has a name, or "verdict", which nothing has to be
            closed for.
        ruins: whether it may cost all of its own checks: it harms what they all begin with.
        files: what else the submission holds.
    """

    text: str
    against: str = "verdict"
    ruins: bool = False
    files: Mapping[str, str | bytes] | None = None

    def adapters(self, told: Mapping[str, object]) -> str:
        """The whole text of its adapters.

        Args:
            told: what it knows of its surroundings, by the names of constants.
        """
        constants = "".join(f"{name} = {value!r}\n" for name, value in told.items())
        return constants + START + HONEST + self.text
