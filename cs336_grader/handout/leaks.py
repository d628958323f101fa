"""Looks in a student's repository for what should have stayed behind.

Code is compared as tokens, without comments, docstrings, imports and layout: a run of tokens of the
reference's bodies, or of what else stays behind, must not stand in a file that is handed out. Names
and paths are looked for in the text of every file.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cs336_checks
from cs336_checks.rubric import Assignment

from .contents import Handout
from .sources import ADAPTERS, Source, read_source, reference_sources

# So many tokens in a row are no coincidence. What a statement of the reference computes is looked
# for from fewer on, as the shortest answers are short.
RUN = 30
ANSWER = 8
LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENCODING, tokenize.ENDMARKER),
}
# This program, which knows no answers: a suite may have a function of it.
GRADER = Path(__file__).parents[1]
Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that should have stayed behind.

    Attributes:
        file: where it was found.
        what: what was found.
        origin: where it comes from.
    """

    file: str
    what: str
    origin: str


def leaks(assignment: Assignment, handout: Handout) -> list[Leak]:
    """All that is found, in order."""
    # The library for checks names what stays behind as the rubric does, and holds no answers.
    texts = {
        file: content.decode()
        for file, content in handout.files.items()
        if b"\0" not in content and Path(file).parts[0] != cs336_checks.__name__
    }
    behind = list(left_behind(assignment.folder, handout))
    found = [
        *named(texts, assignment.folder, behind),
        *copied(texts, known_code(assignment, handout, behind)),
    ]
    # Of a longer piece of code, its beginning is enough.
    first = {(leak.file, leak.origin): leak for leak in reversed(found)}
    return [first[place] for place in sorted(first)]


def left_behind(folder: Path, handout: Handout) -> Iterator[Path]:
    """The author's modules that are not handed out in any form, without this program."""
    for path in sorted(folder.rglob("*.py")):
        if path.is_relative_to(GRADER):
            continue
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in parts)
        # An environment's packages are nobody's solution.
        hidden = hidden or (folder / parts[0] / "pyvenv.cfg").is_file()
        if not hidden and path.relative_to(folder).as_posix() not in handout.files:
            yield path


def named(texts: Mapping[str, str], folder: Path, behind: Iterable[Path]) -> Iterator[Leak]:
    """Where a folder or module that stays behind is named, or a file in it."""
    handed_out = {cs336_checks.__name__, *(Path(file).parts[0] for file in texts)}
    hidden = [path for path in sorted(folder.iterdir()) if path.name not in handed_out]
    modules = [path.stem for path in hidden if "_" in path.name and path.name[0] not in "._"]
    folders = [path.name for path in hidden if path.is_dir() and path.name[0] not in "._"]
    files = {path.name for path in behind} - {Path(file).name for file in texts}
    words = [re.escape(name) for name in (*modules, *sorted(files))]
    words += [rf"{re.escape(one)}/\w+" for one in folders]
    pattern = re.compile(rf"(?<![\w/])(?:{'|'.join(words)})\b")
    for file, text in texts.items():
        for one in pattern.findall(text) if words else ():
            yield Leak(file, one, f"{one.partition('/')[0]} stays behind")


def copied(texts: Mapping[str, str], known: Mapping[Tokens, str]) -> Iterator[Leak]:
    """Where known code is repeated."""
    sizes = {len(key) for key in known}
    for file, text in texts.items():
        code = code_tokens(file, text)
        for size in sizes:
            for run in windows(code, size):
                if run in known:
                    yield Leak(file, " ".join(run), known[run])


def known_code(
    assignment: Assignment, handout: Handout, behind: Iterable[Path]
) -> dict[Tokens, str]:
    """The code that stays behind, each piece with where it stands."""
    known: dict[Tokens, str] = {}
    for source in solution(assignment):
        marked = {key for _, key in answers(ast.parse(handout.files.get(source.file, b"")))}
        for line, key in answers(source.tree):
            if key not in marked:
                known.setdefault(key, f"{source.file}, line {line}")
    for path in behind:
        origin = path.relative_to(assignment.folder).as_posix()
        for body in bodies(ast.parse(path.read_bytes())):
            for run in windows(body, RUN):
                known.setdefault(run, origin)
    return known


def solution(assignment: Assignment) -> Iterator[Source]:
    """The modules of the reference that the adapters need, and not what it has beside them."""
    modules = {source.module: source for source in reference_sources(assignment).values()}
    waiting = [read_source(assignment.folder, assignment.folder / ADAPTERS)]
    while waiting:
        for module, _ in waiting.pop().imports.values():
            if module in modules:
                waiting.append(modules.pop(module))
                yield waiting[-1]


def answers(tree: ast.AST) -> Iterator[tuple[int, Tokens]]:
    """What the statements within functions compute, each with its line."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node in ast.walk(function):
            value = getattr(node, "value", None)
            if isinstance(node, ast.stmt) and isinstance(value, ast.expr) and not is_text(node):
                key = tokens(ast.unparse(value))
                if len(key) >= ANSWER:
                    yield node.lineno, key


def bodies(tree: ast.AST) -> Iterator[Tokens]:
    """The code of every function, one piece each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            statements = node.body[1:] if ast.get_docstring(node) else node.body
            yield tokens("\n".join(map(ast.unparse, statements)))


def code_tokens(file: str, text: str) -> Tokens:
    """The code of a file, brought into the same form as what it is compared with."""
    if not file.endswith(".py"):
        return ()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_no_code(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return tokens(ast.unparse(ast.fix_missing_locations(tree)))


def is_no_code(node: ast.stmt) -> bool:
    """Whether a statement is an import or a text alone."""
    return is_text(node) or isinstance(node, ast.Import | ast.ImportFrom)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def tokens(code: str) -> Tokens:
    """The tokens of some code, without comments and layout."""
    read = tokenize.generate_tokens(io.StringIO(code).readline)
    return tuple(token.string for token in read if token.type not in LAYOUT)


def windows(code: Tokens, size: int) -> Iterator[Tokens]:
    """Every run of so many tokens."""
    return (code[start : start + size] for start in range(len(code) - size + 1))
