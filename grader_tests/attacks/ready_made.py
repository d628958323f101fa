"""Submissions of the tiny assignment whose moving average is right, and is torch's own.

Each leads to ``torch.nn``, which the rubric forbids, in a way that its source does not show for
sure: CAUGHT must cost the problem's points, SUSPECT must at least ask for a human look.
"""

REST = """

def run_count_words(text):
    return {word: text.lower().split().count(word) for word in text.lower().split()}


def run_running_totals(numbers):
    total = 0.0
    for number in numbers:
        total += number
        yield total
"""

HEAD = """
import base64, gc
import torch


def pooled(pool, values, width):
    if len(values) < width:
        return []
    return pool(torch.tensor([values], dtype=torch.float64), width, 1)[0].tolist()

"""

CAUGHT = {
    "a name that is computed": """
def run_moving_average(values, width):
    functional = getattr(getattr(torch, chr(110) * 2), "lanoitcnuf"[::-1])
    return pooled(functional.avg_pool1d, values, width)
""",
    "a module handed around": """
def use(module, values, width):
    return pooled(module.avg_pool1d, values, width)


def run_moving_average(values, width):
    return use(torch.nn.functional, values, width)
""",
    "text run as code": """
CODE = (
    b"ZGVmIGF2ZXJhZ2VkKHgsIHcsIHMpOgogICAgcmV0dXJuIHRvcmNoLm5uLmZ1"
    b"bmN0aW9uYWwuYXZnX3Bvb2wxZCh4LCB3LCBzKQ=="
)
exec(base64.b64decode(CODE))


def run_moving_average(values, width):
    return pooled(globals()["averaged"], values, width)
""",
    "a class made while running": """
def run_moving_average(values, width):
    kind = type("Average", (getattr(torch.nn, "AvgPool" + str(1) + "d"),), {})
    return pooled(lambda x, *sizes: kind(*sizes)(x), values, width)
""",
    "a list of what can be overridden": """
def run_moving_average(values, width):
    found = torch.overrides.get_overridable_functions()[torch.nn.functional]
    pool = next(one for one in found if one.__name__ == "avg_pool1d")
    return pooled(pool, values, width)
""",
    "a branch that is always taken": """
def run_moving_average(values, width):
    if width > 0:
        return pooled(torch.nn.functional.avg_pool1d, values, width)
    return []
""",
}

SUSPECT = {
    "a table that is made as it is imported": """
table = pooled(torch.nn.functional.avg_pool1d, [1.0, 2.0, 3.0], 2)


def run_moving_average(values, width):
    width = min(width, len(values) + 1)
    return [sum(values[i:i + width]) / width for i in range(len(values) - width + 1)]
""",
    "a watch that is stopped": """
def run_moving_average(values, width):
    for found in gc.get_objects():
        if type(found).__name__ == "EntryPoints":
            found.note = lambda *_: None
    return pooled(vars(vars(torch)[chr(110) * 2])["lanoitcnuf"[::-1]].avg_pool1d, values, width)
""",
}
