"""Measures the isolation: a worker tries to reach things outside, and the judge tries as well."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cs336_grader.records import Barrier, Isolation
from cs336_grader.worker.sandbox.layers import CLOSES, NAMESPACES
from cs336_grader.worker.sandbox.namespaces import how_to_allow
from cs336_grader.worker.sandbox.probes import Canaries

from .confinement import Confinement
from .faults import CouldNotRunError, WorkerLostError
from .zygote import Zygote

JUDGE = "judge"
RESOURCES = ("file system", "network", "processes", "signals", "memory", JUDGE)
NEEDED = ("file system", "network", "processes", JUDGE)
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Measured:
    """The isolation as a worker and the judge have measured it.

    Attributes:
        open_ways: the successful attempts of the worker, for each resource.
        missing: for each layer of the sandbox why it is missing; empty if it is in force.
        confinement: the layers around the judge.
    """

    open_ways: Mapping[str, Sequence[str]]
    missing: Mapping[str, str]
    confinement: Confinement

    def isolation(self) -> Isolation:
        """Return the record for the report."""
        barriers = tuple(map(self.barrier, RESOURCES))
        closed = {barrier.resource for barrier in barriers if barrier.closed}
        level = "strict" if closed.issuperset(NEEDED) else "partial" if closed else "none"
        return Isolation(level, barriers)

    def barrier(self, resource: str) -> Barrier:
        """Return the state of one resource: closed and by which layers, or open and why."""
        ways = list(self.open_ways.get(resource, ["not tried"]))
        layers = {layer: self.missing[layer] for layer in CLOSES if resource in CLOSES[layer]}
        if resource == JUDGE:
            ways += self.confinement.open_ways
            layers = dict(self.confinement.missing)
        if not ways:
            closing = [layer for layer, why in layers.items() if not why]
            return Barrier(resource, closed=True, by=", ".join(closing) or "the system")
        lacking = [f"{layer} ({why})" for layer, why in layers.items() if why]
        text = ", ".join(ways)
        return Barrier(resource, closed=False, by="; missing: ".join([text, *lacking[:1]]))

    def not_strict(self) -> str:
        """Return the reason against strict isolation; empty if there is none."""
        opened = [b for b in self.isolation().barriers if b.resource in NEEDED and not b.closed]
        if not opened:
            return ""
        told = "; ".join(f"{barrier.resource}: {barrier.by}" for barrier in opened)
        advice = f" This would help: {self.advice()}" if self.advice() else ""
        return f"strict isolation was asked for and cannot be had ({told}).{advice}"

    def layers(self) -> dict[str, str]:
        """Return for each layer why it is missing, with the layers around the judge."""
        of_judge = {f"{JUDGE}: {layer}": why for layer, why in self.confinement.missing.items()}
        return {**self.missing, **of_judge}

    def advice(self) -> str:
        """Return one line that would close more; empty if nothing is missing."""
        return how_to_allow() if self.missing[NAMESPACES] else ""


def measure(zygote: Zygote, memory_megabytes: int, confine: Callable[[], Confinement]) -> Measured:
    """Measure the isolation in a new worker, then confine this process.

    Raises:
        CouldNotRunError: the worker ended before it had answered.
    """
    with canaries(2 * memory_megabytes * MEBIBYTE) as found:
        worker = zygote.fork()
        try:
            answer = worker.ask({"op": "attempt", "canaries": asdict(found)})
        except WorkerLostError as error:
            raise CouldNotRunError("the worker that tries what is closed has ended") from error
        finally:
            worker.close()
            zygote.kill_descendants()
            zygote.clean()
    # Not before: the judge makes the canaries outside the folder of its run.
    return Measured(answer["open"], answer["missing"], confine())


@contextlib.contextmanager
def canaries(memory_bytes: int) -> Iterator[Canaries]:
    """Make files, sockets and a process that every user of the machine may reach."""
    folder = Path(tempfile.mkdtemp(prefix="cs336-canary-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o777)
        for name in ("canary", "canary.removable"):
            (folder / name).write_text("canary", encoding="ascii")
            (folder / name).chmod(0o666)
        abstract = f"cs336-canary-{secrets.token_hex(8)}"
        path = str(folder / "socket")
        tcp = stack.enter_context(listener(socket.AF_INET, ("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        for address in (path, f"\0{abstract}"):
            # Not every system has both kinds.
            with contextlib.suppress(OSError, AttributeError):
                stack.enter_context(listener(socket.AF_UNIX, address))
        if os.path.exists(path):
            os.chmod(path, 0o777)  # noqa: S103 (as open as can be)
        yield Canaries(
            file=str(folder / "canary"),
            tcp_port=tcp.getsockname()[1],
            udp_port=udp.getsockname()[1],
            abstract_socket=abstract,
            socket=path,
            pid=stack.enter_context(bystander()),
            judge=os.getpid(),
            memory_bytes=memory_bytes,
        )


@contextlib.contextmanager
def bystander() -> Iterator[int]:
    """Start an ordinary process of the same user, which waits; yield its id."""
    command = ["cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield process.pid


def listener(family: int, address: Any) -> socket.socket:
    """Return a socket that accepts connections."""
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.bind(address)
    listening.listen()
    return listening
