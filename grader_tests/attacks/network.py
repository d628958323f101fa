"""Attacks that try to be heard outside."""

from .attack import Attack

SENDING = """
import socket

def attack(values):
    attempts = [
        lambda: socket.create_connection(("127.0.0.1", TCP), 1),
        lambda: socket.create_connection(("::1", TCP), 1),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", UDP)),
        lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + ABSTRACT),
        lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", chr(0) + ABSTRACT),
        lambda: socket.socket(socket.AF_UNIX).connect(SOCKET),
        lambda: socket.socket(socket.AF_UNIX).connect(os.path.relpath(SOCKET)),
        lambda: socket.getaddrinfo("secret.example.org", 80),
        lambda: socket.create_connection(("169.254.169.254", 80), 1),
    ]
    for attempt in attempts:
        try:
            attempt()
        except OSError:
            pass
    return [0.0]
"""
ATTACKS = {
    "it connects and sends to all that listens": Attack(SENDING, against="network"),
    "it does so while it is imported": Attack(SENDING + "\nattack([])\n", against="network"),
    "it lets other programs do so": Attack(
        """
import subprocess, sys

CODE = "import socket; socket.create_connection(('127.0.0.1', int(%d)), 1)"

def attack(values):
    for command in (
        [sys.executable, "-c", CODE % TCP],
        ["/bin/bash", "-c", f"echo x > /dev/tcp/127.0.0.1/{TCP}"],
        ["/bin/bash", "-c", f"echo x > /dev/udp/127.0.0.1/{UDP}"],
        ["/bin/sh", "-c", f"curl -m 1 http://127.0.0.1:{TCP}"],
    ):
        try:
            subprocess.run(command, timeout=4, capture_output=True)
        except (OSError, subprocess.SubprocessError):
            pass
    return [0.0]
""",
        against="network",
    ),
    "it leaves a process that sends when nobody looks": Attack(
        """
import socket, time

def attack(values):
    if os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(0.05)
            try:
                socket.socket(socket.AF_UNIX).connect(SOCKET)
            except OSError:
                pass
            try:
                socket.create_connection(("127.0.0.1", TCP), 1)
            except OSError:
                pass
    return [0.0]
""",
        against="network",
    ),
}
