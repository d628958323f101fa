"""What can be closed to a submission on this machine, as plain text."""

from ..records import Measurement

VERDICTS = {
    "strict": "Strict isolation is to be had here.",
    "partial": "Isolation is partial here: --isolation strict refuses to grade.",
    "none": "Nothing is closed here: --isolation strict refuses to grade.",
}


def render(found: Measurement) -> str:
    """The matrix: what is closed and by what, which layers are there, what would mend the rest."""
    barriers = [
        (barrier.resource, "closed" if barrier.closed else "open", barrier.by)
        for barrier in found.isolation.barriers
    ]
    layers = [(layer, why or "in force") for layer, why in found.missing.items()]
    lines = [
        *aligned([("resource", "state", "by"), *barriers]),
        "",
        *aligned([("layer", "state"), *layers]),
        "",
        VERDICTS[found.isolation.level],
    ]
    if found.mend:
        lines.append(f"This would close more: {found.mend}")
    return "\n".join(lines)


def aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Rows whose columns begin at the same place."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
