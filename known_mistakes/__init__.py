"""Known mistakes: wrong ways to write the assignment's components, each named and explained.

Importing the package enters all of its modules' functions in ``MISTAKES``. ``adapters_with`` gives
all adapters of a submission whose only faults are the mistakes given.
"""

import importlib
import pkgutil

from .all_parts import adapters_with
from .catalogue import MISTAKES
from .parts import Parts

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")

__all__ = ["MISTAKES", "Parts", "adapters_with"]
