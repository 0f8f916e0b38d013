"""The launch form, made from RunConfig: a new knob is a new field, with help and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext, gettext_lazy

from runs.clusters import partitions_of
from runs.launching.config_form.fields import (
    ESSENTIAL,
    KNOBS,
    OPTIONAL,
    SUGGESTED,
    TITLES,
    KnobField,
    assembled,
    field_name,
    initial_from,
    problems_of,
    seeds,
)
from runs.models import Cluster, Run
from workers.config import ConfigError, Problem, RunConfig, presets

NAME_LENGTH = 180
COPY = " (copy)"


@dataclass(frozen=True)
class Part:
    """Fields that stand together: those in sight, those folded away, and the sections that may be left out."""

    slug: str
    title: str
    fields: list[BoundField]
    folded: list[BoundField]
    optional: list[tuple[BoundField, list[BoundField]]]

    @property
    def has_hidden_errors(self) -> bool:
        """True where a folded field has a problem, so that it must not stay folded."""
        inner = [field for _, fields in self.optional for field in fields]
        return any(field.errors for field in (*self.folded, *inner))


def preset_choices() -> list[tuple[str, str]]:
    """Every preset by its title, and none."""
    none = gettext("None: every knob at its default")
    return [("", none), *((p.name, gettext(p.title)) for p in presets().values())]


class LaunchForm(forms.Form):
    """A run to launch, or several that differ in their seed."""

    preset = forms.ChoiceField(choices=preset_choices, required=False, label=gettext_lazy("Preset"))
    name = forms.CharField(
        required=False,
        max_length=NAME_LENGTH,
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("Empty: the preset's name and the seed."),
    )
    seeds = forms.CharField(
        label=gettext_lazy("Seeds"), initial="0", help_text=gettext_lazy("One run each: 0, 1, 2 or 0-4.")
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial, prefix=None)
        for path, knob in KNOBS.items():
            self.fields[path] = KnobField(knob)
        for path in OPTIONAL:
            self.fields[path] = forms.BooleanField(
                required=False, label=gettext("Train a LoRA adapter"), help_text=gettext("Instead of the weights.")
            )
        for path in SUGGESTED:
            self.fields[path].widget.attrs["list"] = path
        self.configs: list[dict[str, Any]] = []

    @property
    def suggestions(self) -> dict[str, list[str]]:
        """Field -> what may be typed there, as far as it is known here."""
        clusters = list(Cluster.objects.order_by("name"))
        partitions = dict.fromkeys(name for cluster in clusters for name in partitions_of(cluster))
        return {"compute.cluster": [cluster.name for cluster in clusters], "compute.partition": list(partitions)}

    @classmethod
    def cloning(cls, run: Run) -> LaunchForm:
        """The form as this run was launched. What no longer fits is said, at its field where it has one."""
        problems = problems_of(run.config)
        # Read as it is understood today, so that a choice that was renamed has its present name.
        config = run.config if problems else RunConfig.from_json(run.config).to_json()
        filled = initial_from(config) | {
            "name": run.name.removesuffix(COPY)[: NAME_LENGTH - len(COPY)] + COPY,
            "seeds": str(run.seed),
            "preset": run.preset if run.preset in presets() else "",
        }
        if not problems:
            return cls(initial=filled)
        form = cls({name: value for name, value in filled.items() if value not in (None, False)})
        form.full_clean()
        # Its own check saw only what has a field; a knob that is no longer known has none, and is shown with its value.
        form.blame(p for p in problems if p.path not in (*form.fields, "seed", "schema"))
        return form

    def clean(self) -> dict[str, Any]:
        """Fills `configs`, one a seed; or puts every problem at its field."""
        data = super().clean() or {}
        config = assembled(data)
        problems: dict[Problem, None] = {}
        for seed in self._seeds(data.get("seeds", ""), problems):
            try:
                self.configs.append(RunConfig.from_json({**config, "seed": seed}).to_json())
            except ConfigError as error:
                problems |= dict.fromkeys(error.problems)
        self.blame(problems)
        return data

    def blame(self, problems: Iterable[Problem]) -> None:
        """Puts each problem at its field; at the top where it has none."""
        task = self.data.get("task.name", "")
        for problem in problems:
            path = "seeds" if problem.path == "seed" else problem.path
            path = field_name(path, task if path.startswith("task.options.") else "")
            known = path in self.fields
            self.add_error(path if known else None, problem.message if known else str(problem))

    def names(self) -> list[str]:
        """A name for each run."""
        given = self.cleaned_data["name"].strip()
        base = given or self.cleaned_data["preset"] or self.cleaned_data["method"]
        many = len(self.configs) > 1 or not given
        return [f"{base} seed {c['seed']}" if many else base for c in self.configs]

    def parts(self) -> Iterator[Part]:
        """The fields by section, in the order of RunConfig."""
        for slug, title in TITLES.items():
            mine = [self[path] for path in KNOBS if path.startswith(f"{slug}.") and not path.startswith(OPTIONAL)]
            inner = [
                (self[o], [self[p] for p in KNOBS if p.startswith(f"{o}.")])
                for o in OPTIONAL
                if o.startswith(f"{slug}.")
            ]
            seen = [f for f in mine if f.name in ESSENTIAL]
            yield Part(slug, gettext(title), seen, [f for f in mine if f.name not in ESSENTIAL], inner)

    def _seeds(self, text: str, problems: dict[Problem, None]) -> list[int]:
        if not text:
            return []
        try:
            return seeds(text)
        except ValueError as error:
            problems[Problem("seeds", str(error))] = None
            # The other fields are checked all the same: people should see every problem at once.
            return [0]
