"""What the rubric says of a name."""

from collections.abc import Iterator

from cs336_grader.records import Consequence
from cs336_grader.rubric import Rubric, Rules


class RuleBook:
    """The rules for each problem: those for all, and its own.

    A name stands for all that it holds; the longest name that holds another decides on it.
    """

    def __init__(self, rubric: Rubric) -> None:
        general = rulings(rubric.rules)
        self.of_problem = {
            name: general | rulings(problem) for name, problem in rubric.problems.items()
        }
        # One problem for each set of rules: most problems have no rules of their own.
        self.examples = list({str(rules): name for name, rules in self.of_problem.items()}.values())

    def ruling(self, name: str, problem: str) -> Consequence | None:
        """What the use of a name leads to in a problem; None where it is allowed."""
        rules = self.of_problem[problem]
        return next((rules[held] for held in holders(name) if held in rules), None)

    def rules_on(self, name: str) -> bool:
        """Whether the use of a name leads to anything in some problem."""
        return any(self.ruling(name, problem) is not None for problem in self.examples)

    def rules_within(self, name: str) -> bool:
        """Whether a name holds something that is ruled on."""
        inside = f"{name}."
        return any(
            rule.startswith(inside) for one in self.examples for rule in self.of_problem[one]
        )


def rulings(rules: Rules) -> dict[str, Consequence | None]:
    """What each name of some rules leads to."""
    return {
        **dict.fromkeys(rules.human_look, Consequence.HUMAN_LOOK),
        **dict.fromkeys(rules.forbidden, Consequence.COSTS_POINTS),
        **dict.fromkeys(rules.allowed, None),
    }


def holders(name: str) -> Iterator[str]:
    """A dotted name and all that hold it, the longest first.

    >>> list(holders("torch.nn.Linear"))
    ['torch.nn.Linear', 'torch.nn', 'torch']
    """
    while name:
        yield name
        name = name.rpartition(".")[0]
