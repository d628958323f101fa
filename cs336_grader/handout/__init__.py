"""Makes the students' repository of an assignment, proves it, and updates those handed out.

contents.py       what travels, what is made, and whose each file is
outline.py        what of the reference students get, found in its source (sources.py)
stripping.py      signatures and docstrings without the solution
student_files.py  README.md and what else is written from the rubric and the checks
course.py         the chapters of the course text, with what the rubric and the checks say
leaks.py          looks for what should have stayed behind
proof.py          runs the checks on stubs and reference, in an environment of its own
updating.py       replaces what is the author's in a student's repository
"""

import os
import tempfile
from pathlib import Path

from .contents import Handout as Handout
from .contents import build as build
from .environment import ProofError as ProofError
from .manifest import ManifestError as ManifestError
from .manifest import read_manifest as read_manifest
from .proof import lay_out
from .proof import prove as prove
from .updating import Action as Action
from .updating import Change as Change
from .updating import carry_out as carry_out
from .updating import missing_adapters as missing_adapters
from .updating import plan as plan


def hand_out(handout: Handout, folder: Path) -> None:
    """Write a student's repository to an empty folder or a new one, at once or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as waiting:
        lay_out(handout, Path(waiting, folder.name))
        if folder.is_dir():
            folder.rmdir()
        os.replace(Path(waiting, folder.name), folder)
