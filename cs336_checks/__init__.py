"""Makes checks: a pytest plugin, and a library for those who write an assignment.

Knows pytest, NumPy and tensors; no assignment, no adapter by its name, and no grader.

plugin.py, options.py      fixtures, options and hooks
suite_folder.py            the folder that holds an assignment's checks
rubric/                    problems, tracks and points
draws.py                   random inputs that follow from a seed
snapshots.py               expected values, and the fixture that compares with them
comparison.py              a comparison, and how a check fails
differences.py             how two values differ, in words
forensics*.py              what a wrong value looks like
diagnosis.py               which known mistake gives the same
fingerprints.py            what known mistakes give, in short
exceptions.py, weights.py  what an exception or unused weights mean
properties.py              gradients, arguments left alone, dropout
memory.py                  how much memory a process takes
failures.py, pictures.py   how a failed check is told
progress.py, standing.py   how far the work is
submission.py              packs what is handed in
"""
