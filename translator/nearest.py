"""The known word that somebody meant when they wrote one that is not known."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, islice

MOST = 2000  # words that are looked at
FEW = 40  # that are compared letter by letter
ALIKE = 0.7  # below that a guess misleads more often than it helps: `fetch` is no `foreach`
ALIKE_SHORT = 0.6  # one wrong letter of three


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word closest to `word`, upper and lower case alike; empty when none is close."""
    return _nearest(word, tuple(islice((option for option in known if abs(len(option) - len(word)) <= 3), MOST)))


@lru_cache(maxsize=256)  # a definition may have the same odd type in every step
def _nearest(word: str, known: tuple[str, ...]) -> str:
    wanted = word.lower()
    options: dict[str, str] = {}
    for option in known if len(known) <= FEW else _likely(wanted, known):
        options.setdefault(option.lower(), option)
    close = difflib.get_close_matches(wanted, options, n=1, cutoff=ALIKE if len(word) > 3 else ALIKE_SHORT)
    return options[close[0]] if close else ""


def _likely(word: str, known: tuple[str, ...]) -> list[str]:
    """The few of many words that have most pairs of letters in common with `word`, in their order."""
    index = _by_pairs(known)
    shared = Counter(chain.from_iterable(index.get(pair, ()) for pair in _pairs(word)))
    return [known[number] for number in sorted(number for number, _ in shared.most_common(FEW))]


@lru_cache(maxsize=8)  # a definition with one unknown name has many, and looks all of them up among the same words
def _by_pairs(known: tuple[str, ...]) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for number, option in enumerate(known):
        for pair in _pairs(option.lower()):
            index.setdefault(pair, []).append(number)
    return index


def _pairs(word: str) -> set[str]:
    return {word[at : at + 2] for at in range(len(word) - 1)} | {word[:1] + "^", word[-1:] + "$"}


def is_slip(word: str, meant: str) -> bool:
    """Whether `word` is `meant` with one letter lacking, added, wrong or swapped with the next, or in other capitals."""
    word, other = word.lower(), meant.lower()
    if word == other:
        return True
    if abs(len(word) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    left, right = word[start:], other[start:]
    return (left[1:] == right[1:] or left[1:] == right or left == right[1:]
        or (left[:2] == right[1::-1] and left[2:] == right[2:]))
