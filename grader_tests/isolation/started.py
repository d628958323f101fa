"""Starts a submission that consists of adapters alone."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from cs336_grader.running import Limits, RunningSubmission, Setting, start_zygote
from grader_tests.alone import load_of


@contextmanager
def started(
    adapters: str,
    folder: Path,
    limits: Limits,
    problems: Mapping[str, str] | None = None,
    *,
    isolated: bool = True,
) -> Iterator[RunningSubmission]:
    """A submission with these adapters, in the folder's ``root``, writing to its ``scratch``.

    Not forked from this process, whose memory, large after many tests, would count as theirs.
    """
    root, scratch = folder / "root", folder / "scratch"
    root.mkdir()
    scratch.mkdir()
    (root / "adapters.py").write_text(adapters, encoding="utf-8")
    setting = Setting(root, scratch, limits, isolated=isolated)
    with closing(start_zygote(setting, sys.executable)) as zygote:
        submission = RunningSubmission(zygote, load_of(root), limits, problems=problems)
        with closing(submission):
            yield submission
