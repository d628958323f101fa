"""All that a worker notes for the assignment's rules: operators, calls and packages."""

import importlib
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .entry_points import EntryPoints
from .operator_trace import OperatorTrace
from .packages import Finder


class CallRecord:
    """Notes what a submission runs that the rules are about. Make it before the import.

    Args:
        root: the folder that the submission lies in.
        rules: patterns of operators ("aten::*softmax*") and dotted names, each with whether it is
            noted.
    """

    def __init__(self, root: Path, rules: Mapping[str, bool]) -> None:
        self.operators = OperatorTrace({name: rules[name] for name in rules if "::" in name})
        names = {name: noted for name, noted in rules.items() if "::" not in name}
        self.entry_points = EntryPoints(root, names, self.operators.is_noted)
        packages = {name for name, noted in names.items() if noted and name.isidentifier()}
        for name in packages & sys.stdlib_module_names:
            importlib.import_module(name)
        self.entry_points.install()
        sys.meta_path.insert(0, Finder(packages - sys.modules.keys(), self.entry_points))

    def start(self) -> None:
        """Begin to record the operators of a case."""
        self.operators.start(tempfile.gettempdir())

    def stop(self) -> None:
        """End the record. Its operators are noted as other calls are, but have no place."""
        self.entry_points.noted |= {("", 0, name) for name in self.operators.stop()}

    def news(self) -> list[list[Any]]:
        """Return the calls since the last time: file, line and name of each."""
        return self.entry_points.news()
