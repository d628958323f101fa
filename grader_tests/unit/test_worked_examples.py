"""The examples in docstrings give what they say."""

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import cs336_basics
import cs336_grader


def modules() -> Iterator[str]:
    """The names of all modules of both packages."""
    for package in (cs336_basics, cs336_grader):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples(name: str) -> None:
    """Every example of a module gives the result that stands below it."""
    assert doctest.testmod(importlib.import_module(name)).failed == 0
