"""Explains in a sentence what an exception of a submission most often means."""

import re

ADAPTER_CALL = re.compile(
    r"^(?P<name>(?:run|get)_\w+)\(\) (?:takes|missing|got an unexpected|got multiple)"
)
NO_ATTRIBUTE = re.compile(
    r"^(?:module '(?P<module>[\w.]+)'|'(?P<type>\w+)' object) has no attribute '(?P<name>\w+)'"
)
METHODS = ("encode", "decode", "encode_iterable", "step", "zero_grad", "param_groups")
SIZE_MISMATCH = re.compile(
    r"size mismatch for (?P<key>[\w.]+): copying a param with shape"
    r" torch\.Size\(\[(?P<given>.*?)\]\)"
    r" from checkpoint, the shape in current model is torch\.Size\(\[(?P<kept>.*?)\]\)"
)
MISSING = re.compile(r"Missing key\(s\) in state_dict: (?P<keys>.*?)\. *(?:\n|$)")
UNEXPECTED = re.compile(r"Unexpected key\(s\) in state_dict: (?P<keys>.*?)\. *(?:\n|$)")
PRODUCT = re.compile(r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
# Of keys that do not fit, so many are named.
SHOWN = 3


def remark(error: BaseException) -> str:
    """Return what an exception means, or an empty text where it speaks for itself.

    Args:
        error: the submission's own, or one that carries its type's name and its text.
    """
    name = getattr(error, "type_name", type(error).__name__)
    text = str(getattr(error, "text", error))
    # PyTorch raises the same of what it has no operation for.
    if name == "NotImplementedError" and "'aten::" not in text:
        return "This is not written yet: a function still raises NotImplementedError."
    questions = {
        "TypeError": (signature,),
        "AttributeError": (attribute,),
        "RuntimeError": (sizes, keys, product),
    }
    return next(filter(None, (question(text) for question in questions.get(name, ()))), "")


def signature(text: str) -> str:
    """An adapter that takes other arguments than the published one."""
    found = ADAPTER_CALL.match(text)
    if found is None:
        return ""
    return (
        f"Your {found['name']} takes other arguments than the one that was handed out: keep the"
        " parameters of tests/adapters.py, with their names and their order."
    )


def attribute(text: str) -> str:
    """An adapter or a method that is not there."""
    found = NO_ATTRIBUTE.match(text)
    if found is None:
        return ""
    if found["module"] is not None and found["name"].startswith(("run_", "get_")):
        return f"Your adapters have no function {found['name']}: was it removed or renamed?"
    if found["name"] in METHODS:
        return f"Your {found['type']} has no {found['name']}, which the assignment asks for."
    return ""


def sizes(text: str) -> str:
    """A weight that does not fit the parameter it is loaded into."""
    found = SIZE_MISMATCH.search(text)
    if found is None:
        return ""
    given, kept = (tuple(found[part].split(", ")) for part in ("given", "kept"))
    fits = f"{found['key']} is given as ({', '.join(given)}) and kept as ({', '.join(kept)})"
    if len(given) > 1 and given == kept[::-1]:
        return f"{fits}: is it kept transposed? A weight is (d_out, d_in)."
    return f"{fits}: were sizes passed on in another order?"


def keys(text: str) -> str:
    """Names in a state dict that do not fit a module's."""
    missing, unexpected = MISSING.search(text), UNEXPECTED.search(text)
    if missing is None:
        unused = "" if unexpected is None else named(unexpected["keys"])
        return unused and f"Your module has no {unused}, for which a weight is given."
    lacking = f"Your module has {named(missing['keys'])}, for which no weight is given"
    if unexpected is None:
        return f"{lacking}."
    return f"{lacking}, and no {named(unexpected['keys'])}: is it another name for the same?"


def named(quoted: str) -> str:
    """The first of some keys."""
    found = re.findall(r'"([^"]*)"', quoted)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def product(text: str) -> str:
    """Two matrices of which one would fit transposed."""
    found = PRODUCT.search(text)
    if found is None or found[2] != found[4]:
        return ""
    return (
        f"({found[1]}, {found[2]}) times ({found[3]}, {found[4]}) would fit if the second were"
        " transposed: a weight is (d_out, d_in)."
    )
