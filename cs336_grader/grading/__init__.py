"""The records that the stages of a grading hand on: plan, journal, report."""

from .journal import Journal as Journal
from .plan import Plan as Plan
from .plan import plan as plan
from .plan import plan_before as plan_before
from .scored import scored as scored
