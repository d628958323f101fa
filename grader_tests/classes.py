"""Classes of the tiny assignment: right and wrong work, attacks, archives that are broken."""

import importlib.util
import inspect
import io
import shutil
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from grader_tests.assignments import TINY
from grader_tests.attacks.attack import HONEST
from grader_tests.attacks.corpus import CORPUS

RIGHT = (
    HONEST
    + """

def run_moving_average(values, width):
    return [sum(values[i : i + width]) / width for i in range(len(values) - width + 1)]
"""
)
IMPORTS = """
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
"""
STUBS = """
def run_moving_average(values, width):
    raise NotImplementedError

def run_count_words(text):
    raise NotImplementedError

def run_running_totals(numbers):
    raise NotImplementedError
"""
LIMITS = "check_seconds = 20\nimport_seconds = 60"
SHORT_LIMITS = "check_seconds = 4\nimport_seconds = 20\ncpu_seconds = 6\nmemory_megabytes = 1500"
# What an attack is told of its surroundings where nobody listens.
NOWHERE = {
    "FILE": "/nowhere/canary",
    "PLACES": ["/nowhere"],
    "TCP": 9,
    "UDP": 9,
    "ABSTRACT": "nowhere",
    "SOCKET": "/nowhere/socket",
    "PIDS": [1],
    "SEED_DIGEST": "0",
}


def assignment_with_short_limits(folder: Path) -> Path:
    """The tiny assignment, where nothing may take long."""
    shutil.copytree(TINY, folder, ignore=shutil.ignore_patterns("__pycache__"))
    rubric = folder / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    assert LIMITS in text
    rubric.write_text(text.replace(LIMITS, SHORT_LIMITS), encoding="utf-8")
    return folder


def with_functions(functions: Mapping[str, Any]) -> str:
    """Right adapters, but for some functions of the tiny assignment's catalogues."""
    # Without the line that enters it in its catalogue.
    sources = map(inspect.getsource, functions.values())
    texts = [f"{source[source.index('def ') :]}\n\n" for source in sources]
    names = [f"{adapter} = {function.__name__}\n" for adapter, function in functions.items()]
    return IMPORTS + RIGHT + "\n\n" + "".join(texts + names)


def catalogue(name: str) -> Any:
    """One of the modules beside the tiny assignment, which starts from its own folder."""
    spec = importlib.util.spec_from_file_location(name, TINY / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def right() -> Iterator[tuple[str, str]]:
    """Adapters that earn all."""
    yield "right", RIGHT
    for variant in catalogue("statistics_variants").VARIANTS:
        yield f"right-{variant.id.partition('/')[2]}", with_functions(variant.replaces)


def wrong() -> Iterator[tuple[str, str]]:
    """Adapters with a known mistake, and with two of different problems."""
    mistakes = catalogue("statistics_mistakes").MISTAKES
    for one in mistakes:
        yield f"wrong-{one.id.partition('/')[2]}", with_functions(one.replaces)
    for one in mistakes:
        for other in mistakes:
            if one.problem < other.problem:
                both = {**one.replaces, **other.replaces}
                names = (one.id.partition("/")[2], other.id.partition("/")[2])
                yield f"wrong-{'-'.join(names)}", with_functions(both)
    yield "stubs", STUBS


def attacks(count: int) -> Iterator[tuple[str, str]]:
    """Adapters that attack the grader, as many of each kind as there is room for."""
    fair = [(name, attack) for name, attack in CORPUS.items() if not attack.files]
    for number, (_, attack) in enumerate(fair[:: max(1, len(fair) // count)][:count]):
        yield f"attack-{number:02}", attack.adapters(NOWHERE)


def zipped(text: str) -> bytes:
    """An archive with these adapters."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("work/tests/adapters.py", text)
    return content.getvalue()


def tarred(text: str) -> bytes:
    """The same, packed with tar and gzip."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo("work/tests/adapters.py")
        entry.size = len(text.encode())
        archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def broken() -> dict[str, bytes]:
    """Files that are called archives and are none."""
    whole, packed = zipped(RIGHT), tarred(RIGHT)
    return {
        "broken-cut.zip": whole[: len(whole) // 2],
        "broken-end.zip": whole[:-30],
        "broken-empty.zip": b"",
        "broken-text.zip": b"My work is in the other folder.",
        "broken-rar.zip": b"Rar!\x1a\x07\x00" + bytes(50),
        "broken-7z.7z": b"7z\xbc\xaf\x27\x1c" + bytes(50),
        "broken-cut.tar.gz": packed[: len(packed) // 2],
        "broken-noise.tgz": b"\x1f\x8b" + bytes(range(256)),
    }


def write_class(folder: Path, texts: Mapping[str, str], files: Mapping[str, bytes]) -> Path:
    """A folder of submissions: each a folder, an archive, or whatever its bytes are.

    Args:
        folder: where they go.
        texts: adapters by name; every third is packed.
        files: other files by name.
    """
    folder.mkdir(parents=True)
    for number, (name, text) in enumerate(texts.items()):
        if number % 3 == 1:
            (folder / f"{name}.zip").write_bytes(zipped(text))
        elif number % 3 == 2:
            (folder / f"{name}.tar.gz").write_bytes(tarred(text))
        else:
            path = folder / name / "tests" / "adapters.py"
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def sixty(folder: Path) -> Path:
    """Sixty submissions: right variants, mistakes, attacks and broken archives."""
    texts = {**dict(right()), **dict(wrong())}
    files = broken()
    texts |= dict(attacks(60 - len(texts) - len(files)))
    return write_class(folder, texts, files)
