"""Adapters that run in this process: what is known to be right or wrong."""

from collections.abc import Callable
from typing import Any

import pytest


class LocalAdapters:
    """Gives each case of a check adapters that nothing ran in before.

    Args:
        make: makes them anew.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def adapters_for(self, request: pytest.FixtureRequest) -> Any:  # noqa: ARG002 (the same for all)
        """The adapters."""
        return self.make()

    def use_new_worker(self) -> bool:
        """Nothing is to be done: each case has new adapters."""
        return False
