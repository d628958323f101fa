"""The rubric of an assignment, read, validated, and tied to the suite's functions.

model.py        what rubric.toml holds
consistency.py  what must fit together in it
assignment.py   the folder that holds it with the suite
chapters.py     the chapters of its course text, and the problems that each is about
tracks.py       which tracks a submission attempts
"""

from .assignment import Assignment as Assignment
from .assignment import Check as Check
from .assignment import load_assignment as load_assignment
from .assignment import read_rubric as read_rubric
from .chapters import COURSE as COURSE
from .chapters import chapter_of_problems as chapter_of_problems
from .chapters import chapters as chapters
from .model import RUBRIC as RUBRIC
from .model import Lead as Lead
from .model import Limits as Limits
from .model import Problem as Problem
from .model import Rubric as Rubric
from .model import RubricError as RubricError
from .model import Rules as Rules
from .model import Tier as Tier
from .model import holds as holds
from .model import share as share
from .tracks import adapters_of_tracks as adapters_of_tracks
from .tracks import attempted_tracks as attempted_tracks
from .tracks import counting_adapters as counting_adapters
