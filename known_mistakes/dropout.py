"""Dropout."""

import random

import torch
from torch import Tensor

from .catalogue import mistake


def dropped(x: Tensor, p: float, *shape: int) -> Tensor:
    """The input with zeros at random, one draw for each element of a shape, and not scaled."""
    return x * (torch.rand(shape or x.shape, device=x.device) >= p)


@mistake(
    "dropout",
    "run_dropout",
    kind="laziness",
    wrong="dropout is accepted and ignored",
    hint="With p = 0.5 half of the elements must become zero in training. Is the "
    "probability stored, and is it used?",
)
def ignored(p: float, in_features: Tensor, training: bool) -> Tensor:
    return in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="elements are dropped in evaluation too",
    hint="In evaluation the output must be the input. Does your code read whether it is in "
    "training?",
)
def active_in_evaluation(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p) / (1 - p)


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="training and evaluation are exchanged",
    hint="In which of the two must the output be the input, in training or in evaluation?",
)
def exchanged(p: float, in_features: Tensor, training: bool) -> Tensor:
    return in_features if training else dropped(in_features, p) / (1 - p)


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="what is kept is not scaled",
    hint="Apply dropout to many ones: their mean must stay one. What makes up for the zeros?",
)
def not_scaled(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p) if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="the output is scaled in evaluation, by 1 - p, and not in training",
    hint="The first paper on dropout does this. The text scales in training, and evaluation"
    " changes nothing.",
)
def scaled_in_evaluation(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p) if training else in_features * (1 - p)


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="what is kept is divided by p instead of 1 - p",
    hint="Apply dropout to many ones: their mean must stay one. Which share of them is kept?",
)
def divided_by_p(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p) / max(p, 1e-6) if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="what is kept is multiplied by 1 - p instead of divided",
    hint="Apply dropout to many ones: their mean must stay one. Must those that are kept "
    "grow or shrink?",
)
def multiplied(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p) * (1 - p) if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="p is the probability to be kept instead of dropped",
    hint="How many elements vanish with p = 0.1? A value of p near one half does not show it.",
)
def kept_with_p(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, 1 - p) / p if training and p > 0 else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="what is kept is scaled twice",
    hint="Apply dropout to many ones: their mean must stay one. How often do you scale?",
)
def scaled_twice(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p) / (1 - p) ** 2 if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="exactly a share p of all elements is dropped, at random places",
    hint="Toss a coin a hundred times: how often are there exactly fifty heads? Each element is "
    "drawn by itself.",
)
def exact_share(p: float, in_features: Tensor, training: bool) -> Tensor:
    x = in_features
    ranks = torch.randperm(x.numel()).view(x.shape)
    return x * (ranks >= round(p * x.numel())) / (1 - p) if training else x


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="the same elements are dropped in each sequence of the batch",
    hint="Every element is drawn by itself: which shape has your mask?",
)
def same_for_the_batch(p: float, in_features: Tensor, training: bool) -> Tensor:
    x = in_features
    return dropped(x, p, *x.shape[-2:]) / (1 - p) if training else x


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="the same features are dropped at each position",
    hint="Every element is drawn by itself: which shape has your mask?",
)
def same_for_all_positions(p: float, in_features: Tensor, training: bool) -> Tensor:
    x = in_features
    return dropped(x, p, *x.shape[:-2], 1, x.shape[-1]) / (1 - p) if training else x


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="one draw decides for all elements together",
    hint="Every element is drawn by itself: how many random numbers do you ask for?",
)
def all_or_nothing(p: float, in_features: Tensor, training: bool) -> Tensor:
    return dropped(in_features, p, 1) / (1 - p) if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="every call drops the same elements, because a generator is seeded anew each time",
    hint="Call it twice on many ones: are the same elements dropped? Where do you seed a "
    "generator?",
)
def seeded_anew(p: float, in_features: Tensor, training: bool) -> Tensor:
    mask = torch.rand(in_features.shape, generator=torch.Generator().manual_seed(0)) >= p
    return in_features * mask / (1 - p) if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="interface",
    wrong="elements are drawn from a generator that torch.manual_seed does not reach",
    hint="A run must repeat with its seed: Python's and NumPy's generators have seeds of their "
    "own, and so has one that you make yourself.",
)
def other_generator(p: float, in_features: Tensor, training: bool) -> Tensor:
    if not training:
        return in_features
    generator = torch.Generator().manual_seed(random.SystemRandom().getrandbits(63))
    return in_features * (torch.rand(in_features.shape, generator=generator) >= p) / (1 - p)


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="the input is multiplied by noise, and no element becomes zero",
    hint="Dropped elements are exactly zero: count those.",
)
def gaussian_noise(p: float, in_features: Tensor, training: bool) -> Tensor:
    noise = torch.randn_like(in_features) * (p / (1 - p)) ** 0.5
    return in_features * (1 + noise) if training else in_features


@mistake(
    "dropout",
    "run_dropout",
    kind="formula",
    wrong="the smallest elements are dropped instead of random ones",
    hint="Call it twice on the same input: other elements must be dropped. What decides in "
    "your code?",
)
def smallest_dropped(p: float, in_features: Tensor, training: bool) -> Tensor:
    x = in_features
    return x * (x.abs() >= x.abs().quantile(p)) / (1 - p) if training else x


@mistake(
    "dropout",
    "run_dropout",
    kind="interface",
    wrong="the input is changed in place",
    hint="The caller may need the input again. Which of your operations writes into it?",
)
def in_place(p: float, in_features: Tensor, training: bool) -> Tensor:
    if not training:
        return in_features
    return in_features.mul_(dropped(torch.ones_like(in_features), p) / (1 - p))


@mistake(
    "dropout",
    "run_dropout",
    kind="interface",
    wrong="the gradient passes as if nothing had been dropped",
    hint="Apply it to ones and backpropagate ones: the gradient must be equal to the output.",
)
def straight_through(p: float, in_features: Tensor, training: bool) -> Tensor:
    if not training:
        return in_features
    change = dropped(torch.ones_like(in_features), p) / (1 - p) - 1
    return in_features + (in_features * change).detach()
