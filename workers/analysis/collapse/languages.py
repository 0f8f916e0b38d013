"""Recognize a text's language: by its script, and for Latin script by its commonest words, if they suffice.

Commonest words distinguish written languages as well as n-grams do once there are a dozen words (Grefenstette 1995),
and need no model. The languages of `common_words` are recognized; a text in another, and a short one, is only Latin
script.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from workers.analysis.collapse.common_words import COMMON

MIN_WORDS, MIN_SCORE, LEAD = 6, 2.0, 1.5
"""Limits for a text in Latin letters: a word counts less the more languages have it, and the first must lead the
second."""
LATIN = "LATIN"
MIN_LETTERS = 2
MIN_TEXTS = 5
"""The least number of texts in one language for it to be the main one of Latin script."""
MIXED = 0.3
"""A second script with this share of the letters makes a text one of both."""
DENSE = {"CJK": 3.0, "HIRAGANA": 2.0, "KATAKANA": 2.0, "HANGUL": 2.5}
"""Latin letters that carry as much as one letter of these scripts."""
JAPANESE = ("HIRAGANA", "KATAKANA")
OWNERS = Counter(word for words in COMMON.values() for word in set(words.split()))
LANGUAGES_OF_WORD = {
    word: tuple(name for name, words in COMMON.items() if word in set(words.split())) for word in OWNERS
}


def language_of(text: str, words: Sequence[str]) -> str | None:
    """Return a key of COMMON, a script's name in Unicode such as LATIN or CYRILLIC, two of them joined by "+", or None
    if there are hardly any letters. words: the text's, case folded."""
    scripts = _scripts(text)
    if sum(scripts.values()) < MIN_LETTERS:
        return None
    (first, most), *others = scripts.most_common(2)
    if others and others[0][1] >= MIXED * (most + others[0][1]):
        return "+".join(sorted((first, others[0][0])))
    return _latin(words) if first == LATIN else first


def main_language(texts: Mapping[str, int]) -> str:
    """Return the language of most texts, given language -> count; for Latin script, the commonest recognized
    language."""
    scripts: Counter[str] = Counter()
    for name, n in texts.items():
        scripts[_script_of(name)] += n
    first = max(scripts, key=lambda script: (scripts[script], script))
    recognized = [name for name, n in texts.items() if _script_of(name) == first and name != LATIN and n >= MIN_TEXTS]
    return max(recognized, key=lambda name: (texts[name], name), default=first)


def differs(first: str, other: str) -> bool:
    """Return whether two texts are in different languages, as far as the languages were recognized."""
    if _script_of(first) != _script_of(other):
        return True
    return first != other and LATIN not in (first, other)


def foreign_languages(texts: Mapping[str, int], main: str) -> dict[str, int]:
    """Return the texts, language -> count, that are in another language than `main`."""
    return {name: n for name, n in texts.items() if differs(name, main)}


def _script_of(name: str) -> str:
    return LATIN if name in COMMON else name


def _scripts(text: str) -> Counter[str]:
    """Count the letters of each script; letters of dense scripts count several times."""
    letters: Counter[str] = Counter()
    for letter, n in Counter(text).items():
        if script := _script(letter):
            letters[script] += round(n * DENSE.get(script, 1.0))
    if any(letters[kana] for kana in JAPANESE):
        # Japanese is written in three of them.
        letters["JAPANESE"] = sum(letters.pop(name, 0) for name in (*JAPANESE, "CJK"))
    return letters


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""


def _latin(words: Sequence[str]) -> str:
    if len(words) < MIN_WORDS:
        return LATIN
    scores = dict.fromkeys(COMMON, 0.0)
    for word, times in Counter(words).items():
        for name in LANGUAGES_OF_WORD.get(word, ()):
            scores[name] += times / OWNERS[word]
    best, *others = sorted(scores, key=lambda name: -scores[name])
    is_clear = scores[best] >= MIN_SCORE and scores[best] >= LEAD * scores[others[0]]
    return best if is_clear else LATIN
