"""Finds the adapters and what they import in a submission, and takes only that.

Read staging.py first: it tells the story in one screen. Behind it stand

sources.py      what kind of thing the submission is: folders.py, zip_archives.py, tar_archives.py,
                git_repositories.py with git_copies.py, all by the rules of listing.py and, for
                names, safe_paths.py
candidates.py   which file holds the adapters
closure.py      what is imported from there on (modules.py, names.py, installed.py), and which
                compiled modules would be built (building.py)
gaps.py         what of that is not there, or not in a form that can be imported
interpreters.py what is there where it runs (inventory.py)
manifests.py    what the submission says of itself, and asks for (requirements.py)
copying.py      the private copy and its digest
notes.py        what the report is told
"""

from .candidates import NothingToGradeError as NothingToGradeError
from .sources import submission_name as submission_name
from .staging import may_hold_adapters as may_hold_adapters
from .staging import own_adapters as own_adapters
from .staging import stage as stage
