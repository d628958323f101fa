"""Attacks on whoever reads a submission's sources without running them."""

from .attack import Attack


def imports(source: str | bytes, *, ruins: bool = True) -> Attack:
    """An attack by a module that the adapters import."""
    return Attack("from . import other\n", ruins=ruins, files={"tests/other.py": source})


ATTACKS = {
    "a sum of very many terms": imports("x = " + " + ".join(["1"] * 5000) + "\n"),
    "an attribute of an attribute, very often": imports("x = lambda a: a" + ".a" * 5000 + "\n"),
    "calls of calls": imports("x = lambda a: a" + "()" * 3000 + "\n"),
    "minus signs without end": imports("x = " + "-" * 20_000 + "1\n"),
    "brackets without end": imports("x = " + "[" * 20_000 + "]" * 20_000 + "\n"),
    "conditions in conditions": imports(
        "".join(f"{' ' * depth}if 1:\n" for depth in range(95)) + " " * 95 + "pass\n"
    ),
    "elif without end": imports("if 0: pass\n" + "elif 0: pass\n" * 5000),
    "functions in functions": imports(
        "".join(f"{' ' * depth}def f():\n" for depth in range(19)) + " " * 19 + "pass\n"
    ),
    "a number of too many digits": imports("x = " + "9" * 10_000 + "\n"),
    "no characters of text": imports(b"x = '\0'\n\0\n"),
    "bytes that are no UTF-8": imports(b"x = '\xff\xfe\x80'\n"),
    "an encoding that nobody has": imports(b"# coding: nowhere\nx = 1\n"),
    "an encoding that hides what is written": imports(
        b"# coding: utf-7\n+AGkAbQBwAG8AcgB0- os\n", ruins=True
    ),
    "an encoding that is more than one": imports(b"\xef\xbb\xbf# coding: latin-1\nx = 1\n"),
    "text that is half of a character": imports(r"x = '\ud800' '\N{NO SUCH NAME}'" + "\n"),
    "a line of a million characters": imports("x = '" + "y" * 10**6 + "'\n"),
    "a hundred thousand lines": imports("x = 1\n" * 100_000),
    "imports of itself, in circles, and of everything": imports(
        "from . import other, adapters\nfrom .other import *\nfrom .. import *\n"
        "import tests.other.other.other\nimport " + ".".join(["a"] * 3000) + "\n"
    ),
    "names that have no end, in rules' words": imports(
        "import torch\nnames = [\n" + "torch.nn.functional.softmax,\n" * 3000 + "]\n"
    ),
    "classes that inherit from one another": imports(
        "class A(A): pass\nclass B(C): pass\nclass C(B): pass\nA = A.A = B\n"
    ),
    "names for names for names": imports(
        "a0 = __import__('torch').nn\n" + "".join(f"a{n + 1} = a{n}\n" for n in range(3000))
    ),
    "adapters without number": Attack(
        "\n".join(f"def run_{n}(): pass" for n in range(5000)) + "\n"
    ),
    "very many candidates for the adapters": Attack(
        "\n",
        files={
            f"copy{n}/tests/adapters.py": "def run_count_words(t): return {}\n" for n in range(300)
        },
    ),
    "a project file that is no project file": Attack(
        "\n",
        files={
            "pyproject.toml": "[project]\nname = '../../evil'\nversion = '"
            + "1" * 10**5
            + "'\ndependencies = ['x @ file:///etc/passwd', '"
            + "a" * 10**5
            + "']\n",
            "requirements.txt": "-r /etc/passwd\n--index-url http://a.example\n" + "x\n" * 10**5,
            "setup.cfg": "[metadata]\nname = %(name)s\n",
        },
    ),
}
