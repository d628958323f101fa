"""Holds a submission against the assignment's rules: by what its run computed.

examination.py  what the run showed, the problem that it touches and what that costs
rulebook.py     what the rubric says of an operator or a name
source.py       the line of the source that something comes from, and code that hides what it calls
"""

from .examination import Examination as Examination
