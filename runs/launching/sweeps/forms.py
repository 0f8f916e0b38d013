"""Forms of a sweep: one for its keys and values, and one to extend it with more values, cells or seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy

from runs.http import NoteField, TextField
from runs.launching.config_form import SETTINGS, LaunchForm, config_from_fields, parse_seeds
from runs.launching.sweeps.commands import DEFAULT_CONCURRENT_RUNS, NewSweep
from runs.launching.sweeps.plan import KEYS as KEYS
from runs.launching.sweeps.values import parse_values
from runs.models import Sweep
from workers.config import Problem
from workers.config.shallow_json import loads

ROWS = range(1, 6)
SETTINGS_BY_KEY = {setting.path: setting for setting in SETTINGS.values()}


def key_choices() -> list[tuple[str, Any]]:
    """Return the choices of keys, by section."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for key in KEYS:
        sections.setdefault(key.partition(".")[0], []).append((key, key))
    return [("", gettext("No key")), *sections.items()]


class SweepForm(forms.Form):
    """Form with rows of a key and its values, or a list of cells, one JSON object per line. Empty: no sweep."""

    listed = NoteField(
        required=False,
        strip=False,
        label=gettext_lazy("Or a list of cells"),
        help_text=gettext_lazy('One per line, as JSON: {"es.sigma": 0.01, "es.alpha": 0.005}.'),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
    )
    at_once = forms.IntegerField(
        required=False,
        label=gettext_lazy("Concurrent runs"),
        initial=DEFAULT_CONCURRENT_RUNS,
        help_text=gettext_lazy("Maximum number of runs on clusters at a time; the others wait."),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial, prefix="sweep")
        for n in ROWS:
            self.fields[f"key_{n}"] = forms.ChoiceField(
                choices=key_choices, required=False, label=gettext("Key %(n)s") % {"n": n}
            )
            self.fields[f"values_{n}"] = TextField(
                required=False,
                label=gettext("Values"),
                help_text=gettext("Such as 0.001, 0.01, 0.1"),
                widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
            )
        self.cells: list[dict[str, Any]] = []

    @property
    def rows(self) -> Iterator[tuple[BoundField, BoundField]]:
        """Return pairs of fields: a key and its values."""
        return ((self[f"key_{n}"], self[f"values_{n}"]) for n in ROWS)

    @property
    def is_requested(self) -> bool:
        """Return whether the form describes a sweep. Read it after the form was cleaned."""
        return bool(self._grid() or self.cells)

    def clean(self) -> dict[str, Any]:
        """Parse the list of cells. Add errors for keys that are selected twice, and for values without a key."""
        data = super().clean() or {}
        selected: set[str] = set()
        for n in ROWS:
            key = data.get(f"key_{n}", "")
            if key and key in selected:
                self.add_error(f"key_{n}", gettext("%(key)s is selected twice") % {"key": key})
            if data.get(f"values_{n}") and not key and f"key_{n}" not in self.errors:
                self.add_error(f"key_{n}", gettext("select the key of these values"))
            selected.add(key)
        try:
            self.cells = parse_cells(data.get("listed", ""))
        except ValueError as error:
            self.add_error("listed", str(error))
        return data

    def sweep(self, form: LaunchForm) -> NewSweep:
        """Return the sweep that this form and the launch form describe."""
        data = form.cleaned_data
        return NewSweep(
            base=config_from_fields(data), seeds=[config.seed for config in form.configs], grid=self._grid(),
            cells=self.cells, name=data["name"].strip(), preset=data["preset"],
            at_once=DEFAULT_CONCURRENT_RUNS if self.cleaned_data["at_once"] is None else self.cleaned_data["at_once"],
        )  # fmt: skip

    def add_problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Add each problem to its row, and return the problems that belong to the launch form."""
        rows = {self.cleaned_data[f"key_{n}"]: f"values_{n}" for n in ROWS if self.cleaned_data.get(f"key_{n}")}
        fields = rows | {"at_once": "at_once", "cells": "listed", "grid": "key_1"}
        fields |= {key: "listed" for cell in self.cells for key in cell}
        left = []
        for problem in problems:
            if problem.path in fields:
                message = str(problem) if fields[problem.path] == "listed" else problem.message
                self.add_error(fields[problem.path], message)
            else:
                left.append(problem)
        return left

    def _grid(self) -> dict[str, list[Any]]:
        data = self.cleaned_data
        keys = {data[f"key_{n}"]: data.get(f"values_{n}", "") for n in ROWS if data.get(f"key_{n}")}
        return {key: parse_values(SETTINGS_BY_KEY[key], text) for key, text in keys.items()}


def parse_cells(text: str) -> list[dict[str, Any]]:
    """Parse one JSON object per line. Raise ValueError with the number of the first line that is not one."""
    cells = []
    for n, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            cell = loads(line)
        except ValueError:
            cell = None
        if not isinstance(cell, dict):
            message = gettext('line %(n)s must be a JSON object such as {"es.sigma": 0.01}')
            raise ValueError(message % {"n": n})
        cells.append(cell)
    return cells


class MoreForm(forms.Form):
    """Form with a field for each key of a grid, or a list of cells; and seeds. `additions` holds the cleaned values."""

    seeds = TextField(required=False, label=gettext_lazy("More seeds"), help_text=gettext_lazy("Such as 3, 4 or 3-6."))

    def __init__(self, sweep: Sweep, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, prefix="more")
        self.keys = list(sweep.grid)
        for key in self.keys:
            hint = gettext("Existing values: %(values)s.") % {"values": ", ".join(map(str, sweep.grid[key]))}
            self.fields[key] = TextField(
                required=False, label=gettext("More values of %(key)s") % {"key": key}, help_text=hint
            )
        if not self.keys:
            self.fields["cells"] = NoteField(
                required=False, label=gettext("More cells"), help_text=gettext("One per line, as JSON."),
                widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
            )  # fmt: skip
        self.additions: dict[str, Any] = {}

    def clean(self) -> dict[str, Any]:
        """Fill `additions`."""
        data = super().clean() or {}
        grid = {key: parse_values(SETTINGS_BY_KEY[key], data[key]) for key in self.keys if data.get(key)}
        self.additions = {
            "grid": grid,
            "cells": self._cells(data.get("cells", "")),
            "seeds": self._seeds(data["seeds"]),
        }
        return data

    def add_problems(self, problems: Iterable[Problem]) -> None:
        """Add each problem to its field, or to the top of the form if it has none."""
        for problem in problems:
            has_field = problem.path in self.fields
            self.add_error(problem.path if has_field else None, problem.message if has_field else str(problem))

    def _cells(self, text: str) -> list[dict[str, Any]]:
        try:
            return parse_cells(text)
        except ValueError as error:
            self.add_error("cells", str(error))
            return []

    def _seeds(self, text: str) -> list[int]:
        try:
            return parse_seeds(text)
        except ValueError as error:
            self.add_error("seeds", str(error))
            return []
