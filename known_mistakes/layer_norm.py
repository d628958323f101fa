"""LayerNorm."""

import torch
from torch import Tensor

from tests import adapters as reference

from .catalogue import mistake
from .parts import Weights, random


def centred(x: Tensor) -> Tensor:
    """Each vector without its mean, in float32."""
    return x.float() - x.float().mean(-1, keepdim=True)


def variance(x: Tensor) -> Tensor:
    """The mean square of each vector without its mean."""
    return centred(x).square().mean(-1, keepdim=True)


def affine(normalised: Tensor, weights: Weights, dtype: torch.dtype) -> Tensor:
    """Gain and bias, in the input's dtype."""
    return (normalised * weights["weight"] + weights["bias"]).to(dtype)


def divided(numerator: Tensor, denominator: Tensor, weights: Weights, x: Tensor) -> Tensor:
    """A quotient with gain and bias."""
    return affine(numerator / denominator, weights, x.dtype)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the vector is divided by (standard deviation + epsilon), with epsilon outside the root "
    "instead of beside the variance",
    hint="Put a vector of numbers around 0.001 into both forms: where does epsilon weigh more?",
)
def sigma_plus_epsilon(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), variance(x).sqrt() + eps, weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the vector is divided by x.std() + epsilon, which has d_model - 1 in the variance and "
    "epsilon outside the root",
    hint="Widespread sample code does this. The text has the mean of the squares, and epsilon "
    "inside the root.",
)
def std_plus_epsilon(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), x.float().std(-1, keepdim=True) + eps, weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the variance is divided by d_model - 1, which is what var() does by default",
    hint="That correction belongs to a sample. The text divides by the number of features: try a "
    "vector of two numbers.",
)
def unbiased_variance(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), (x.float().var(-1, keepdim=True) + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="edge",
    wrong="epsilon is left out",
    hint="What is divided by what in a vector of equal numbers?",
)
def no_epsilon(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), variance(x).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="laziness",
    wrong="epsilon is a fixed small number, whatever is given",
    hint="Follow the argument from the constructor to the formula: is it stored, and is it used? "
    "It shows only where inputs are small.",
)
def epsilon_ignored(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), (variance(x) + 1e-5).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the variance is raised to epsilon where it is smaller, instead of adding epsilon",
    hint="Read the formula again: epsilon is a term of a sum, not a lower bound.",
)
def epsilon_as_lower_bound(
    d_model: int, eps: float, weights: Weights, in_features: Tensor
) -> Tensor:
    x = in_features
    return divided(centred(x), variance(x).clamp(min=eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the vector is divided by its variance, without the root",
    hint="A vector that is twice as long should come out the same. Does yours?",
)
def root_missing(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), variance(x) + eps, weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the mean is not subtracted, as in RMSNorm",
    hint="A constant vector must become the bias. Compare the two formulas.",
)
def root_mean_square(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features.float()
    return divided(x, (x.square().mean(-1, keepdim=True) + eps).sqrt(), weights, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the mean is subtracted in the variance only, and not from the vector itself",
    hint="With a gain of one and a bias of zero, what is the mean of your output?",
)
def numerator_not_centred(
    d_model: int, eps: float, weights: Weights, in_features: Tensor
) -> Tensor:
    x = in_features
    return divided(x.float(), (variance(x) + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the root mean square takes the place of the standard deviation: the mean is subtracted "
    "from the vector, but not in the variance",
    hint="Add a constant to all features: your output must not change.",
)
def variance_around_zero(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    square = x.float().square().mean(-1, keepdim=True)
    return divided(centred(x), (square + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the squares are summed and not averaged",
    hint="With a gain of one and a bias of zero, what is the variance of your output, and how does "
    "it depend on d_model?",
)
def sum_of_squares(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), (variance(x) * d_model + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the mean of the distances from the mean takes the place of the standard deviation",
    hint="The variance is a mean of squares.",
)
def mean_distance(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    return divided(centred(x), centred(x).abs().mean(-1, keepdim=True) + eps, weights, x)


def without(part: str, weights: Weights) -> Weights:
    """Weights of which one has the value that it is born with."""
    born = {"weight": torch.ones_like, "bias": torch.zeros_like}[part]
    return weights | {part: born(weights[part])}


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the bias is not added",
    hint="LayerNorm has two vectors of weights. What must a vector of equal numbers become?",
)
def no_bias(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return reference.run_layer_norm(d_model, eps, without("bias", weights), in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the gain is not applied",
    hint="LayerNorm has two vectors of weights: change the gain and see whether the output does.",
)
def no_gain(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return reference.run_layer_norm(d_model, eps, without("weight", weights), in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="gain and bias are exchanged",
    hint="Which of the two is multiplied with, and which is added? Follow each from its name.",
)
def gain_and_bias_exchanged(
    d_model: int, eps: float, weights: Weights, in_features: Tensor
) -> Tensor:
    exchanged = {"weight": weights["bias"], "bias": weights["weight"]}
    return reference.run_layer_norm(d_model, eps, exchanged, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="the bias is added before the gain is multiplied with",
    hint="What must a vector of equal numbers become: the bias, or the bias times the gain?",
)
def bias_before_gain(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    early = weights | {"bias": weights["bias"] * weights["weight"]}
    return reference.run_layer_norm(d_model, eps, early, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="one is added to the gain",
    hint="Some models store the gain's difference from one. Here it is the gain itself.",
)
def gain_plus_one(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    larger = weights | {"weight": weights["weight"] + 1}
    return reference.run_layer_norm(d_model, eps, larger, in_features)


def over(axes: tuple[int, ...], eps: float, weights: Weights, x: Tensor) -> Tensor:
    """LayerNorm with mean and variance over other axes."""
    mean = x.float().mean(axes, keepdim=True)
    square = (x.float() - mean).square().mean(axes, keepdim=True)
    return divided(x.float() - mean, (square + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="mean and variance are those of each feature over the positions, instead of each "
    "position's over the features",
    hint="Every vector is normalized by itself: change one position and see whether another does.",
)
def over_positions(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return over((-2,), eps, weights, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="mean and variance are those of a whole sequence, over positions and features",
    hint="Every vector is normalized by itself: change one position and see whether another does.",
)
def over_sequences(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return over((-2, -1), eps, weights, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="mean and variance are those of each feature over the batch, as in batch normalization",
    hint="Every vector is normalized by itself: change one sequence and see whether another does.",
)
def over_batch(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return over((0,), eps, weights, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="formula",
    wrong="mean and variance are those of the whole input",
    hint="Every vector is normalized by itself: which axis is yours over?",
)
def over_everything(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return over(tuple(range(in_features.dim())), eps, weights, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="laziness",
    wrong="gain and bias stay one and zero, because their names were not found among the given "
    "weights",
    hint="Compare the names your module has with those given; loading with strict=False hides the "
    "ones that do not fit.",
)
def weights_not_loaded(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    born = without("weight", without("bias", weights))
    return reference.run_layer_norm(d_model, eps, born, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="laziness",
    wrong="the gain is random, as other weights are before they are trained",
    hint="What does your constructor fill the gain with, and is what is given loaded into it?",
)
def random_gain(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    born = weights | {"weight": random(d_model)}
    return reference.run_layer_norm(d_model, eps, born, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="interface",
    wrong="mean and variance are kept out of the gradient",
    hint="Both depend on every feature, so the gradient flows through them too.",
)
def detached_statistics(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features
    mean = x.mean(-1, keepdim=True).detach()
    return divided(x - mean, (variance(x).detach() + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="interface",
    wrong="the input is changed in place",
    hint="Whoever called you may need the input again, the residual connection for instance: "
    "which operation writes into the tensor that it was given?",
)
def in_place(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    in_features -= in_features.mean(-1, keepdim=True)
    return divided(in_features, (variance(in_features) + eps).sqrt(), weights, in_features)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="numerics",
    wrong="mean and variance are computed in the input's precision, in which squares overflow",
    hint="In float16, the square of 300 is infinity: in which dtype do you compute?",
)
def input_precision(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    x = in_features - in_features.mean(-1, keepdim=True)
    return divided(x, (x.square().mean(-1, keepdim=True) + eps).sqrt(), weights, x)


@mistake(
    "layer_norm",
    "run_layer_norm",
    kind="interface",
    wrong="the result stays float32 where the input is in half precision",
    hint="Compare the dtypes of input and output: what was converted has to be converted back.",
)
def float32_result(d_model: int, eps: float, weights: Weights, in_features: Tensor) -> Tensor:
    return reference.run_layer_norm(d_model, eps, weights, in_features.float())
