"""All attacks by what each does, in a sentence's words."""

from . import ending, inner, lies, network, processes, secrets_sought, sources, wire, world
from .attack import Attack

FAMILIES = (ending, inner, secrets_sought, network, processes, world, wire, lies, sources)
# What layers of isolation make a difference for; the rest is up to the process that judges.
LAYERED = (ending, inner, secrets_sought, network, processes, world)
# What can be let loose where nothing is closed.
INNER = (inner, wire, lies)
CORPUS: dict[str, Attack] = {
    name: attack for family in FAMILIES for name, attack in family.ATTACKS.items()
}
