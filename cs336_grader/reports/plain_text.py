"""Makes text that a student may have written fit to be shown anywhere."""

import re
import unicodedata

# Sets colours or moves the cursor. Of other sequences only the control characters go and the rest
# is shown: a student must not be able to hide what stands between two of them.
TERMINAL_SEQUENCE = re.compile(r"(?:\x1b\[|\x9b)[0-?]{0,16}[ -/]{0,4}[@-~]")
LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
TAB = "    "
# Where an object lies in memory, as in its repr. It differs from run to run.
ADDRESS = re.compile(r"\b0x[0-9A-Fa-f]{7,16}\b")


def plain(text: str, limit: int) -> str:
    r"""Text without control characters and addresses in memory, cut at a limit; line ends stay.

    Characters that reverse or hide what stands around them go as well, and what no encoding can
    write becomes a replacement character.

    >>> plain("a\x1b[31mred\x1b]0;title\x07\r\n\u202eb\tc", 100)
    'ared]0;title\nb    c'
    >>> plain("abcdef", 4)
    'abc…'
    >>> plain("<Linear object at 0x7f3c5a1b9d90> for 0xff", 100)
    '<Linear object at 0x…> for 0xff'
    """
    # What is cut off is never looked at: it may be very long.
    begun = ADDRESS.sub("0x…", text[: 4 * limit])
    if len(text) <= limit and begun.replace("\n", "").isprintable():
        return begun
    text = LINE_ENDS.sub("\n", TERMINAL_SEQUENCE.sub("", begun)).replace("\t", TAB)
    kept = "".join(shown(character) for character in text)
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def plain_line(text: str, limit: int) -> str:
    r"""The same, in one line.

    >>> plain_line("two\nlines", 100)
    'two lines'
    """
    return " ".join(plain(text, limit).split())


def shown(character: str) -> str:
    """The character, or what stands for it."""
    category = unicodedata.category(character)
    if character == "\n" or category[0] != "C":
        return character
    return "�" if category in {"Cs", "Cn", "Co"} else ""
