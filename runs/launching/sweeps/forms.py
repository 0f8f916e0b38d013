"""The forms of a sweep: what it varies, and what extends it (more values, cells or seeds, another number at once)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy

from runs.launching.config_form import KNOBS, LaunchForm, assembled, read, seeds
from runs.launching.sweeps.commands import AT_ONCE, NewSweep
from runs.launching.sweeps.plan import KNOBS as KEYS
from runs.models import Sweep
from workers.config import Knob, Problem
from workers.config.shallow_json import loads

ROWS = range(1, 6)
OF_KEY = {knob.path: knob for knob in KNOBS.values()}


def key_choices() -> list[tuple[str, Any]]:
    """Every key, by section."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for key in KEYS:
        sections.setdefault(key.partition(".")[0], []).append((key, key))
    return [("", gettext("No key")), *sections.items()]


class SweepForm(forms.Form):
    """Rows of a key and its values; or a list of cells, a JSON object a line. All empty: no sweep is asked for."""

    listed = forms.CharField(
        required=False,
        strip=False,
        label=gettext_lazy("Or a list of cells"),
        help_text=gettext_lazy('One a line, as JSON: {"es.sigma": 0.01, "es.alpha": 0.005}.'),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )
    at_once = forms.IntegerField(
        required=False,
        label=gettext_lazy("At a time"),
        initial=AT_ONCE,
        help_text=gettext_lazy("So many of its runs are on their clusters at once; the others wait."),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial, prefix="sweep")
        for n in ROWS:
            self.fields[f"key_{n}"] = forms.ChoiceField(
                choices=key_choices, required=False, label=gettext("Key %(n)s") % {"n": n}
            )
            self.fields[f"values_{n}"] = forms.CharField(
                required=False,
                label=gettext("Values"),
                help_text=gettext("Such as 0.001, 0.01, 0.1"),
                widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
            )
        self.cells: list[dict[str, Any]] = []

    @property
    def rows(self) -> Iterator[tuple[BoundField, BoundField]]:
        """Each key with its values."""
        return ((self[f"key_{n}"], self[f"values_{n}"]) for n in ROWS)

    @property
    def is_asked(self) -> bool:
        """True where a sweep is asked for. To be read once the form is clean."""
        return bool(self._grid() or self.cells)

    def clean(self) -> dict[str, Any]:
        """Reads the list; says what is chosen twice, or has no key."""
        data = super().clean() or {}
        chosen: set[str] = set()
        for n in ROWS:
            key = data.get(f"key_{n}", "")
            if key and key in chosen:
                self.add_error(f"key_{n}", gettext("%(key)s is chosen twice") % {"key": key})
            if data.get(f"values_{n}") and not key and f"key_{n}" not in self.errors:
                self.add_error(f"key_{n}", gettext("choose the key of these values"))
            chosen.add(key)
        try:
            self.cells = cells_of_lines(data.get("listed", ""))
        except ValueError as error:
            self.add_error("listed", str(error))
        return data

    def sweep(self, form: LaunchForm) -> NewSweep:
        """What is asked for, over what the launch form says."""
        data = form.cleaned_data
        return NewSweep(
            base=assembled(data), seeds=[config["seed"] for config in form.configs], grid=self._grid(),
            cells=self.cells, name=data["name"].strip(), preset=data["preset"],
            at_once=AT_ONCE if self.cleaned_data["at_once"] is None else self.cleaned_data["at_once"],
        )  # fmt: skip

    def blame(self, problems: Iterable[Problem]) -> list[Problem]:
        """Puts each problem at its row; gives back those that belong to the launch form."""
        rows = {self.cleaned_data[f"key_{n}"]: f"values_{n}" for n in ROWS if self.cleaned_data.get(f"key_{n}")}
        places = rows | {"at_once": "at_once", "cells": "listed", "grid": "key_1"}
        places |= {key: "listed" for cell in self.cells for key in cell}
        left = []
        for problem in problems:
            if problem.path in places:
                said = str(problem) if places[problem.path] == "listed" else problem.message
                self.add_error(places[problem.path], said)
            else:
                left.append(problem)
        return left

    def _grid(self) -> dict[str, list[Any]]:
        data = self.cleaned_data
        keys = {data[f"key_{n}"]: data.get(f"values_{n}", "") for n in ROWS if data.get(f"key_{n}")}
        return {key: values_of(OF_KEY[key], text) for key, text in keys.items()}


def cells_of_lines(text: str) -> list[dict[str, Any]]:
    """A JSON object a line. Raises ValueError naming the first line that is none."""
    cells = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            cell = loads(line)
        except ValueError:
            cell = None
        if not isinstance(cell, dict):
            said = gettext('line %(n)s must be a JSON object such as {"es.sigma": 0.01}')
            raise ValueError(said % {"n": n})
        cells.append(cell)
    return cells


def values_of(knob: Knob, text: str) -> list[Any]:
    """`0.1, 0.2` -> [0.1, 0.2]; for lists and objects, a JSON list of those. What cannot be read stays as typed."""
    if knob.kind in (tuple, dict):
        values = read(knob, text)
        return values if isinstance(values, list) else [values]
    return [_value(knob, part.strip()) for part in text.split(",") if part.strip()]


def _value(knob: Knob, text: str) -> Any:
    if knob.kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    return read(knob, text)


class MoreForm(forms.Form):
    """One field for each key of a grid, or a list of cells; and seeds. `asked` is what is to be added."""

    seeds = forms.CharField(
        required=False, label=gettext_lazy("More seeds"), help_text=gettext_lazy("Such as 3, 4 or 3-6.")
    )

    def __init__(self, sweep: Sweep, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, prefix="more")
        self.keys = list(sweep.grid)
        for key in self.keys:
            there = gettext("There are %(values)s.") % {"values": ", ".join(map(str, sweep.grid[key]))}
            self.fields[key] = forms.CharField(
                required=False, label=gettext("More values of %(key)s") % {"key": key}, help_text=there
            )
        if not self.keys:
            self.fields["cells"] = forms.CharField(
                required=False, label=gettext("More cells"), help_text=gettext("One a line, as JSON."),
                widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
            )  # fmt: skip
        self.asked: dict[str, Any] = {}

    def clean(self) -> dict[str, Any]:
        """Fills `asked`."""
        data = super().clean() or {}
        grid = {key: values_of(OF_KEY[key], data[key]) for key in self.keys if data.get(key)}
        self.asked = {"grid": grid, "cells": self._cells(data.get("cells", "")), "seeds": self._seeds(data["seeds"])}
        return data

    def blame(self, problems: Iterable[Problem]) -> None:
        """Puts each problem at its field; at the top where it has none."""
        for problem in problems:
            known = problem.path in self.fields
            self.add_error(problem.path if known else None, problem.message if known else str(problem))

    def _cells(self, text: str) -> list[dict[str, Any]]:
        try:
            return cells_of_lines(text)
        except ValueError as error:
            self.add_error("cells", str(error))
            return []

    def _seeds(self, text: str) -> list[int]:
        try:
            return seeds(text)
        except ValueError as error:
            self.add_error("seeds", str(error))
            return []
