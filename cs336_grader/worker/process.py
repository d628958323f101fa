"""The loop of zygote and workers: they import, fork and run calls, as the judge asks.

The zygote forks the worker that imports the submission, which forks one worker for each problem.
"""

import gc
import importlib
import os
import random
import signal
import socket
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import numpy as np
import torch

from .call_record import CallRecord
from .channel import Channel, Message
from .exceptions import Origin, describe
from .sandbox.layers import Sandbox
from .sandbox.limits import Limits, proportional
from .sandbox.probes import Canaries
from .sandbox.root_filesystem import RootFilesystem
from .sandbox.syscalls import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, prctl
from .session import Session

if sys.platform != "win32":
    import resource


def warm_up() -> None:
    """Import once what every worker would otherwise import for itself."""
    torch.set_num_threads(1)
    take_a_step()
    # Garbage collection need not visit imported modules: 8 % less processor time for a grading.
    gc.freeze()


def take_a_step() -> None:
    """Train for one step: torch imports some modules only then."""
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters())
    model(torch.ones(1, 2)).square().mean().backward()
    optimizer.step()


def main(channel: int) -> NoReturn:
    """Turn an interpreter of its own into a zygote.

    Args:
        channel: the descriptor of the connection to the judge.
    """
    warm_up()
    become_worker(socket.socket(fileno=channel))


def become_worker(connection: socket.socket) -> NoReturn:
    """Turn this process into a zygote.

    Args:
        connection: the connection to the judge.
    """
    try:
        os.setsid()
        die_with_parent()
        adopt_orphans()
        silence()
        restore_defaults()
        forget_main()
        forget_grader()
        torch.compiler.set_stance("force_eager")
        close_other_files(connection.fileno())
        serve(Channel(connection))
    finally:
        os._exit(0)


def serve(channel: Channel) -> None:
    """Answer messages until the connection is closed; the first one describes the sandbox."""
    sandbox = sandbox_of(channel.receive()[0])
    sandbox.prepare()
    channel.send({"op": "prepared"})
    adapters: ModuleType | None = None
    origin: Origin | None = None
    calls: CallRecord | None = None
    session = Session(channel, adapters, origin, calls)
    while True:
        try:
            message, buffers = channel.receive()
        except (EOFError, OSError):
            reap()
            return
        if message["op"] == "fork":
            forked = fork(channel, message, sandbox)
            if isinstance(forked, int):
                channel.send({"op": "forked", "pid": forked})
            else:
                channel = Channel(forked)
                session = Session(channel, adapters, origin, calls)
        elif message["op"] == "load":
            origin = Origin(Path(message["root"]), message["package"], message["unmet"])
            calls = CallRecord(origin.root, message["rules"])
            try:
                adapters = load(origin.root, message["search_paths"], message["module"])
                channel.send({"op": "loaded", "seen": calls.news()})
            except BaseException as error:
                channel.send(describe(error, origin))
            session = Session(channel, adapters, origin, calls)
        elif message["op"] == "reset":
            reset(message["entropy"], sandbox)
            session = Session(channel, adapters, origin, calls)
            channel.send({"op": "reset"})
        elif (answer := answer_of(sandbox, message)) is not None:
            channel.send(answer)
        else:
            session.answer(message, buffers)


def sandbox_of(message: Message) -> Sandbox:
    """Return the sandbox that a message describes."""
    limits = Limits(**message["limits"])
    shown = RootFilesystem(
        staged=message["staged"],
        scratch=message["scratch"],
        hidden=tuple(message["hidden"]),
        scratch_megabytes=limits.scratch_megabytes,
        scratch_files=limits.scratch_files,
    )
    return Sandbox(shown, limits, wanted=message["isolated"])


