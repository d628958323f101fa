"""Finds what of a program the adapters of a problem reach."""

from collections import deque
from collections.abc import Iterable

from .program import Definition, Program

# What calling an instance of a class runs.
CALLED_UNSEEN = ("forward",)


class Reach:
    """All definitions that some adapters reach, each with how many steps away it is.

    A step is certain where the code says by name what runs, and nothing makes it optional.

    Args:
        program: with its definitions filled in.
        adapters: the dotted names of the adapters.
        methods: the names of the methods that the suite calls of what an adapter returns.

    Attributes:
        certain: the steps to what is certainly reached.
        steps: the steps to all that may be reached.
    """

    def __init__(self, program: Program, adapters: Iterable[str], methods: set[str]) -> None:
        self.program = program
        self.methods = methods
        roots = [
            found
            for adapter in adapters
            for resolved in program.resolve(adapter)
            if resolved.own and (found := program.definition(resolved.name)) is not None
        ]
        self.roots = {root.name for root in roots}
        self.certain = self.walk(roots, certain=True)
        self.steps = self.walk(roots, certain=False)
        # What may be reached includes what certainly is, however far that is.
        self.steps = {**self.certain, **self.steps}

    def walk(self, roots: Iterable[Definition], *, certain: bool) -> dict[str, int]:
        """The steps to each definition, breadth first."""
        steps = {root.name: 0 for root in roots}
        pending = deque(roots)
        attributes = set() if certain else set(self.methods)
        classes: list[Definition] = []
        while pending:
            current = pending.popleft()
            if current.methods:
                classes.append(current)
            new = self.targets(current, certain=certain)
            if not certain:
                attributes |= current.attributes
                new |= {m for c in classes for m in methods_of(c, attributes)}
                new.add(self.program.by_file[current.file].name)
            for name in sorted(new - steps.keys()):
                steps[name] = steps[current.name] + 1
                pending.append(self.program.definitions[name])
        return steps

    def targets(self, current: Definition, *, certain: bool) -> set[str]:
        """The definitions that one leads to."""
        found = set(methods_of(current, CALLED_UNSEEN))
        found |= {f"{current.name}.{name}" for name in current.methods if name.startswith("__")}
        for mention in current.mentions:
            if certain and mention.conditional:
                continue
            for resolved in self.program.resolve(mention.name) if mention.name else ():
                target = self.program.definition(resolved.name) if resolved.own else None
                if target is None:
                    continue
                found.add(target.name)
                if not certain:
                    current.attributes.add(resolved.name.rpartition(".")[2])
                elif current.name in self.roots:
                    found |= set(methods_of(target, self.methods))
        return found & self.program.definitions.keys()


def methods_of(definition: Definition, names: Iterable[str]) -> list[str]:
    """The methods of a class that have one of these names."""
    return [f"{definition.name}.{name}" for name in definition.methods if name in names]
