"""How much the submissions of tests may use."""

from cs336_checks import rubric
from cs336_grader.running import Limits


def limits_with(**changed: int) -> Limits:
    """What a rubric that says nothing else allows, but for these."""
    return Limits(**rubric.Limits(**changed).model_dump())
