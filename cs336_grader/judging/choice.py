"""Decides which problems a submission is graded in."""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from cs336_checks.rubric import (
    Rubric,
    adapters_of_tracks,
    attempted_tracks,
    counting_adapters,
)
from cs336_grader.reports.summary import listed

# Of the adapters that decide on a track, this many are named.
MOST_NAMED = 3


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


def choice_told(
    rubric: Rubric,
    tracks: Collection[str],
    adapters: AbstractSet[str],
    stubs: AbstractSet[str],
) -> tuple[str, ...]:
    """Sentences on each choice that a student may not expect.

    Args:
        rubric: has the problems, those of tracks that were not named as well.
        tracks: the tracks that were named.
        adapters: those that the submission has filled in.
        stubs: those that it has as they were handed out.
    """
    if tracks:
        counting = counting_adapters(rubric, adapters, stubs)
        others = [track for track in counting if counting[track] and track not in tracks]
        if not others:
            return ()
        return (f"Adapters of the {tracks_told(others)} are filled in and not graded here.",)
    return attempt_told(rubric, adapters, stubs)


def attempt_told(
    rubric: Rubric, adapters: AbstractSet[str], stubs: AbstractSet[str]
) -> tuple[str, ...]:
    """A sentence for each track of which few adapters are filled in, or only stubs are there."""
    own, graded = adapters_of_tracks(rubric), attempted_tracks(rubric, adapters, stubs)
    if all(adapters.isdisjoint(problem.adapters) for problem in rubric.problems.values()):
        several = sum(bool(names & stubs) for names in own.values()) > 1
        told = f"No adapter is filled in in any track; shown as 0 of the {graded[0]} track."
        return (told,) if several else ()
    counting = counting_adapters(rubric, adapters, stubs)
    main = max(graded, key=lambda track: len(own[track] & adapters) / len(own[track]))
    sentences = []
    for track, names in own.items():
        filled = names & adapters
        if track not in graded and (filled or names & stubs):
            sentences.append(left_out_told(track, graded, filled))
        elif track in graded and track != main and 2 * len(filled) < len(names):
            others = tuple(other for other in graded if other != track)
            alone = " ".join(f"--track {other}" for other in others)
            sentences.append(
                f"Also graded in the {track} track, because {filled_told(counting[track])} filled "
                f"in; {alone} grades the {tracks_told(others)} alone."
            )
    return tuple(sentences)


def left_out_told(track: str, graded: Sequence[str], filled: AbstractSet[str]) -> str:
    """Why a track is not graded, and how it would be."""
    told = f"Graded in the {tracks_told(graded)}: "
    if filled:
        told += f"of the {track} track, only {filled_told(filled)} filled in"
    else:
        told += f"none of the {track} track's adapters was filled in"
    return f"{told}; --track {track} grades it."


def filled_told(names: AbstractSet[str]) -> str:
    """Names and their verb: the first ones, and how many more there are."""
    named, more = sorted(names)[:MOST_NAMED], len(names) - MOST_NAMED
    if more > 0:
        named.append(f"{more} more")
    return f"{listed(named)} {'is' if len(names) == 1 else 'are'}"


def tracks_told(tracks: Sequence[str]) -> str:
    """Tracks by their names."""
    return f"{listed(tracks)} track{'s' if len(tracks) > 1 else ''}"


def known_names(kind: str, names: Collection[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return what there is of a kind, once it is seen that nothing else was asked for.

    Raises:
        UnknownNameError: something else was.
    """
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return known
