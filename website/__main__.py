"""Builds the site: course text, guides, API and gallery. Needs no network.

python -m website build/site
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from cs336_checks.rubric import load_assignment
from cs336_grader.handout import build, hand_out

from .pages import ROOT, gather

EXAMPLE = "examples/half_right"


def main() -> int:
    """Build the site; return 0 if nothing is wrong with any page."""
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("out", type=Path, help="the folder to write, which is emptied before")
    out = parser.parse_args().out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / "objects.inv").is_file():
        parser.error(f"{out} holds something that is no site: name an empty folder")
    with tempfile.TemporaryDirectory() as made:
        source = Path(made) / "source"
        course = Path(made) / "handout"
        hand_out(build(load_assignment(ROOT)), course)
        gather(source, course / "course")
        grade(source / "extra/gallery")
        shutil.rmtree(out, ignore_errors=True)
        # Every warning is an error: a broken link, a formula or picture that cannot be shown.
        options = ["-W", "--keep-going", "-q", "-d", str(Path(made) / "doctrees")]
        extra = f"html_extra_path={source / 'extra'}"
        settings = str(ROOT / "website")
        return build_main([*options, "-D", extra, "-c", settings, str(source), str(out)])


def grade(gallery: Path) -> None:
    """Write a report, a class page and an audit into the gallery."""
    report, graded = gallery / "report", gallery / "class"
    cs336("grade", EXAMPLE, "--seed", "0", "--format", "html", "--report-dir", str(report))
    with tempfile.TemporaryDirectory() as made:
        students = Path(made) / "class"
        shutil.copytree(ROOT / EXAMPLE, students / "Ada Lovelace")
        for part in ("cs336_basics", "tests/adapters.py"):
            copy(ROOT / part, students / "Alan Turing" / part)
        cs336("batch", str(students), "--seed", "0", "--report-dir", str(graded))
    shutil.copy(ROOT / "docs/audit.html", gallery)


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


def cs336(*arguments: str) -> None:
    """Run a command of the grader; a submission that loses points is none of its errors."""
    command = [sys.executable, "-m", "cs336_grader", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
