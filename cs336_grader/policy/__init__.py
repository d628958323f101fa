"""Holds a submission against the assignment's rules: in its source, and by what its run entered."""

from .examination import Examination as Examination
