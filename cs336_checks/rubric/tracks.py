"""Decides which tracks a submission attempts. They can be done one without the other."""

from collections.abc import Set as AbstractSet

from .model import Rubric

# A submission that has fewer adapters of a track, stubs included, may have them by chance.
ENOUGH = 2


def attempted_tracks(
    rubric: Rubric, adapters: AbstractSet[str], stubs: AbstractSet[str]
) -> tuple[str, ...]:
    """The tracks of which an adapter is filled in that counts; else the likeliest one.

    An assignment without tracks has one without a name.
    """
    own, counting = adapters_of_tracks(rubric), counting_adapters(rubric, adapters, stubs)
    likeliest = max(own, key=lambda track: (len(own[track] & adapters), bool(own[track] & stubs)))
    return tuple(track for track in own if counting[track]) or (likeliest,)


def counting_adapters(
    rubric: Rubric, adapters: AbstractSet[str], stubs: AbstractSet[str]
) -> dict[str, AbstractSet[str]]:
    """For each track, the adapters that are filled in and make it an attempted one.

    A single function may have the name of an adapter by chance. What problems of another track are
    built on is written for these.
    """
    own, there = adapters_of_tracks(rubric), adapters | stubs
    begun = {
        track: names & adapters if len(names & there) >= min(ENOUGH, len(names)) else set()
        for track, names in own.items()
    }
    parts = {track: parts_of_track(rubric, track) if begun[track] else set() for track in own}
    return {
        track: names.difference(*(parts[other] for other in own if other != track))
        for track, names in begun.items()
    }


def parts_of_track(rubric: Rubric, track: str) -> set[str]:
    """The adapters of all that a track's problems are built on."""
    return {
        adapter
        for name, problem in rubric.problems.items()
        if problem.track == track
        for part in rubric.below(name)
        for adapter in rubric.problems[part].adapters
    }


def adapters_of_tracks(rubric: Rubric) -> dict[str, set[str]]:
    """The adapters of each track, without those of extra problems."""
    own: dict[str, set[str]] = {track: set() for track in tuple(rubric.tracks) or ("",)}
    for problem in rubric.problems.values():
        if not problem.extra:
            own[problem.track].update(problem.adapters)
    return own
