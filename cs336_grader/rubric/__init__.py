"""The rubric of an assignment, read, validated, and tied to the suite's functions.

model.py        what rubric.toml holds
consistency.py  what must fit together in it
assignment.py   the folder that holds it with the suite
scope.py        what a search for explanations needs to know of it
"""

from .assignment import Assignment as Assignment
from .assignment import Check as Check
from .assignment import load_assignment as load_assignment
from .assignment import read_rubric as read_rubric
from .model import RUBRIC as RUBRIC
from .model import Limits as Limits
from .model import Problem as Problem
from .model import Rubric as Rubric
from .model import RubricError as RubricError
from .model import Rules as Rules
from .model import holds as holds
from .scope import Scope as Scope
from .scope import catalogue as catalogue
from .scope import scope as scope
