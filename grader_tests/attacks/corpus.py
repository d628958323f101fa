"""All attacks by what each does, in a sentence's words."""

from . import ending, inner, lies, network, secrets_sought, sources, wire, world
from .attack import Attack

FAMILIES = (ending, inner, secrets_sought, network, world, wire, lies, sources)
CORPUS: dict[str, Attack] = {
    name: attack for family in FAMILIES for name, attack in family.ATTACKS.items()
}
