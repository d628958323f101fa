"""Decides which problems a submission is graded in."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from cs336_grader.reports.summary import listed
from cs336_grader.rubric import Rubric

# A submission that has fewer adapters of a track, stubs included, may have them by chance.
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
    rubric: Rubric,
    tracks: Collection[str],
    adapters: AbstractSet[str],
    stubs: AbstractSet[str] = frozenset(),
) -> tuple[str, ...]:
    """The problems of some tracks, in the rubric's order; extra ones where an adapter is filled in.

    Args:
        rubric: has the problems.
        tracks: the tracks; those that the submission attempts if none are named.
        adapters: those that the submission has filled in.
        stubs: those that it has as they were handed out.

    Raises:
        UnknownNameError: a track does not exist.
    """
    known_names("track", tracks, tuple(rubric.tracks))
    chosen = tracks or attempted_tracks(rubric, adapters, stubs)
    return tuple(
        name
        for name, problem in rubric.problems.items()
        if problem.track in chosen
        and (not problem.extra or not adapters.isdisjoint(problem.adapters))
    )


def attempted_tracks(
    rubric: Rubric, adapters: AbstractSet[str], stubs: AbstractSet[str]
) -> tuple[str, ...]:
    """The tracks of which a submission has filled in an adapter; else the likeliest one.

    An assignment without tracks has one without a name.
    """
    own, there = adapters_of_tracks(rubric), adapters | stubs
    attempted = tuple(
        track
        for track, names in own.items()
        if names & adapters and len(names & there) >= min(ENOUGH, len(names))
    )
    likeliest = max(own, key=lambda track: (len(own[track] & adapters), bool(own[track] & stubs)))
    return attempted or (likeliest,)


def adapters_of_tracks(rubric: Rubric) -> dict[str, set[str]]:
    """The adapters of each track, without those of extra problems."""
    own: dict[str, set[str]] = {track: set() for track in tuple(rubric.tracks) or ("",)}
    for problem in rubric.problems.values():
        if not problem.extra:
            own[problem.track].update(problem.adapters)
    return own


def choice_told(
    rubric: Rubric, adapters: AbstractSet[str], stubs: AbstractSet[str]
) -> tuple[str, ...]:
    """A sentence for each track that is not graded because only its stubs were handed in."""
    graded = attempted_tracks(rubric, adapters, stubs)
    named = f"{listed(graded)} track{'s' if len(graded) > 1 else ''}"
    return tuple(
        f"Graded in the {named}: none of the {track} track's adapters was filled in; "
        f"--track {track} grades it."
        for track, names in adapters_of_tracks(rubric).items()
        if track not in graded and names & stubs and not names & adapters
    )


def known_names(kind: str, names: Collection[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """What there is of a kind, once it is seen that nothing else was asked for.

    Raises:
        UnknownNameError: something else was.
    """
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return known
