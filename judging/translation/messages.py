"""Words that pages show and that stand under `judging.stats`, which knows no Django.

`python -m judging.translation` prints the module `marked`, in which `makemessages` finds them; `make words` keeps
it. Boards keep their sentences in English, as they were said: `in_words` says them in the language of who reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext

from judging.stats.agreement import UNDEFINED
from judging.stats.ratings import TIES, UNITS
from judging.stats.ratings.reasons import SENTENCES, recognised

NOT_THERE = "n/a: "
HEAD = '''"""Marks words of ratings for translators. Printed by `python -m judging.translation`: `make words`."""

# ruff: noqa: E501 (a sentence is one text for its translator, however long)

from django.utils.translation import gettext_noop as _

WORDS = (
'''


def module() -> str:
    """The source of `marked`."""
    return HEAD + "".join(f'    _("{words}"),\n' for words in dict.fromkeys(_words())) + ")  # fmt: skip\n"


def _words() -> Iterator[str]:
    yield from SENTENCES
    yield from UNDEFINED
    yield from (*UNITS.values(), *TIES)


def in_words(said: str) -> str:
    """What a board or a panel said, in the language of who reads; as it stands where it is none of their sentences."""
    if said.startswith(NOT_THERE):
        return gettext(said)
    parts = (gettext(sentence).format(**_values(values)) for sentence, values in recognised(said))
    return " ".join(parts) or said


def _values(values: dict[str, str]) -> dict[str, str]:
    """Names stay what they are; the words of the program are said in the language too."""
    known = {*UNITS.values(), *TIES}
    return {name: gettext(value) if name in ("units", "ties") and value in known else value
            for name, value in values.items()}  # fmt: skip
