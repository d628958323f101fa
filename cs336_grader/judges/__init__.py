"""Starts judges, one for each submission, and tells what they find.

    launcher ──▶ template            imports torch, is told nothing, forks
                   ├─ recorder       learns the suite and seed, records expected values, forks
                   │    └─ judge     runs the suite on one submission
                   └─ zygote         sandboxed; all workers of one submission descend from it

The launcher asks the template for a zygote and hands its connection to the recorder, which forks a
judge that holds it. So no worker descends from a process that knew an answer; with
`--worker-python` the judge starts the zygote as a new program. One submission is a class of one.

messages.py       what is said between launcher, recorder and judge
template.py       the template and the recorder, from inside
judge_process.py  a judge, from inside
client.py         all of them, from outside: for the launcher, which has no use for torch
"""

from .client import CannotForkError as CannotForkError
from .client import Conditions as Conditions
from .client import JudgeStarter as JudgeStarter
from .client import Template as Template
from .client import lesson as lesson
from .client import measured as measured
from .client import results as results
from .messages import Event as Event
from .messages import Lesson as Lesson
