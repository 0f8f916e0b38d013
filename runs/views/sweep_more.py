"""The form that extends a sweep: more values of its keys, or more cells; more seeds; another number at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from runs.forms import seeds
from runs.models import Sweep
from runs.views.sweep_form import OF_KEY, cells_of_lines, values_of
from workers.config import Problem


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
