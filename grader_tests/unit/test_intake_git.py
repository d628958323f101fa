"""A git repository is read at a revision, and has no way to make git run or fetch anything."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from cs336_grader.intake import NothingToGradeError, listing, stage
from cs336_grader.records import CouldNotJudgeError, Staged, WrongRequestError
from grader_tests.unit.submissions import NAMES, PACKAGE, STUBS, commit, git, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FILES: dict[str, str | bytes] = {"tests/adapters.py": STUBS}


def staged(repository: Path, revision: str | None = "HEAD") -> Staged:
    """Stage a revision of a repository."""
    into = repository.parent / "staged"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    return stage(repository, NAMES, into, package=PACKAGE, revision=revision)


def test_a_revision_is_read_and_not_the_working_tree(tmp_path: Path) -> None:
    """Branches, tags and commits are taken as they were committed, and the report says which."""
    repository = commit(tmp_path / "work", FILES)
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "handed-in")
    commit(repository, {"tests/adapters.py": STUBS + "\nsecond = 2\n"})
    write(repository, {"tests/adapters.py": "broken ("})
    seen = {}
    for revision in ("handed-in", first[:12], "main~1", "main", "HEAD"):
        found = staged(repository, revision)
        seen[revision] = "second" in (found.root / "tests/adapters.py").read_text()
        assert found.notes[0].startswith(f"Graded revision {revision}, commit ")
        assert found.name == "work"
    assert seen == {
        "handed-in": False,
        first[:12]: False,
        "main~1": False,
        "main": True,
        "HEAD": True,
    }


def test_packed_and_bare_repositories_are_read(tmp_path: Path) -> None:
    """A clone without files is enough; without a revision it is not graded as an empty folder."""
    repository = commit(tmp_path / "work", FILES)
    git(tmp_path, "clone", "--quiet", "--bare", "work", "bare.git")
    git(tmp_path / "bare.git", "gc", "--quiet")
    assert staged(tmp_path / "bare.git", "main").sha256 == staged(repository, None).sha256
    with pytest.raises(WrongRequestError, match="name a revision of it, as in --revision main"):
        staged(tmp_path / "bare.git", None)


@pytest.mark.parametrize("revision", ["nope", "", "--help", "HEAD:tests", "main\nHEAD", "@{1}"])
def test_a_revision_that_is_not_there_is_named(tmp_path: Path, revision: str) -> None:
    """Whoever asked has to ask for another, and learns where to look."""
    repository = commit(tmp_path / "work", FILES)
    with pytest.raises(WrongRequestError, match=r"has no revision .*: name a branch, a tag or a"):
        staged(repository, revision)


def test_a_folder_without_a_repository_is_named(tmp_path: Path) -> None:
    """Neither a plain folder within a repository nor an archive has revisions."""
    commit(tmp_path, {"inner/tests/adapters.py": STUBS})
    for path in (tmp_path / "inner", tmp_path / "inner" / "tests" / "adapters.py"):
        with pytest.raises(WrongRequestError, match="no git repository: leave out --revision"):
            staged(path)


def test_only_regular_files_are_taken(tmp_path: Path) -> None:
    """Links and submodules are not; a name that not every system can hold is replaced."""
    repository = commit(tmp_path / "work", FILES)
    (repository / "tests" / "linked.py").symlink_to("/etc/passwd")
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "add", "--all")
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{head},tests/module")
    blob = git(repository, "hash-object", "-w", "tests/adapters.py")
    git(repository, "update-index", "--add", "--cacheinfo", f"100755,{blob},tests/C:evil.py")
    git(repository, "commit", "--quiet", "--message=x")
    found = staged(repository)
    files = {path.name for path in found.root.rglob("*.py")}
    assert files == {"adapters.py", "__init__.py", "C_evil.py"}
    assert "Left out (links are not followed): tests/linked.py." in found.notes
    assert "Left out (submodules are not fetched): tests/module." in found.notes


def test_a_tree_that_is_endless_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten folders of ten folders, and so on: few objects, countless files."""
    monkeypatch.setattr(listing, "MAX_FILES", 500)
    repository = commit(tmp_path / "work", FILES)
    blob = git(repository, "hash-object", "-w", "tests/adapters.py")
    lines = "\n".join(f"100644 blob {blob}\tf{number}.py" for number in range(10))
    for _ in range(8):
        write(repository, {"listing": lines + "\n"})
        command = f"git mktree < {repository / 'listing'}"
        tree = git(repository, "-c", f"alias.tree=!{command}", "tree")
        lines = "\n".join(f"040000 tree {tree}\tf{number}" for number in range(10))
    found = git(repository, "commit-tree", "-m", "x", tree)
    with pytest.raises(CouldNotJudgeError, match="more than 500 files"):
        staged(repository, found)


