"""Encoding and decoding with a trained vocabulary."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import regex

from .bpe import PRETOKEN, merge_word


class Tokenizer:
    """Text to ids and back."""

    def __init__(self, vocab: dict, merges: list, special_tokens: list | None = None) -> None:
        self.vocab = dict(vocab)
        self.specials = list(special_tokens or [])
        known = set(self.vocab.values())
        for token in self.specials:
            if token.encode("utf-8") not in known:
                self.vocab[max(self.vocab, default=-1) + 1] = token.encode("utf-8")
        self.ids = {token: i for i, token in self.vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.cache = {}
        self.pattern = None
        if self.specials:
            self.pattern = regex.compile("(" + "|".join(map(regex.escape, self.specials)) + ")")

    def encode_word(self, word: str) -> list[int]:
        """Apply the merges to one pre-token, earliest first."""
        if word not in self.cache:
            parts = tuple(bytes([b]) for b in word.encode("utf-8"))
            while len(parts) > 1:
                best = min(pairwise(parts), key=lambda pair: self.ranks.get(pair, float("inf")))
                if best not in self.ranks:
                    break
                parts = merge_word(parts, best)
            self.cache[word] = [self.ids[part] for part in parts]
        return self.cache[word]

    def encode(self, text: str) -> list[int]:
        """Text to ids."""
        out = []
        for piece in self.pattern.split(text) if self.pattern else [text]:
            if piece in self.specials:
                out.append(self.ids[piece.encode("utf-8")])
            else:
                for m in PRETOKEN.finditer(piece):
                    out.extend(self.encode_word(m.group()))
        return out

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """The same, without having all of the text in memory."""
        held = ""
        for text in texts:
            held += text
            cut = self.safe_cut(held)
            yield from self.encode(held[:cut])
            held = held[cut:]
        yield from self.encode(held)

    def safe_cut(self, text: str) -> int:
        """Where the text can be cut without cutting through a token, as late as possible."""
        # a special token that starts before the limit is there up to its end
        limit = len(text) - max(map(len, self.specials), default=0)
        done, end = 0, limit
        for m in self.pattern.finditer(text) if self.pattern else []:
            if m.start() > limit:
                break
            done = m.end()
        for i in range(min(end, len(text) - 1), done, -1):
            # no pre-token goes on from a letter into a space
            if text[i] in " \n" and not text[i - 1].isspace():
                return i
        return done

    def decode(self, ids: Iterable[int]) -> str:
        """Ids to text."""
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", errors="replace")
