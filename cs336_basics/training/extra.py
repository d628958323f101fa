"""One sentence instead of a traceback where the extra training is not installed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

PACKAGES = ("matplotlib", "rich", "safetensors", "tyro")


@contextmanager
def extra_training() -> Iterator[None]:
    """End the command with a sentence where an import within needs the extra and has it not."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        sys.exit(
            f"{package} is not installed: this command needs the extra training. In the folder of "
            "pyproject.toml: uv sync --extra training, or pip install -e '.[training]'"
        )
