"""Gathers the pages of the site as Markdown files."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
PACKAGES = ("cs336_checks", "cs336_basics")
GUIDES = (
    *("grading", "classes", "authoring", "checks", "training"),
    *("trust", "processes", "performance", "positions"),
)


def gather(folder: Path, course: Path) -> None:
    """Write all pages into a folder, with what they show.

    Args:
        folder: is made.
        course: holds the chapters of the course text as students get them.
    """
    shutil.copytree(ROOT / "website/pages", folder)
    shutil.copytree(ROOT / "website/static", folder / "static")
    (folder / "guides").mkdir()
    for name in GUIDES:
        copy_page(ROOT / f"docs/{name}.md", folder / f"guides/{name}.md", ROOT / "docs")
    for name in ("*.svg", "*.schema.json"):
        for file in (ROOT / "docs").glob(name):
            shutil.copy(file, folder / "guides")
    for chapter in course.glob("[0-9]*.md"):
        copy_page(chapter, folder / "course" / chapter.name, course)
    shutil.copy(course / "training_loop.py", folder / "course")
    if (course / "pictures").is_dir():
        shutil.copytree(course / "pictures", folder / "course/pictures")
    (folder / "api").mkdir()
    for package in PACKAGES:
        text = "\n".join(api_page(package))
        (folder / f"api/{package}.md").write_text(text, encoding="utf-8")
    (folder / "extra/gallery").mkdir(parents=True)


def copy_page(source: Path, target: Path, folder: Path) -> None:
    """Copy a page of a folder; links that lead out of the site become plain text."""

    def kept(link: re.Match[str]) -> str:
        picture, text, path, _ = link.groups()
        inside = not path or "://" in path or ((folder / path).is_file() and "/" not in path)
        if inside or picture or path.startswith("pictures/"):
            return link[0]
        return text

    target.write_text(LINK.sub(kept, source.read_text(encoding="utf-8")), encoding="utf-8")


def api_page(package: str) -> Iterator[str]:
    """Yield the lines of the page on a package: each module with its public names."""
    yield f"# {package}\n"
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not file.read_text(encoding="utf-8").strip():
            continue
        name = ".".join(parts)
        if len(parts) > 1:
            yield f"## {name}\n"
        yield f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n"
