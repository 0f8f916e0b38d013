"""Words that pages show and that stand under `workers`, which knows no Django: what knobs do, what presets are for.

`python -m runs.translation` prints the module `marked`, in which `makemessages` finds them; `make words` keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator

from workers.analysis.middles import MIDDLES, SPREADS
from workers.config import RunConfig, knobs, presets
from workers.config.knobs import Shape
from workers.executors.states import State

HEAD = '''"""Marks words of `workers` for translators. Printed by `python -m runs.translation`: `make words`."""

# ruff: noqa: E501 (a sentence is one text for its translator, however long)

from django.utils.translation import gettext_noop as _

WORDS = (
'''


def module() -> str:
    """The source of `marked`."""
    lines = "".join(f"    _({_quoted(words)}),\n" for words in dict.fromkeys(_words()) if words)
    return f"{HEAD}{lines})  # fmt: skip\n"


def _words() -> Iterator[str]:
    """As pages ask for them: on one line, and without underscores."""
    for knob in knobs(RunConfig):
        yield knob.path.rpartition(".")[2].replace("_", " ")
        yield knob.help.replace("\n", " ")
        if isinstance(knob.bounds, Shape):
            yield knob.bounds.words
    for preset in presets().values():
        yield from (preset.title, preset.why)
    yield from (*MIDDLES.values(), *SPREADS.values())
    yield from (state.value.replace("_", " ") for state in State)


def _quoted(words: str) -> str:
    """As the formatter would write it."""
    mark = "'" if '"' in words and "'" not in words else '"'
    return mark + words.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
