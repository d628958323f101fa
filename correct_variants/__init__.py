"""Right ways to write the assignment's components: none may lose a point.

They differ in formula, order, precision, container and source of randomness, as right submissions
do. Importing the package enters all of its modules' functions in ``VARIANTS``. ``adapters_with``
gives all adapters of a submission with one of them in it.
"""

import importlib
import pkgutil

from cs336_checks.catalogue import Variant, adapters_with

from .catalogue import VARIANTS

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")

__all__ = ["VARIANTS", "Variant", "adapters_with"]
