"""The classic language model before training: what its parameters are."""

import torch
from torch import nn

from cs336_basics.gpt import GPT

from .catalogue import mistake
from .gpt_parts import GPTParts, GPTSizes


@mistake(
    "parameter_count",
    "new_gpt",
    kind="formula",
    wrong="with tied weights, the output projection begins with a copy of the embedding's, and the "
    "two part ways in training",
    hint="Both names stand for one Parameter: change one of them in place and look at the other.",
)
def tied_by_copy(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights=False)
    if tie_weights:
        model.lm_head.weight = nn.Parameter(model.token_embeddings.weight.detach().clone())
    return model


@mistake(
    "parameter_count",
    "new_gpt",
    kind="formula",
    wrong="with tied weights, two Parameters share the same numbers, of which each has a gradient "
    "of its own",
    hint="Assigning data ties the numbers and not the Parameter: count the parameters, tied and "
    "not.",
)
def tied_by_data(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights=False)
    if tie_weights:
        model.lm_head.weight.data = model.token_embeddings.weight.data
    return model


@mistake(
    "parameter_count",
    "new_gpt",
    kind="laziness",
    wrong="weights are not tied though they should be",
    hint="Does anything use the argument? Count the parameters of the model, tied and not.",
)
def never_tied(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    return GPTParts.new_gpt(parts, sizes, tie_weights=False)


@mistake(
    "parameter_count",
    "new_gpt",
    kind="laziness",
    wrong="a new model's weights are tied though they should not be",
    hint="Does anything use the argument? Count the parameters of the model, tied and not.",
)
def new_model_always_tied(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    return GPTParts.new_gpt(parts, sizes, tie_weights=True)


@mistake(
    "parameter_count",
    "new_gpt",
    kind="formula",
    wrong="the output projection has a bias",
    hint="Compare the names of your parameters with those of the text.",
)
def head_with_bias(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights)
    model.lm_head.bias = nn.Parameter(torch.zeros(sizes.vocab_size))
    return model


@mistake(
    "parameter_count",
    "new_gpt",
    kind="formula",
    wrong="all layers are the same object, with one set of weights",
    hint="A list multiplied by a number repeats one object: count the parameters for one layer and "
    "for two.",
)
def one_block_repeated(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights)
    model.layers = nn.ModuleList([model.layers[0]] * sizes.num_layers)
    return model


@mistake(
    "parameter_count",
    "new_gpt",
    kind="interface",
    wrong="the blocks are in a Python list, where their parameters are not found",
    hint="Which kind of list makes a module know its layers? Print the names of your parameters.",
)
def blocks_in_a_list(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights)
    model.layers = nn.ModuleList()
    return model


@mistake(
    "parameter_count",
    "new_gpt",
    kind="formula",
    wrong="the table of positions is no parameter, so that it is never trained",
    hint="Learned positions are trained like any other weight: print the names of your parameters.",
)
def positions_not_learned(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights)
    table = nn.Module()
    table.register_buffer("weight", torch.zeros(sizes.context_length, sizes.d_model))
    model.position_embeddings = table
    return model


@mistake(
    "parameter_count",
    "new_gpt",
    kind="formula",
    wrong="the linear layers of attention have no biases",
    hint="Compare the names of your parameters with those of the text.",
)
def new_attention_without_bias(parts: GPTParts, sizes: GPTSizes, tie_weights: bool) -> GPT:
    model = GPTParts.new_gpt(parts, sizes, tie_weights)
    for block in model.layers:
        for name in ("q_proj", "k_proj", "v_proj", "output_proj"):
            getattr(block.attn, name).bias = None
    return model
