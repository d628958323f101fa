"""Degenerate work: answers that solve nothing, with the types and shapes of this assignment.

None may earn more than a twentieth of its problem's points. Constants, noise, nothing and arguments
given back are not here: the audit makes them itself, for any assignment. Importing the package
enters all of its modules' functions in ``DEGENERATE``. ``adapters_with`` gives all adapters of a
submission with one of them in it.
"""

from cs336_checks.catalogue import adapters_with

from . import probabilities, text, training
from .catalogue import DEGENERATE

__all__ = ["DEGENERATE", "adapters_with", "probabilities", "text", "training"]