def program(path: Path) -> Path:
    """A program that leaves a mark beside itself when it is run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch '{path.parent}/mark'\ncat\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_nothing_that_a_repository_names_is_run(tmp_path: Path) -> None:
    """Hooks, monitors, filters, helpers, attributes and included configuration stay unheard."""
    evil = program(tmp_path / "evil" / "program")
    repository = commit(
        tmp_path / "work", {**FILES, ".gitattributes": "* filter=evil diff=evil text eol=crlf\n"}
    )
    (repository / "included").write_text(f"[core]\n\tfsmonitor = {evil}\n\tpager = {evil}\n")
    settings = {
        "core.fsmonitor": evil,
        "core.sshCommand": evil,
        "core.hooksPath": evil.parent,
        "core.alternateRefsCommand": evil,
        "core.gitProxy": evil,
        "filter.evil.smudge": evil,
        "filter.evil.process": evil,
        "filter.evil.required": "true",
        "diff.evil.textconv": evil,
        "diff.external": evil,
        "credential.helper": evil,
        "alias.cat-file": f"!{evil}",
        "include.path": repository / "included",
        "remote.origin.url": f"ext::{evil}",
        "protocol.ext.allow": "always",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "core.worktree": tmp_path,
    }
    for name, value in settings.items():
        git(repository, "config", name, str(value))
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        program(repository / ".git" / "hooks" / hook)
    found = staged(repository)
    assert (found.root / "tests/adapters.py").read_text() == STUBS
    assert not list(tmp_path.rglob("mark"))


def test_what_is_missing_is_not_fetched(tmp_path: Path) -> None:
    """A partial clone lacks content: that is said, and no server is asked."""
    evil = program(tmp_path / "evil" / "program")
    repository = commit(tmp_path / "work", FILES)
    blob = git(repository, "rev-parse", "HEAD:tests/adapters.py")
    git(repository, "config", "remote.origin.url", f"ext::{evil}")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "protocol.ext.allow", "always")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(CouldNotJudgeError, match=r"content of tests/adapters\.py"):
        staged(repository)
    assert not list(tmp_path.rglob("mark"))


def test_nothing_of_another_repository_is_read(tmp_path: Path) -> None:
    """Borrowed objects, links and files that lead to another repository are refused or ignored."""
    secret = commit(tmp_path / "secret", {"tests/adapters.py": STUBS + "answer = 42\n"})
    head = git(secret, "rev-parse", "HEAD")
    repository = commit(tmp_path / "work", {"readme": ""})
    alternates = repository / ".git/objects/info/alternates"
    alternates.write_text(f"{secret}/.git/objects\n")
    with pytest.raises(CouldNotJudgeError, match="borrows from another repository"):
        staged(repository, head)
    alternates.unlink()
    for folder in sorted((secret / ".git/objects").glob("??")):
        target = repository / ".git/objects" / folder.name
        if not target.exists():
            target.symlink_to(folder)
    refusals = (CouldNotJudgeError, NothingToGradeError, WrongRequestError)
    with pytest.raises(refusals, match=r"revision|readable"):
        staged(repository, head)
    for kind in ("link", "file"):
        shutil.rmtree(repository / ".git", ignore_errors=True)
        (repository / ".git").unlink(missing_ok=True)
        if kind == "link":
            (repository / ".git").symlink_to(secret / ".git")
        else:
            (repository / ".git").write_text(f"gitdir: {secret}/.git\n")
        with pytest.raises(WrongRequestError, match="no git repository"):
            staged(repository, head)


def test_a_replacement_does_not_count(tmp_path: Path) -> None:
    """What a commit's hash stands for is what is graded."""
    repository = commit(tmp_path / "work", FILES)
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, {"tests/adapters.py": STUBS + "second = 2\n"})
    git(repository, "replace", first, "HEAD")
    found = staged(repository, first)
    assert "second" not in (found.root / "tests/adapters.py").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_in_a_repository_is_not_waited_for(tmp_path: Path) -> None:
    """Neither in place of its configuration nor of a reference."""
    repository = commit(tmp_path / "work", FILES)
    (repository / ".git/config").unlink()
    os.mkfifo(repository / ".git/config")
    os.mkfifo(repository / ".git/refs/heads/pipe")
    assert staged(repository, "main").notes[0].startswith("Graded revision main")


def test_a_kind_of_repository_that_is_not_read_is_named(tmp_path: Path) -> None:
    """Another format of hashes is said to be the reason, and not a missing revision."""
    repository = tmp_path / "work"
    repository.mkdir()
    git(repository, "init", "--quiet", "--object-format=sha256")
    commit(repository, FILES)
    with pytest.raises(CouldNotJudgeError, match=r"objectformat = sha256"):
        staged(repository)


@pytest.mark.parametrize(
    ("script", "reason"), [("exit 129", "older than"), (None, "not installed")]
)
def test_without_a_git_that_fits_nothing_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, reason: str
) -> None:
    """A git that does not know the command, or none, is not taken for a missing revision."""
    repository = commit(tmp_path / "work", FILES)
    programs = tmp_path / "programs"
    programs.mkdir()
    if script is not None:
        (programs / "git").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "git").chmod(0o700)
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(CouldNotJudgeError, match=reason):
        staged(repository)


def test_a_damaged_object_is_no_traceback(tmp_path: Path) -> None:
    """A file that is no object, under an object's name, could not be judged."""
    repository = commit(tmp_path / "work", FILES)
    blob = git(repository, "rev-parse", "HEAD:tests/adapters.py")
    target = repository / ".git/objects" / blob[:2] / blob[2:]
    target.chmod(0o600)
    target.write_bytes(b"no object")
    with pytest.raises(CouldNotJudgeError):
        staged(repository)


def test_git_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The private copy is gone when staging ends, whether it could be judged or not."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    repository = commit(tmp_path / "work", FILES)
    staged(repository)
    with pytest.raises(WrongRequestError):
        staged(repository, "nope")
    assert not list((tmp_path / "temporary").iterdir())
