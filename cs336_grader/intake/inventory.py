"""What an interpreter has: run as a program, it tells of the one that runs it, as JSON."""

import json
import platform
import sys
from importlib import metadata
from typing import Any


def inventory() -> dict[str, Any]:
    """What this interpreter has.

    Returns:
        Its version, the top-level names in its library and of what is installed, each with the
        distributions that have it, the version of every distribution, and the folders that imports
        look in.
    """
    return {
        "version": platform.python_version(),
        "modules": {
            **dict.fromkeys(sys.stdlib_module_names, ()),
            **metadata.packages_distributions(),
        },
        "distributions": {
            # If two have one name, imports find the first on the path, so it is entered last.
            distribution.name: distribution.version
            for distribution in reversed(list(metadata.distributions()))
        },
        "path": [path for path in sys.path if path],
    }


if __name__ == "__main__":
    json.dump(inventory(), sys.stdout)
