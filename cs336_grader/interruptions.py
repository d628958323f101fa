"""Leaves it to one process to be interrupted: Ctrl-C reaches all that a terminal has started."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Let the processes that are started meanwhile leave it to this one to be interrupted.

    Before they can say so themselves, they would end with a traceback. An interruption that comes
    meanwhile is not lost: it comes afterwards.
    """
    # Python interrupts the main thread alone, and Windows has no signals that could be blocked.
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    # Started by what is started below, it would let interruptions through.
    resource_tracker.ensure_running()
    found: list[int] = []
    # Processes inherit what this thread blocks; what another thread then takes, the handler holds.
    handler = signal.signal(signal.SIGINT, lambda number, _: found.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if found:
            signal.raise_signal(signal.SIGINT)
