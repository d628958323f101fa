"""Runs the jobs of a GitHub workflow here, with stand-ins for what GitHub brings."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
Action = Callable[[Path, Mapping[str, str]], None]


class Runner:
    """Runs one job after the other, each in a folder of its own.

    Args:
        workflow: the file.
        folder: for the jobs and what they hand on.
        programs: a folder of programs that come before those of this machine.
        values: what the workflow's expressions stand for.
        checkout: puts a repository to where the action was told to.

    Attributes:
        jobs: as the file has them.
        told: what the steps of each job have written to the files of this name.
    """

    def __init__(
        self,
        workflow: Path,
        folder: Path,
        programs: Path,
        values: Mapping[str, str],
        checkout: Action,
    ) -> None:
        self.jobs: dict[str, Any] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
        self.folder = folder
        self.programs = programs
        self.values = values
        self.actions: dict[str, Action] = {
            "actions/checkout": checkout,
            "actions/setup-python": lambda _place, _given: None,
            "actions/upload-artifact": self.upload,
            "actions/download-artifact": self.download,
        }
        self.told: dict[tuple[str, str], str] = {}

    def run(self, job: str) -> None:
        """Run a job's steps; none of them may fail."""
        place = self.folder / job
        place.mkdir()
        for step in self.jobs[job]["steps"]:
            if "uses" in step:
                action = self.actions[step["uses"].partition("@")[0]]
                action(place, {k: self.filled(v) for k, v in step.get("with", {}).items()})
            else:
                self.run_script(job, step)

    def run_script(self, job: str, step: Mapping[str, Any]) -> None:
        """Run a script as GitHub does; no expression may be within it."""
        assert not EXPRESSION.search(step["run"])
        place = self.folder / job
        files = {name: place / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        told = self.jobs[job].get("env", {}) | step.get("env", {})
        ran = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=place / step.get("working-directory", "."),
            env={
                "PATH": f"{self.programs}:{os.environ['PATH']}",
                "GITHUB_ACTIONS": "true",
                **{name: str(path) for name, path in files.items()},
                **{name: self.filled(text) for name, text in told.items()},
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        for name, path in files.items():
            if path.exists():
                self.told[job, name] = path.read_text(encoding="utf-8")

    def filled(self, text: str) -> str:
        """A text with what its expressions stand for."""
        return EXPRESSION.sub(lambda found: self.values[found[1]], str(text))

    def upload(self, place: Path, given: Mapping[str, str]) -> None:
        """Keep a file or folder for later jobs."""
        kept, path = self.folder / "artifacts" / given["name"], place / given["path"]
        if path.is_dir():
            shutil.copytree(path, kept)
        else:
            kept.mkdir(parents=True)
            shutil.copy(path, kept)

    def download(self, place: Path, given: Mapping[str, str]) -> None:
        """Bring what was kept."""
        kept = self.folder / "artifacts" / given["name"]
        shutil.copytree(kept, place / given.get("path", "."), dirs_exist_ok=True)
