"""The catalogue that right variants are entered in."""

from cs336_checks.catalogue import Variants

VARIANTS = Variants()
variant = VARIANTS.enter
