"""Holds a submission against the assignment's rules: in its source, and by what its run entered.

Read examination.py first: it decides what is found, and whom it touches. Behind it stand

program.py      the source as data: modules, what they define, what a dotted name stands for
reading.py      what each definition mentions (bindings.py, scopes.py: what names are bound to)
reach.py        which definitions the adapters of a problem come to, and how far away they are
rulebook.py     what the rubric says of a name
dynamic.py      what asks for a human look whatever the rubric says
wording.py      the sentences
"""

from .examination import Examination as Examination
