"""A fresh Python environment without network, with the packages that are installed here."""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from . import witness

# Python runs this at every start in the environment, also in processes that a check starts.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event == "socket.getaddrinfo" or (
        event == "socket.connect" and not isinstance(arguments[1], (str, bytes))
    ):
        raise OSError("there is no network while a handout is proved")

sys.addaudithook(refuse)
"""
# What a variable of the author's shell must not bring in.
FOREIGN = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "COVERAGE")


class ProofError(Exception):
    """The proof itself could not be run; the text says why."""


class Case(BaseModel):
    """What became of a case of a check, as ``witness`` notes it."""

    check: str
    phase: str
    outcome: str
    error: str
    text: str


class Findings(BaseModel):
    """What became of a whole run.

    Attributes:
        package: the file that the student's package was imported from, if it was.
    """

    package: Path | None
    cases: list[Case]


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of its own.

    Attributes:
        folder: holds all of it.
        python: its interpreter.
    """

    folder: Path
    python: Path

    def run_checks(self, repository: Path, package: str, seconds: float) -> Findings:
        """Run the checks of a repository as a student does.

        Raises:
            ProofError: they could not be run.
        """
        notes = self.folder / "witness.json"
        notes.unlink(missing_ok=True)
        variables = {
            name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)
        }
        told = {"HANDOUT_WITNESS": str(notes), "HANDOUT_PACKAGE": package}
        try:
            run = subprocess.run(
                [self.python, "-m", "pytest", "-q", "-p", "witness", "-p", "no:cacheprovider"],
                cwd=repository,
                env={**variables, **told, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ProofError(f"The checks took more than {seconds:g} s.") from error
        if not notes.is_file() or run.returncode not in (0, 1):
            told_last = (run.stdout + run.stderr).strip()[-2000:]
            raise ProofError(f"The checks could not be collected or run.\n{told_last}")
        return Findings.model_validate_json(notes.read_bytes())


def fresh_environment(folder: Path) -> Environment:
    """Make an environment; nothing is downloaded.

    Raises:
        ProofError: no environment can be made here.
    """
    try:
        venv.EnvBuilder(symlinks=os.name != "nt").create(folder)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ProofError(f"No fresh environment can be made: {error}") from error
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    answer = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    packages = Path(answer.stdout.strip())
    (packages / "installed.pth").write_text("\n".join(installed_here()) + "\n", encoding="utf-8")
    (packages / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    (packages / "witness.py").write_bytes(Path(witness.__file__).read_bytes())
    return Environment(folder, python)


def installed_here() -> Iterator[str]:
    """The folders of the packages that are installed.

    Named in a file they are looked into, but the files in them that name others are not read: what
    is installed as a folder elsewhere, as an author's own project is, stays out.
    """
    for entry in sys.path:
        if Path(entry).name in {"site-packages", "dist-packages"} and Path(entry).is_dir():
            yield entry
