"""Texts that pages show and that are defined under `workers`, which does not import Django: help of settings, titles of
presets.

`python -m runs.translation` prints the module `marked`, in which `makemessages` finds them; `make words` updates it.
"""

from __future__ import annotations

from collections.abc import Iterator

from workers.analysis.aggregate import MIDDLES, SPREADS
from workers.analysis.detectors import DETECTORS
from workers.config import RunConfig, config_fields, presets
from workers.config.fields import Shape
from workers.config.methods import METHODS
from workers.executors.states import State
from workers.memory_plan.grpo_remedies import TEMPLATES
from workers.preflight.adapt import REASONS, REFUSALS

HEAD = '''"""Marks words of `workers` for translators. Printed by `python -m runs.translation`: `make words`."""

# ruff: noqa: E501 (a sentence is one text for its translator, however long)

from django.utils.translation import gettext_noop as _

WORDS = (
'''


def module() -> str:
    """Return the source of `marked`."""
    lines = "".join(f"    _({_quote(words)}),\n" for words in dict.fromkeys(_words()) if words)
    return f"{HEAD}{lines})  # fmt: skip\n"


def _words() -> Iterator[str]:
    """Yield the texts as pages look them up: on one line, and without underscores."""
    for setting in config_fields(RunConfig):
        yield setting.path.rpartition(".")[2].replace("_", " ")
        yield setting.help.replace("\n", " ")
        if isinstance(setting.bounds, Shape):
            yield setting.bounds.words
    for method in METHODS.values():
        yield from (method.title, method.choice)
    for preset in presets().values():
        yield from preset.texts()
    yield from (*REASONS, *REFUSALS, *TEMPLATES)
    for detector in DETECTORS:
        yield from (detector.label, detector.meaning, detector.test, detector.reason, detector.unit)
    yield from (*MIDDLES.values(), *SPREADS.values())
    yield from (state.value.replace("_", " ") for state in State)


def _quote(words: str) -> str:
    """Return the text as a literal in the formatter's style."""
    mark = "'" if '"' in words and "'" not in words else '"'
    return mark + words.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