def answer_of(sandbox: Sandbox, message: Message) -> Message | None:
    """Answer a message about isolation; None if it is about something else."""
    if message["op"] == "attempt":
        ways = Canaries(**message["canaries"]).open_ways()
        return {"op": "attempted", "open": ways, "missing": sandbox.missing}
    if message["op"] == "keep":
        return {"op": "kept", "files": sandbox.scratch.keep_imported()}
    if message["op"] == "clean":
        sandbox.scratch.clean()
        return {"op": "cleaned"}
    if message["op"] == "memory":
        return {"op": "counted", "bytes": [proportional(pid) for pid in message["pids"]]}
    if message["op"] == "usage":
        reap()
        return {"op": "used", **usage()}
    return None


def usage() -> dict[str, float]:
    """Return the processor time and memory of ended descendants that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Linux counts kilobytes, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "memory_bytes": used.ru_maxrss * unit,
    }


def fork(channel: Channel, message: Message, sandbox: Sandbox) -> socket.socket | int:
    """Fork; return the child's own connection in the child, and the child's id in the parent."""
    reap()
    seed_generators(message["entropy"])
    connection = passed_on(channel)
    if pid := os.fork():
        connection.close()
        return pid
    die_with_parent()
    if sandbox.closed:
        enter_own_folder(sandbox)
    else:
        enter_sandbox(sandbox)
    channel.close()
    # The system attaches the id of this process.
    connection.sendall(b"!")
    return connection


def enter_sandbox(sandbox: Sandbox) -> None:
    """Apply the sandbox to this process, which will import the submission."""
    sandbox.enter_process_namespace()
    sandbox.close()
    # Once more: Linux resets it when a process changes its user.
    die_with_parent()
    move_to(sandbox.scratch.imported)


def enter_own_folder(sandbox: Sandbox) -> None:
    """Give this process, forked from the import, a folder of its own."""
    # A pool of threads does not survive a fork: nothing may run before this.
    torch.set_num_threads(1)
    move_to(sandbox.enter_own_folder())


def passed_on(channel: Channel) -> socket.socket:
    """Receive a connection over a channel."""
    _, descriptors, _, _ = socket.recv_fds(channel.connection, 1, 1)
    return socket.socket(fileno=descriptors[0])


def move_to(scratch: str) -> None:
    """Work in a folder, and put temporary files and what belongs to a home there too."""
    os.chdir(scratch)
    tempfile.tempdir = os.environ["TMPDIR"] = os.environ["HOME"] = scratch
    # Torch chose the folder for compiled code when it was imported.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(scratch, "compiled")
    os.environ["USER"] = "worker"


def reset(entropy: int, sandbox: Sandbox) -> None:
    """Reset global settings of torch and the generators, and remove the files of the last case.

    Raises:
        OSError: the folder of this process is gone; the judge replaces the worker.
    """
    seed_generators(entropy)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    sandbox.scratch.empty_own()


def load(root: Path, search_paths: list[str], module: str) -> ModuleType:
    """Import a submission's adapters."""
    sys.path[:0] = [str(root / path) for path in search_paths]
    return importlib.import_module(module)


def seed_generators(entropy: int) -> None:
    """Seed the global random generators."""
    random.seed(entropy)
    np.random.seed(entropy)
    # Not torch.manual_seed, which looks for every kind of accelerator.
    torch.default_generator.manual_seed(entropy)


def reap() -> None:
    """Wait for all children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def silence() -> None:
    """Connect the standard streams to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)


def restore_defaults() -> None:
    """Restore the default handling of signals and warnings.

    With an inherited handler in Python, the processes of a pool would miss the signal to end.
    """
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if signal.getsignal(number) not in (signal.SIG_DFL, signal.SIG_IGN, None):
            signal.signal(number, signal.SIG_DFL)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def forget_main() -> None:
    """Replace the main module: a process that a submission spawns would import it."""
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv = [""]
    sys.dont_write_bytecode = True


def forget_grader() -> None:
    """Remove the grader's folder from the search path: an assignment may lie there too."""
    home = Path(__file__).resolve().parents[2]
    if home.name != "site-packages":
        sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != home]


def close_other_files(kept: int) -> None:
    """Close all descriptors without the standard streams and one more."""
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Receive a signal when the parent process ends, if the system can send it."""
    prctl(PR_SET_PDEATHSIG, by)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent has ended, if the system can do it."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
