"""Runs Python programs in processes of their own, which have imported torch already.

To import it takes longer than most of what tests ask of a program. Where nothing can be forked,
each imports it as ever.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

if sys.platform == "linux":
    CONTEXT = multiprocessing.get_context("forkserver")
    CONTEXT.set_forkserver_preload(["pytest", "torch"])
else:
    CONTEXT = multiprocessing.get_context("spawn")
# Where Python finds modules before anything is said of it.
INSTALLED = subprocess.run(
    [sys.executable, "-P", "-c", "import sys; print(*sys.path, sep='\\n')"],
    capture_output=True,
    text=True,
    check=True,
).stdout.splitlines()


def run_python(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: int = 300
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE …` or `python -c PROGRAM …` in a folder.

    Raises:
        TimeoutExpired: it was ended after so many seconds.
    """
    environment = dict(os.environ if env is None else env)
    with tempfile.NamedTemporaryFile("r+") as out, tempfile.NamedTemporaryFile("r+") as complaints:
        streams = (out.name, complaints.name)
        process = CONTEXT.Process(target=be, args=(arguments, cwd, environment, streams))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(arguments, timeout)
        printed, complained = out.read(), complaints.read()
    return subprocess.CompletedProcess(arguments, process.exitcode, printed, complained)


def be(
    arguments: tuple[str, ...], cwd: Path, environment: dict[str, str], streams: tuple[str, str]
) -> None:
    """Be the program."""
    for number, name in enumerate(streams, start=1):
        file = os.open(name, os.O_WRONLY)
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    kind, what, *rest = arguments
    sys.argv = [kind, *rest]
    sys.path[:] = [str(cwd), *INSTALLED]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})  # noqa: S102 (the program is a test's own)
