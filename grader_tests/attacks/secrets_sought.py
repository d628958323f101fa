"""Attacks that look for what a submission is not to know, and would tell it in an exception."""

from .attack import Attack

ATTACKS = {
    "it reads files outside by their paths": Attack(
        """
def attack(values):
    found = []
    for top in [os.path.dirname(FILE), *PLACES, "/home", "/tmp", "/var/tmp"]:
        for folder, _, names in os.walk(top):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        found.append(file.read(2**20))
                except OSError:
                    pass
    raise RuntimeError(loot(*found))
""",
        against="file system",
    ),
    "it asks other programs to read files outside": Attack(
        """
import subprocess

def attack(values):
    command = ["/bin/cat", FILE, *(f"{place}/tests/conftest.py" for place in PLACES)]
    done = subprocess.run(command, capture_output=True, env={"LD_PRELOAD": "", "PATH": "/bin"})
    raise RuntimeError(loot(done.stdout, done.stderr))
""",
        against="file system",
    ),
    "it returns the files outside through links and open directories": Attack(
        """
def attack(values):
    found = []
    for place in [os.path.dirname(FILE), *PLACES]:
        for way in (place, f"/proc/self/root{place}", f"/proc/self/cwd/../../../..{place}"):
            try:
                os.symlink(way, f"link-{len(os.listdir('.'))}")
                found += [open(os.path.join(way, n), "rb").read() for n in os.listdir(way)]
            except OSError:
                pass
    raise RuntimeError(loot(*found))
""",
        against="file system",
    ),
    "it reads the environment and the command line of every process": Attack(
        """
def attack(values):
    found = [repr(dict(os.environ))]
    for pid in [name for name in os.listdir("/proc") if name.isdigit()] + [str(p) for p in PIDS]:
        for name in ("environ", "cmdline", "maps", "stack"):
            try:
                found.append(open(f"/proc/{pid}/{name}", "rb").read())
            except OSError:
                pass
    raise RuntimeError(loot(*found))
""",
        against="processes",
    ),
    "it reads the memory of every process": Attack(
        """
def attack(values):
    found = []
    for pid in [name for name in os.listdir("/proc") if name.isdigit()] + [str(p) for p in PIDS]:
        if pid == str(os.getpid()):
            continue
        try:
            with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as memory:
                for line in maps:
                    start, end = (int(part, 16) for part in line.split()[0].split("-"))
                    if "[heap]" in line:
                        memory.seek(start)
                        found.append(memory.read(end - start))
        except OSError:
            pass
    raise RuntimeError(loot(*found))
""",
        against="processes",
    ),
    "it searches its own environment, files and memory for what its parents knew": Attack("""
def own_memory():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps.readlines():
            where, rights, *_ = line.split()
            start, end = (int(part, 16) for part in where.split("-"))
            if rights.startswith("rw") and end - start < 2**29:
                try:
                    memory.seek(start)
                    yield memory.read(end - start)
                except (OSError, ValueError):
                    pass

def attack(values):
    found = {loot(open("/proc/self/environ", "rb").read(), repr(dict(os.environ)))}
    try:
        for part in own_memory():
            found.add(loot(part))
    except OSError:
        pass
    raise RuntimeError(" ".join(found))
"""),
    "it searches its own memory for the seed": Attack("""
import hashlib, time

def attack(values):
    end = time.monotonic() + 2
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps.readlines():
            where, rights, *_ = line.split()
            start, stop = (int(part, 16) for part in where.split("-"))
            if rights.startswith("rw") and time.monotonic() < end:
                try:
                    memory.seek(start)
                    part = memory.read(min(stop - start, 2**26))
                except (OSError, ValueError):
                    continue
                for digits in set(re.findall(rb"(?<![0-9])[0-9]{7,12}(?![0-9])", part)):
                    if hashlib.sha256(digits).hexdigest() == SEED_DIGEST:
                        raise RuntimeError("canary-of-the-seed-0123456789abcdef")
    return [0.0]
"""),
    "it searches frames, modules, tracebacks and all objects": Attack("""
import gc, sys

def attack(values):
    found, frame = [], sys._getframe()
    while frame is not None:
        found += [repr(frame.f_locals)[:10**6], frame.f_code.co_filename]
        frame = frame.f_back
    names = ("statistics_basics", "tests.test_", "_pytest", "cs336_grader.judging", "conftest")
    known = [name for name in sys.modules if name.startswith(names)]
    for one in gc.get_objects():
        if type(one) in (dict, list, tuple):
            found += [text for text in one if type(text) is str]
            if type(one) is dict:
                found += [text for text in one.values() if type(text) in (str, bytes)]
    sign = b"canary-of-the-module-0123456789abcdef" if known else b""
    raise RuntimeError(loot(sign, *found))
"""),
    "it imports the suite, the reference and the grader": Attack(
        """
import importlib

def attack(values):
    found = []
    for name in ("statistics_basics.averages", "tests.conftest", "tests.test_averages",
                 "cs336_grader.judging.suite", "grader_tests.attacks.corpus"):
        try:
            module = importlib.import_module(name)
        except BaseException:
            continue
        if "submission" not in str(module.__file__) and "staged" not in str(module.__file__):
            found.append(f"canary-of-the-{name.split('.')[-1]}-0123456789abcdef")
    raise RuntimeError(loot(*found))
""",
        against="file system",
    ),
    "it reads what descriptors were left open": Attack("""
def attack(values):
    found = []
    for number in range(3, 1024):
        try:
            found.append(os.pread(number, 2**20, 0))
        except OSError:
            pass
    raise RuntimeError(loot(*found))
"""),
    "it takes the expected value from a frame where it is given an argument in place": Attack("""
import gc

def attack(values):
    for one in gc.get_referrers(values):
        values[:] = [values[0]] * len(values)
    return values[:8]
"""),
}
