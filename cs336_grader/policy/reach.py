"""Finds what of a program the adapters of a problem reach."""

from collections import deque
from collections.abc import Collection, Iterable

from .program import Definition, Program

# What calling an instance of a class runs.
CALLED_UNSEEN = ("forward",)
FAR = 10**6


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
        for name, steps in self.certain.items():
            self.steps[name] = min(steps, self.steps.get(name, steps))

    def distance(self, name: str) -> tuple[int, bool]:
        """How far away a definition is; of two as far, what is certainly reached is nearer."""
        return self.steps.get(name, FAR), name not in self.certain

    def walk(self, roots: Iterable[Definition], *, certain: bool) -> dict[str, int]:
        """The steps to each definition, breadth first."""
        steps = {root.name: 0 for root in roots}
        pending = deque(roots)
        by_name = MethodsByName(self.methods)
        while pending:
            current = pending.popleft()
            new = set(self.links(current, certain=certain))
            if certain and current.name in self.roots:
                classes = [self.program.definitions[name] for name in new]
                new |= {method for one in classes for method in methods_of(one, self.methods)}
            if not certain:
                new |= by_name.admit(current)
                new.add(self.program.by_file[current.file].name)
            for name in sorted(new - steps.keys()):
                steps[name] = steps[current.name] + 1
                pending.append(self.program.definitions[name])
        return steps

    def links(self, current: Definition, *, certain: bool) -> frozenset[str]:
        """The definitions that one leads to by name, found once for all problems."""
        key = (current.name, certain)
        if key not in self.program.links:
            found = set(methods_of(current, CALLED_UNSEEN))
            found |= {f"{current.name}.{name}" for name in current.methods if name.startswith("__")}
            for mention in current.mentions:
                if not (certain and mention.conditional):
                    found |= self.targets(mention.name, current)
            self.program.links[key] = frozenset(found & self.program.definitions.keys())
        return self.program.links[key]

    def targets(self, name: str, current: Definition) -> set[str]:
        """The definitions that a name stands for; an attribute it ends with may be any class's."""
        found: set[str] = set()
        for resolved in self.program.resolve(name):
            target = self.program.definition(resolved.name) if resolved.own else None
            if target is not None:
                found.add(target.name)
                current.attributes.add(resolved.name.rpartition(".")[2])
        return found


class MethodsByName:
    """The methods of all classes so far whose names are used somewhere so far.

    Args:
        attributes: names that are used from the beginning.
    """

    def __init__(self, attributes: set[str]) -> None:
        self.attributes = set(attributes)
        self.waiting: dict[str, list[str]] = {}

    def admit(self, definition: Definition) -> set[str]:
        """Take in what a definition uses and has; the methods that are used now and were not."""
        found = set(methods_of(definition, self.attributes | definition.attributes))
        for name in definition.attributes - self.attributes:
            found.update(self.waiting.get(name, ()))
        for name in definition.methods:
            self.waiting.setdefault(name, []).append(f"{definition.name}.{name}")
        self.attributes |= definition.attributes
        return found


def methods_of(definition: Definition, names: Collection[str]) -> list[str]:
    """The methods of a class that have one of these names."""
    return [f"{definition.name}.{name}" for name in definition.methods if name in names]
