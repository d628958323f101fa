"""The catalogue that mistakes are entered in.

A function takes the place of an adapter, or of another part that ``parts.Parts`` names. Where its
first parameter is called ``parts``, it is given the ``Parts`` it belongs to: through it, it calls
other components, and in its ``kept`` it keeps what a student's code would keep between two calls.
"""

from collections.abc import Callable

from cs336_checks.catalogue import Mistakes, Part

MISTAKES = Mistakes()
mistake = MISTAKES.enter


def as_in(
    function: Part, problem: str, replaces: str, change: Callable[[Part], Part] = lambda part: part
) -> None:
    """Enter a known mistake of one problem in another, where it is made in the same way.

    Args:
        function: what makes it there.
        problem: the problem it belongs to here.
        replaces: the adapter or the part it takes the place of.
        change: makes of the function the one for here, of the same name.
    """
    known = next(known for known in MISTAKES if function in known.replaces.values())
    mistake(problem, replaces, kind=known.kind, wrong=known.wrong, hint=known.hint)(
        change(function)
    )
