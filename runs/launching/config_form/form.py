"""The launch form, built from RunConfig: each setting is a field, with help and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy

from runs.clusters import gpu_types_of, partitions_of, usable_shapes
from runs.http import TextField
from runs.kinds import TRAINING
from runs.launching.config_form.fields import (
    ESSENTIAL,
    OPTIONAL,
    SETTINGS,
    SUGGESTED,
    TITLES,
    SettingField,
    can_be_cloned,
    config_from_fields,
    field_name,
    initial_from,
    is_off,
    parse_seeds,
    problems_of,
)
from runs.launching.run_names import copy_name, default_run_name
from runs.models import Cluster, Run
from workers.config import ConfigError, Problem, RunConfig, presets
from workers.config.methods import METHODS
from workers.config.run import AUTO

NAME_LENGTH = 180


@dataclass(frozen=True)
class Section:
    """Fields of a section: visible ones, folded ones, and subsections that may be omitted."""

    slug: str
    title: str
    fields: list[BoundField]
    folded: list[BoundField]
    optional: list[tuple[BoundField, list[BoundField]]]
    methods: tuple[str, ...]
    """The only methods that read the section; empty if all do."""
    is_off: bool
    """The selected method does not read it."""

    @property
    def is_wide(self) -> bool:
        """Return whether the section has a row of its own: that of a method, unless it takes the place of the task."""
        return self.slug in METHODS and "task" not in METHODS[self.slug].unread_sections

    @property
    def has_hidden_errors(self) -> bool:
        """Return whether a folded field has a problem, so that the section must be unfolded."""
        inner = [field for _, fields in self.optional for field in fields]
        return any(field.errors for field in (*self.folded, *inner))


def methods_of(section: str) -> tuple[str, ...]:
    """Return the only methods that read a section of the config; an empty tuple if all do."""
    if section in METHODS:
        return (section,)
    readers = tuple(slug for slug, method in METHODS.items() if section not in method.unread_sections)
    return readers if len(readers) < len(METHODS) else ()


def preset_choices() -> list[tuple[str, str]]:
    """Return the choices of presets by their titles; the first choice is none."""
    none = gettext("None: all settings at their defaults")
    return [("", none), *((p.name, gettext(p.title)) for p in presets().values())]


class LaunchForm(forms.Form):
    """Form to launch a run, or several that differ in their seed."""

    preset = forms.ChoiceField(choices=preset_choices, required=False, label=gettext_lazy("Preset"))
    name = forms.CharField(
        required=False,
        max_length=NAME_LENGTH,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("If empty: the preset, the changed settings and the seed."),
    )
    seeds = TextField(
        label=gettext_lazy("Seeds"), initial="0", help_text=gettext_lazy("One run per seed, such as 0, 1, 2 or 0-4.")
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        initial: dict[str, Any] | None = None,
        cloned: Run | None = None,
        decode: Callable[[Mapping[str, Any]], RunConfig] = RunConfig.from_json,
    ) -> None:
        """cloned: the run whose clones this form launches, if any. decode: makes a config of JSON in which settings of
        LEFT_OPEN may be missing, or raises ConfigError."""
        super().__init__(data, initial=initial, prefix=None)
        self.cloned = cloned
        self._decode = decode
        if cloned:
            message = gettext("If empty: %(name)s, or the preset and the settings if you change any.")
            self.fields["name"].help_text = message % {"name": copy_name(cloned.name)}
        for path, setting in SETTINGS.items():
            self.fields[path] = SettingField(setting)
        for path, (label, words) in OPTIONAL.items():
            self.fields[path] = forms.BooleanField(required=False, label=gettext(label), help_text=gettext(words))
        for path in SUGGESTED:
            self.fields[path].widget.attrs["list"] = path
        self.configs: list[RunConfig] = []

    @property
    def suggestions(self) -> dict[str, list[str]]:
        """Return field -> suggested values, mostly from the clusters in the database."""
        clusters = list(Cluster.objects.order_by("name"))
        partitions = dict.fromkeys(name for cluster in clusters for name in partitions_of(cluster))
        gpu_types = gpu_types_of(shape for cluster in clusters for shape in usable_shapes(cluster))
        return {
            "compute.cluster": [cluster.name for cluster in clusters],
            "compute.partition": list(partitions),
            "compute.gpus": ["0", "1", AUTO],
            "compute.gpu_type": gpu_types,
        }

    @classmethod
    def from_run(cls, run: Run) -> LaunchForm:
        """Return the form with this run's values. Values that are no longer valid are reported."""
        if not can_be_cloned(run):
            return cls._refusing(run)
        problems = problems_of(run)
        # The config is decoded, so that a choice that was renamed has its current name.
        config = run.config if problems else run.run_config.to_json()
        filled = initial_from(config) | {
            "seeds": str(max(run.seed, 0)) if run.kind.is_reported else str(run.seed),
            "preset": run.preset if run.preset in presets() else "",
        }
        if not problems:
            return cls(initial=filled, cloned=run)
        form = cls({name: value for name, value in filled.items() if value not in (None, False)}, cloned=run)
        form.full_clean()
        # The form checked only settings with a field. A removed setting has none, and is reported with its value.
        form.add_problems(p for p in problems if p.path not in (*form.fields, "seed", "schema"))
        return form

    @classmethod
    def _refusing(cls, run: Run) -> LaunchForm:
        """Return the form with the values of a new launch, and why it has none of this external run."""
        form = cls(initial={**initial_from({"method": TRAINING.method}), "seeds": "0"})
        form.full_clean()
        form.cleaned_data = {}
        message = gettext(
            "%(name)s trains elsewhere, and its config is not one that this site can train. None of its values is used."
        )
        form.add_error(None, message % {"name": run.name})
        return form

    def clean(self) -> dict[str, Any]:
        """Fill `configs`, one per seed, or add every problem to its field. A form with a problem has no configs."""
        data = super().clean() or {}
        config = config_from_fields(data)
        problems: dict[Problem, None] = {}
        for seed in self._seeds(data.get("seeds", ""), problems):
            try:
                self.configs.append(self._decode({**config, "seed": seed}))
            except ConfigError as error:
                problems |= dict.fromkeys(error.problems)
        self.add_problems(problems)
        if self.errors:
            self.configs.clear()
        return data

    def add_problems(self, problems: Iterable[Problem]) -> None:
        """Add each problem to its field, or to the top of the form if it has none."""
        task = self.data.get("task.name", "")
        for problem in problems:
            path = "seeds" if problem.path == "seed" else problem.path
            path = field_name(path, task if path.startswith("task.options.") else "")
            path = "evaluate.prior_tasks" if path.startswith("evaluate.prior_tasks.") else path
            has_field = path in self.fields
            self.add_error(path if has_field else None, problem.message if has_field else str(problem))

    def leaves_open(self, path: str) -> bool:
        """Return whether a cleaned form leaves this setting empty."""
        return self.cleaned_data.get(path) is None

    def names(self, parent: str = "") -> list[str]:
        """Return a name for each run: as typed, with the seed if there are several, or else the default name.

        A clone without a typed name and without a change is called a copy. parent: the name of the first run that
        these runs measure, if any.
        """
        typed_name = self.cleaned_data["name"].strip()
        if not typed_name and self.cloned and _is_unchanged(self.cloned, self.configs):
            return [copy_name(self.cloned.name)]
        if not typed_name:
            return [default_run_name(config, self.cleaned_data["preset"], parent) for config in self.configs]
        if len(self.configs) == 1:
            return [typed_name]
        return [f"{typed_name} seed {config.seed}" for config in self.configs]

    def parts(self) -> Iterator[Section]:
        """Yield the sections with their fields, in the order of RunConfig."""
        for slug, title in TITLES.items():
            section_fields = [
                self[path] for path in SETTINGS if path.startswith(f"{slug}.") and not path.startswith(tuple(OPTIONAL))
            ]
            inner = [
                (self[o], [self[p] for p in SETTINGS if p.startswith(f"{o}.")])
                for o in OPTIONAL
                if o.startswith(f"{slug}.")
            ]
            visible = [f for f in section_fields if f.name in ESSENTIAL]
            folded = [f for f in section_fields if f.name not in ESSENTIAL]
            methods = methods_of(slug)
            yield Section(slug, gettext(title), visible, folded, inner, methods, is_off(self, methods))

    def _seeds(self, text: str, problems: dict[Problem, None]) -> list[int]:
        if not text:
            return []
        try:
            return parse_seeds(text)
        except ValueError as error:
            problems[Problem("seeds", str(error))] = None
            # The other fields are still checked, so that the user sees all problems together.
            return [0]


def _is_unchanged(run: Run, configs: list[RunConfig]) -> bool:
    return not problems_of(run) and configs == [run.run_config]
