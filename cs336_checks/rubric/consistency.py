"""Refuses a rubric that contradicts itself, which no single value of it can tell."""

from collections import Counter

from .model import RUBRIC, Rubric, RubricError, holds

WHERE = RUBRIC.as_posix()


def check_consistency(rubric: Rubric) -> None:
    """See that what is said in one place fits what is said in others.

    Raises:
        RubricError: it does not.
    """
    counts = Counter(name for problem in rubric.problems.values() for _, name in problem.checks())
    for name, times in counts.items():
        if times > 1:
            raise RubricError(f"{WHERE}: {name} is listed {times} times; list it once")
    check_rules(rubric)
    check_dependencies(rubric)
    check_tracks(rubric)


def check_rules(rubric: Rubric) -> None:
    """See that rules do not contradict each other.

    Raises:
        RubricError: a name is in two lists, or allowed where nothing forbids it.
    """
    general = rubric.rules
    ruled = {*general.forbidden, *general.human_look}
    tables = {f"problems.{name}": problem for name, problem in rubric.problems.items()}
    for table, rules in {"rules": general, **tables}.items():
        counts = Counter((*rules.forbidden, *rules.human_look, *rules.allowed))
        for name, times in counts.items():
            if times > 1:
                raise RubricError(
                    f"{WHERE}: {table}: {name} is listed {times} times; "
                    "keep it in forbidden, human_look or allowed"
                )
        for name in rules.allowed:
            if not any(
                holds(rule, name) for rule in ruled.union(rules.forbidden, rules.human_look)
            ):
                raise RubricError(
                    f"{WHERE}: {table}.allowed: {name} is allowed anyway; correct its "
                    "spelling, or delete it"
                )


def check_dependencies(rubric: Rubric) -> None:
    """See that problems are built on others that exist.

    Raises:
        RubricError: one is built on itself or on none that is known.
    """
    for name, problem in rubric.problems.items():
        for other in problem.built_on:
            if other == name or other not in rubric.problems:
                raise RubricError(
                    f"{WHERE}: problems.{name}.built_on: {other} is no other problem; "
                    "correct its spelling or delete it"
                )


def check_tracks(rubric: Rubric) -> None:
    """See that every problem is of one track, and that each track can be told by its adapters.

    Raises:
        RubricError: a problem names no track or an unknown one, a track has no problem that counts,
            or an adapter is of two tracks.
    """
    owners: dict[str, str] = {}
    for name, problem in rubric.problems.items():
        if rubric.tracks and not problem.track:
            known = ", ".join(rubric.tracks)
            raise RubricError(f"{WHERE}: problems.{name}.track: name one of the tracks: {known}")
        if problem.track and problem.track not in rubric.tracks:
            raise RubricError(
                f"{WHERE}: problems.{name}.track: there is no track {problem.track}; correct its "
                "spelling, or give it a title under [tracks]"
            )
        for adapter in problem.adapters:
            if owners.setdefault(adapter, problem.track) != problem.track:
                raise RubricError(
                    f"{WHERE}: problems.{name}.adapters: {adapter} is of the track "
                    f"{owners[adapter]}, too; a track is told by adapters of its own"
                )
    for track in rubric.tracks or ("",):
        if all(problem.extra for problem in rubric.problems.values() if problem.track == track):
            raise RubricError(
                f"{WHERE}: {f'tracks.{track}' if track else 'problems'}: "
                "holds no problem but extra ones; add one that counts"
            )
