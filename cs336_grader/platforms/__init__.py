"""Takes the grader to course platforms.

archive.py      what is packed, and how
gradescope.py   what runs where it is unpacked
"""
