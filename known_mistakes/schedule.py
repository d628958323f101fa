"""Wrong ways to compute the learning rate of an iteration."""

import math
from collections.abc import Callable

from cs336_checks.catalogue import Kind

from .catalogue import mistake

# The learning rate of an iteration, given maximum, minimum and where warm-up and cosine end.
Rate = float | None
Schedule = Callable[[int, float, float, int, int], Rate]


def schedule_mistake(*, kind: Kind, wrong: str, hint: str) -> Callable[[Schedule], Schedule]:
    """Enter the schedule below, under the adapter's names for what it is given."""

    def enter(schedule: Schedule) -> Schedule:
        def adapter(
            it: int,
            max_learning_rate: float,
            min_learning_rate: float,
            warmup_iters: int,
            cosine_cycle_iters: int,
        ) -> Rate:
            return schedule(
                it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
            )

        adapter.__name__ = schedule.__name__
        mistake(
            "learning_rate_schedule",
            "run_get_lr_cosine_schedule",
            kind=kind,
            wrong=wrong,
            hint=hint,
        )(adapter)
        return schedule

    return enter


def cosine(low: float, high: float, progress: float) -> float:
    """From high to low as progress goes from 0 to 1."""
    return low + (1 + math.cos(math.pi * progress)) / 2 * (high - low)


def right(it: int, high: float, low: float, warmup: int, end: int) -> float:
    """The learning rate."""
    if it < warmup:
        return high * it / warmup
    if it >= end:
        return low
    return cosine(low, high, (it - warmup) / (end - warmup))


@schedule_mistake(
    kind="formula",
    wrong="the warm-up is one iteration ahead",
    hint="Which learning rate does iteration 0 get, and at which iteration does the warm-up end?",
)
def warmup_one_ahead(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it < warmup:
        return high * (it + 1) / warmup
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the warm-up takes one iteration more than it should",
    hint="At iteration T_w the warm-up is over and the rate is the maximum. What is yours?",
)
def warmup_too_long(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it < warmup:
        return high * it / (warmup + 1)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the warm-up starts at the minimum",
    hint="The minimum belongs to the end of the schedule. Which learning rate does "
    "iteration 0 get?",
)
def warmup_from_minimum(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it < warmup:
        rise = high - low
        return low + rise * it / warmup
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="laziness",
    wrong="there is no warm-up and the rate is the maximum from the beginning",
    hint="Which learning rate does iteration 0 get, and which one does the middle of the "
    "warm-up get?",
)
def no_warmup(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it < warmup:
        return high
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the iteration is divided by the length of the warm-up without a remainder",
    hint="Print the share of the warm-up at each of its iterations. Which division gives whole "
    "numbers?",
)
def whole_steps_of_warmup(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it < warmup:
        return high * (it // warmup)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="edge",
    wrong="iteration 0 is counted to a warm-up that takes no iterations",
    hint="Set the warm-up to 0 iterations: by what do you divide at iteration 0?",
)
def empty_warmup_divides(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it <= warmup:
        return high * it / warmup
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine starts at iteration 0 and not where the warm-up ends",
    hint="How far is the cosine at the first iteration after the warm-up? It should not have begun "
    "to fall.",
)
def cosine_from_zero(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = it / end
        return cosine(low, high, progress)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine's progress is divided by T_c although it starts at T_w",
    hint="At the last iteration of the cycle the progress should reach 1. How many "
    "iterations does the cosine take?",
)
def cosine_over_the_whole_cycle(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = (it - warmup) / end
        return cosine(low, high, progress)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="T_c is taken for the cosine's length, so that it ends T_w iterations late",
    hint="T_c is the number of an iteration, not a length. At which iteration does your "
    "rate reach the minimum?",
)
def cycle_begins_after_warmup(it: int, high: float, low: float, warmup: int, end: int) -> float:
    return right(it, high, low, warmup, warmup + end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine reaches the minimum one iteration early",
    hint="Write down the progress at each iteration from T_w = 2 to T_c = 5. Where does "
    "yours reach 1?",
)
def cosine_one_early(it: int, high: float, low: float, warmup: int, end: int) -> float:
    return right(it, high, low, warmup, end - 1)


@schedule_mistake(
    kind="formula",
    wrong="the cosine goes down to 0, not to the minimum",
    hint="Just before T_c the rate should be near the minimum. Where does the minimum stand in the "
    "cosine's formula?",
)
def cosine_down_to_zero(it: int, high: float, low: float, warmup: int, end: int) -> float:
    return right(it, high, 0.0 if it < end else low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine is multiplied by the maximum, not by the distance of maximum and minimum",
    hint="Where the cosine begins, the rate should be the maximum. How high does yours go?",
)
def swing_of_the_maximum(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = (it - warmup) / (end - warmup)
        return low + cosine(0.0, high, progress)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine plus 1 is not halved",
    hint="The cosine plus 1 goes from 2 down to 0. What should the factor be where the "
    "cosine begins?",
)
def swing_not_halved(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        return right(it, 2 * high - low, low, warmup, end)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine rises from the minimum to the maximum",
    hint="Which sign has the cosine in your formula, and what is it where the cosine begins?",
)
def rising_cosine(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = (it - warmup) / (end - warmup)
        return cosine(high, low, progress)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="pi is missing in the cosine",
    hint="The angle should go from 0 to half a turn. How far does yours go?",
)
def cosine_without_pi(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = (it - warmup) / (end - warmup)
        return cosine(low, high, progress / math.pi)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine goes through a whole turn, down and up again",
    hint="Half through the cosine the rate should lie half way down. What is yours, and what at "
    "the end?",
)
def whole_turn(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = (it - warmup) / (end - warmup)
        return cosine(low, high, 2 * progress)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the rate falls along a straight line",
    hint="A cosine falls slowly at first and fastest in the middle. Plot your rate.",
)
def straight_line(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if warmup <= it < end:
        progress = (it - warmup) / (end - warmup)
        return high + progress * (low - high)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the rate is 0 after the cosine",
    hint="What should the rate be a long time after T_c?",
)
def zero_after_the_cycle(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it > end:
        return 0.0
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="edge",
    wrong="no case is left for the iterations after the cosine, and None is returned",
    hint="There are three cases. What does your function return in the third?",
)
def nothing_after_the_cycle(
    it: int, high: float, low: float, warmup: int, end: int
) -> float | None:
    if it > end:
        return None
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the cosine goes on after T_c, so that the rate rises again",
    hint="After T_c a cosine rises again. What should the rate be a long time after T_c?",
)
def swings_on(it: int, high: float, low: float, warmup: int, end: int) -> float:
    if it >= end:
        progress = (it - warmup) / (end - warmup)
        return cosine(low, high, progress)
    return right(it, high, low, warmup, end)


@schedule_mistake(
    kind="formula",
    wrong="the schedule starts over after T_c",
    hint="What should the rate be a long time after T_c? Restarts are another schedule.",
)
def starts_over(it: int, high: float, low: float, warmup: int, end: int) -> float:
    return right(it % end, high, low, warmup, end)


@schedule_mistake(
    kind="interface",
    wrong="the share of the maximum is returned, not the learning rate",
    hint="Double both rates: what you return should double.",
)
def share_of_the_maximum(it: int, high: float, low: float, warmup: int, end: int) -> float:
    return right(it, high, low, warmup, end) / high
