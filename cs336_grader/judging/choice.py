"""Decides which problems a submission is graded in."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from cs336_grader.rubric import Rubric

# So many adapters of a track show that it is attempted: one name may be there by chance.
ENOUGH = 2


class UnknownNameError(Exception):
    """A problem or a track was asked for that the assignment does not have.

    Attributes:
        kind: "problem" or "track".
        name: what was asked for.
        known: what there is.
    """

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.kind = kind
        self.name = name
        self.known = known


def named_problems(rubric: Rubric, names: Collection[str]) -> tuple[str, ...]:
    """The problems of these names, or all of them, in the rubric's order.

    Raises:
        UnknownNameError: one of them does not exist.
    """
    known = known_names("problem", names, tuple(rubric.problems))
    return tuple(name for name in known if name in names) if names else known


def attempted_problems(
    rubric: Rubric, tracks: Collection[str], adapters: AbstractSet[str]
) -> tuple[str, ...]:
    """The problems of some tracks, in the rubric's order; extra ones where there is an adapter.

    Args:
        rubric: has the problems.
        tracks: the tracks; those that the submission attempts if none are named.
        adapters: those that the submission has.

    Raises:
        UnknownNameError: a track does not exist.
    """
    known_names("track", tracks, tuple(rubric.tracks))
    chosen = tracks or attempted_tracks(rubric, adapters)
    return tuple(
        name
        for name, problem in rubric.problems.items()
        if problem.track in chosen
        and (not problem.extra or not adapters.isdisjoint(problem.adapters))
    )


def attempted_tracks(rubric: Rubric, adapters: AbstractSet[str]) -> tuple[str, ...]:
    """The tracks of which a submission has two adapters, be they stubs; else the likeliest one.

    Extra problems tell nothing. An assignment without tracks has one without a name.
    """
    own: dict[str, set[str]] = {track: set() for track in tuple(rubric.tracks) or ("",)}
    for problem in rubric.problems.values():
        if not problem.extra:
            own[problem.track].update(problem.adapters)
    found = {track: len(names & adapters) for track, names in own.items()}
    attempted = tuple(track for track in own if found[track] >= min(ENOUGH, len(own[track])))
    return attempted or (max(found, key=lambda track: found[track]),)


def known_names(kind: str, names: Collection[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """What there is of a kind, once it is seen that nothing else was asked for.

    Raises:
        UnknownNameError: something else was.
    """
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return known
