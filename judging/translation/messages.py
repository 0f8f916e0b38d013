"""Texts that pages show and that are defined in `judging.stats`, which does not import Django.

`python -m judging.translation` prints the module `marked`, in which `makemessages` finds them; `make words` updates it.
Boards store their sentences in English, and `in_words` translates them into the reader's language.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext

from judging.stats.agreement import UNDEFINED
from judging.stats.ratings import TIES, UNITS
from judging.stats.ratings.reasons import SENTENCES, parse_sentences

UNDEFINED_PREFIX = "n/a: "
HEAD = '''"""Marks words of ratings for translators. Printed by `python -m judging.translation`: `make words`."""

# ruff: noqa: E501 (a sentence is one text for its translator, however long)

from django.utils.translation import gettext_noop as _

WORDS = (
'''


def module() -> str:
    """Return the source of `marked`."""
    return HEAD + "".join(f'    _("{words}"),\n' for words in dict.fromkeys(_words())) + ")  # fmt: skip\n"


def _words() -> Iterator[str]:
    yield from SENTENCES
    yield from UNDEFINED
    yield from (*UNITS.values(), *TIES)


def in_words(text: str) -> str:
    """Translate a sentence of a board or a panel into the reader's language; return other text unchanged."""
    if text.startswith(UNDEFINED_PREFIX):
        return gettext(text)
    parts = (gettext(sentence).format(**_values(values)) for sentence, values in parse_sentences(text))
    return " ".join(parts) or text


def _values(values: dict[str, str]) -> dict[str, str]:
    """Translate the values that are words of the program; names stay unchanged."""
    translated = {*UNITS.values(), *TIES}
    return {name: gettext(value) if name in ("units", "ties") and value in translated else value
            for name, value in values.items()}  # fmt: skip
