"""What an interpreter has. Run as a program, it tells of the interpreter that runs it, as JSON."""

import json
import platform
import sys
from functools import cache
from importlib import metadata
from typing import Any


@cache
def inventory() -> dict[str, Any]:
    """What this interpreter has; it takes a moment.

    Returns:
        Its version, the names in its library, the distributions that each other top-level name
        belongs to, all distributions, and the folders that imports look in.
    """
    return {
        "version": platform.python_version(),
        "library": list(sys.stdlib_module_names),
        "owners": metadata.packages_distributions(),
        "distributions": [distribution.name for distribution in metadata.distributions()],
        "path": [path for path in sys.path if path],
    }


if __name__ == "__main__":
    json.dump(inventory(), sys.stdout)
