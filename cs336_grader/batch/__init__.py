"""Grades a class: many submissions, each in a folder of its own, with a gradebook and a page.

submissions.py  what there is to grade, and what it is called; exports.py, who handed it in
grading.py      one submission
reasons.py      why one has no grade, or none that says anything of it
slots.py        several at a time, on this machine
cluster.py      the same on many machines; on_worker.py is what each of their workers does
whole_class.py  the story: what is left is graded, then the class is written
settings.py     what all are graded with
records.py      what is kept, so that a batch that was killed goes on where it was
overview.py     the class from above, with likeness.py; page.py and terminal.py show it
regrade.py      the same once more after a fix: who changed, and why
"""
