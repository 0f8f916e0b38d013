"""One knob as a field: its name and help in words, a control that fits, what is typed read and written."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext

from workers.config import Bounds, Knob
from workers.config.knobs import Shape
from workers.config.shallow_json import loads


class KnobField(forms.Field):
    """One knob. What cannot be read as its type is passed on as typed, for the config to complain about."""

    def __init__(self, knob: Knob) -> None:
        super().__init__(required=False, label=label(knob.path), help_text=hint(knob), widget=widget(knob))
        self.knob = knob

    def clean(self, value: Any) -> Any:
        """The knob's JSON value; None where nothing was typed and the default holds."""
        return read(self.knob, value)


def read(knob: Knob, value: Any) -> Any:
    """Typed text -> JSON value."""
    text = value.strip() if isinstance(value, str) else value
    if not isinstance(text, str) or knob.kind is str:
        return text
    if not text:
        return None
    try:
        return loads(text) if knob.kind in (tuple, dict) else knob.kind(text)
    except ValueError:
        return text


def written(knob: Knob, value: Any) -> Any:
    """JSON value -> what stands in the field."""
    if knob.kind in (tuple, dict):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:g}" if knob.kind is float and isinstance(value, float | int) else value


def label(path: str) -> str:
    """A knob's name in words."""
    return gettext(path.rsplit(".", 1)[-1].replace("_", " "))


def hint(knob: Knob) -> str:
    """A knob's help, its bounds and its default."""
    said = [explained(knob)]
    if knob.bounds is not None:
        said.append(limits(knob.bounds))
    if knob.kind in (tuple, dict):
        said.append(gettext("As JSON."))
    if not knob.required and knob.kind is not bool and knob.default not in ("", None):
        said.append(gettext("Default: %(value)s.") % {"value": written(knob, knob.default)})
    return " ".join(said)


def explained(knob: Knob) -> str:
    """What a knob does."""
    words = knob.help.replace("\n", " ")
    return gettext(words) if words else ""


def limits(bounds: Bounds | Shape) -> str:
    """What a value must be, as a sentence."""
    if isinstance(bounds, Shape):
        return f"{capfirst(gettext(bounds.words))}."
    least = bounds.above if bounds.at_least is None else bounds.at_least
    said = {"least": _limit(least), "most": _limit(bounds.at_most)}
    if bounds.at_most is None:
        return (gettext("Above %(least)s.") if bounds.at_least is None else gettext("At least %(least)s.")) % said
    if least is None:
        return gettext("At most %(most)s.") % said
    if bounds.at_least is None:
        return gettext("Above %(least)s and at most %(most)s.") % said
    return gettext("At least %(least)s and at most %(most)s.") % said


def _limit(limit: float | None) -> str:
    return "" if limit is None else f"{limit:.10g}"


def widget(knob: Knob) -> forms.Widget:
    """A control that fits. Numbers are text with a number pad: 1e-3 is typed as it is written, and kept if wrong."""
    if knob.path == "method":
        names = {"es": gettext("Evolution Strategies"), "grpo": "GRPO", "scorer": gettext("A scorer, no training")}
        return forms.RadioSelect(choices=list(names.items()))
    if knob.choices:
        return forms.Select(choices=[(c, c) for c in knob.choices])
    if knob.kind is bool:
        return forms.CheckboxInput()
    if knob.kind in (tuple, dict):
        return forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})
    mode = {int: "numeric", float: "decimal"}.get(knob.kind)
    return forms.TextInput(attrs={"inputmode": mode} if mode else {"spellcheck": "false"})
