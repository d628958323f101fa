"""Texts to train and tokenize on, drawn afresh from each run's seed.

Stories look like English and repeat their words, so that pairs of bytes have clear counts. Messy
text strings together what pre-tokenization and UTF-8 can get wrong.
"""

import re
import string
from functools import cache

from cs336_checks.draws import Draws

END_OF_TEXT = "<|endoftext|>"

NAMES = ("Ada", "Ben", "Chidi", "Dilnaz", "Emeka", "Freja", "Kenji", "Lucía", "Mei", "Zoë")
ANIMALS = ("otter", "hedgehog", "sparrow", "donkey", "kitten", "tortoise", "squirrel", "badger")
ADJECTIVES = ("tiny", "brave", "sleepy", "curious", "muddy", "grumpy", "gentle", "shiny", "quick")
PLACES = ("garden", "harbour", "village", "forest", "kitchen", "meadow", "workshop", "river bank")
THINGS = ("lantern", "biscuit", "blanket", "drum", "acorn", "kite", "button", "bucket", "whistle")
VERBS = ("found", "carried", "painted", "borrowed", "dropped", "polished", "followed", "wanted")
# No digit comes twice, so no pair of digits overlaps itself as in 111 and 1212.
COUNTS = tuple(n for n in range(2, 2000) if len(set(str(n))) == len(str(n)))
SENTENCES = (
    "Once upon a time, {name} lived near the {place} with a {adjective} {animal}.",
    "{name} {verb} the {adjective} {thing} and the {animal} {verb} another one.",
    "The {animal} said, \"Don't go to the {place}, it's {number} miles away!\"",
    "They'd {verb} {number} {thing}s before the {adjective} {animal} came back.",
    "{name} and {other} weren't afraid; they {verb} the {thing} together.",
    '"We\'ll share the {thing}," said {other}, "and I\'m sure you\'ve {verb} it."',
    "In the {place} there was a {thing}, a {thing} and the {animal}'s {adjective} {thing}.",
    "What a {adjective} day ({number} o'clock): everyone was happy.",
)

TALE = (
    '"We will share the acorn," said Kenji, "and I am sure you have dropped it."'
    " They borrowed 1932 blankets before the gentle squirrel came back."
)

FOREIGN_WORDS = (
    *("été", "garçon", "naïve", "Übergröße", "żółw", "smörgåsbord", "señor", "coração", "İstanbul"),
    *("привет", "мир", "сказка", "ёжик", "кошка", "Київ", "γάτα", "θάλασσα", "ήλιος"),
    *("قطة", "صغيرة", "كان", "שלום", "חתול", "नमस्ते", "बिल्ली", "สวัสดี", "แมว"),
    *("小猫", "从前", "森林里", "物語", "むかし", "ネコ", "고양이", "옛날에"),
)
MARKS_AND_EMOJI = (
    *("e\u0301te\u0301", "n\u0303", "a\u030a\u0323", "\u00e9", "Z\u0351\u036b\u0343"),
    *(
        "🙂",
        "👍🏽",
        "🇫🇷",
        "❤\ufe0f",
        "👩\u200d👩\u200d👧\u200d👦",
        "🏴\u200d☠\ufe0f",
        "\U0001d518\U0001d52b\U0001d526",
        "𓀀",
        "\u200b",
        "\ufeff",
        "\u200d",
    ),
)
BLANKS = (
    *(" ", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\t\t", "\r\n", "\r\n\r\n", " \n"),
    *("\n ", "\u00a0", "\u3000", " \u2009 ", "\x0c", "\r"),
)
PUNCTUATION = (
    *("!!!", "...", "?!", "--", " --", '"', "\\", "{}", "://", "<|", "|>", "<", ">", "|", "_"),
    *("'", "''", "“", "”", "…", "、", "。", "¿", "€", "∑≤∞", "\x00", "\x7f", "#!/", " $", " %"),
)
NUMBERS = ("0", "7", "42", " 1999", "3.14159", "1,000,000", "٣٤", "½", "x²", "Ⅷ", "007", "1st")
CONTRACTIONS = (
    "'s",
    "'t",
    "'re",
    "'ve",
    "'ll",
    "'d",
    "'m",
    "'S",
    "'LL",
    "\u2019s",
    "'sx",
    "'lle",
    "'x",
)
RUNS = (
    "aaaaaaa",
    "zzzz",
    "hahahaha",
    "\uff21\uff21\uff21\uff21",
    "ééééé",
    "------",
    "==========",
    "0000000000",
)
ENGLISH = ("the", " the", " of", "and", " and", "I", " don", " token", "ization", " straw", "BERRY")


def story(draw: Draws, sentences: int = 6) -> str:
    """One story: sentences with a line end after every third, ending in a line end."""
    parts = []
    for i in range(sentences):
        sentence = draw.choice(SENTENCES).format(
            name=draw.choice(NAMES),
            other=draw.choice(NAMES),
            animal=draw.choice(ANIMALS),
            adjective=draw.choice(ADJECTIVES),
            place=draw.choice(PLACES),
            thing=draw.choice(THINGS),
            verb=draw.choice(VERBS),
            number=draw.choice(COUNTS),
        )
        last_of_line = i % 3 == 2 or i == sentences - 1
        parts.append(sentence + ("\n" if last_of_line else " "))
    return "".join(parts)


def stories(draw: Draws, count: int) -> list[str]:
    """Several stories of different length."""
    return [story(draw, draw.choice(range(3, 10))) for _ in range(count)]


def beginnings(draw: Draws) -> list[str]:
    """All that a story begins with: its first letter, its first two, and so on to the whole.

    Letters and digits are exchanged for others. Whatever they become, the pair that is merged is
    more frequent than every other pair, 80 times.
    """
    names, others = "", ""
    for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits):
        names += kind
        others += "".join(kind[i] for i in draw.permutation(len(kind)))
    story = TALE.translate(str.maketrans(names, others))
    return [story[:end] for end in range(1, len(story) + 1)]


def foreign(draw: Draws, words: int) -> str:
    """Words of many scripts with single spaces between them, and hardly an ASCII letter."""
    return " ".join(draw.choices(FOREIGN_WORDS + MARKS_AND_EMOJI, words))


def messy(draw: Draws, pieces: int) -> str:
    """Pieces of every kind in random order, with nothing but blanks drawn by chance in between."""
    kinds = (
        *(ENGLISH, FOREIGN_WORDS, MARKS_AND_EMOJI, PUNCTUATION, NUMBERS, CONTRACTIONS, RUNS),
        *(BLANKS, BLANKS, BLANKS),
    )
    return "".join(draw.choice(draw.choice(kinds)) for _ in range(pieces))


@cache  # an audit asks for the same text hundreds of times
def without_repeats(text: str) -> str:
    """The text with nothing in it two times running, except single ASCII characters.

    In what is left no pair of bytes or tokens overlaps itself, as in "aaa" and "abab". Nothing is
    looked for that is longer than any word.
    """
    while True:
        shorter = re.sub(r"(?s)([^\x00-\x7f]|.{2,60}?)\1+|(.)\2(?=\2)", r"\1\2", text)
        if shorter == text:
            return text
        text = shorter


def cut(draw: Draws, text: str, longest: int, shortest: int = 0) -> list[str]:
    """The text in pieces of ``shortest`` … ``longest`` characters, without regard to anything."""
    pieces, start = [], 0
    while start < len(text):
        size = draw.choice(range(shortest, longest + 1))
        pieces.append(text[start : start + size])
        start += size
    return pieces
