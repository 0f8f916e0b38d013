"""Which language a text is in: by its script, and within the Latin one by its commonest words, where they tell.

Commonest words tell written languages apart as well as n-grams do once there are a dozen words (Grefenstette 1995), and
need no model. Those of `common_words` are known; a text in another, and a short one, is in Latin letters and no more.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from workers.analysis.collapse.common_words import COMMON

LEAST_WORDS, LEAST_SCORE, LEAD = 6, 2.0, 1.5
"""Of a text in Latin letters; a word counts less the more languages have it, and the first must lead the second."""
LATIN = "LATIN"
LEAST_LETTERS = 2
LEAST_TEXTS = 5
"""In one language, to be the main one of Latin ones."""
MIXED = 0.3
"""A second script with this share of the letters makes a text one of both."""
DENSE = {"CJK": 3.0, "HIRAGANA": 2.0, "KATAKANA": 2.0, "HANGUL": 2.5}
"""Letters of Latin that one of these says as much as."""
JAPANESE = ("HIRAGANA", "KATAKANA")
OWNERS = Counter(word for words in COMMON.values() for word in set(words.split()))
WEIGHTS = {name: {word: 1 / OWNERS[word] for word in words.split()} for name, words in COMMON.items()}


def language_of(text: str, words: Sequence[str]) -> str | None:
    """A key of COMMON, a script's name in Unicode such as LATIN or CYRILLIC, two of them joined by "+", or None where
    there are hardly any letters. words: the text's, case folded."""
    scripts = _scripts(text)
    if sum(scripts.values()) < LEAST_LETTERS:
        return None
    (first, most), *others = scripts.most_common(2)
    if others and others[0][1] >= MIXED * (most + others[0][1]):
        return "+".join(sorted((first, others[0][0])))
    return _latin(words) if first == LATIN else first


def main_of(texts: Mapping[str, int]) -> str:
    """The language of most of these texts, language -> how many; of Latin ones the commonest that was told."""
    scripts: Counter[str] = Counter()
    for name, n in texts.items():
        scripts[_script_of(name)] += n
    first = max(scripts, key=lambda script: (scripts[script], script))
    told = [name for name, n in texts.items() if _script_of(name) == first and name != LATIN and n >= LEAST_TEXTS]
    return max(told, key=lambda name: (texts[name], name), default=first)


def differs(one: str, other: str) -> bool:
    """True where two texts are in different languages, as far as that was told."""
    if _script_of(one) != _script_of(other):
        return True
    return one != other and LATIN not in (one, other)


def foreign(texts: Mapping[str, int], main: str) -> dict[str, int]:
    """Those of these texts, language -> how many, that are in another language than `main`."""
    return {name: n for name, n in texts.items() if differs(name, main)}


def _script_of(name: str) -> str:
    return LATIN if name in COMMON else name


def _scripts(text: str) -> Counter[str]:
    """Script -> its letters, those that say more counted as several."""
    found: Counter[str] = Counter()
    for letter, n in Counter(text).items():
        if script := _script(letter):
            found[script] += round(n * DENSE.get(script, 1.0))
    if any(found[kana] for kana in JAPANESE):
        # Japanese is written in three of them.
        found["JAPANESE"] = sum(found.pop(name, 0) for name in (*JAPANESE, "CJK"))
    return found


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""


def _latin(words: Sequence[str]) -> str:
    if len(words) < LEAST_WORDS:
        return LATIN
    times = Counter(words)
    scores = {name: sum(weight * times[word] for word, weight in own.items()) for name, own in WEIGHTS.items()}
    best, *others = sorted(scores, key=lambda name: -scores[name])
    is_clear = scores[best] >= LEAST_SCORE and scores[best] >= LEAD * scores[others[0]]
    return best if is_clear else LATIN
