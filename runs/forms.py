"""The forms people fill in. The launch form is made from RunConfig: a new knob is a new field, with help and bounds.

Nothing is validated here that the config validates itself: what was typed becomes JSON, `RunConfig.from_json` finds
every problem in one pass, and each is shown at its field. So the form, the API and run.json say the same things.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as _

from runs.launch.partitions import partitions_of
from runs.models import Cluster, Experiment, Run
from workers.config import Bounds, ConfigError, Knob, Problem, RunConfig, knobs, presets
from workers.config.knobs import Shape


def field_name(path: str, tag: str) -> str:
    """The field of a knob: its path; task.countdown.train_file where the task has a say, since tasks share names."""
    return path.replace(".options.", f".{tag}.", 1) if tag else path


KNOBS = {field_name(k.path, k.tag): k for k in knobs(RunConfig) if k.path not in ("schema", "seed")}
"""Name of the field -> knob."""
METHODS = ("es", "grpo", "scorer")
OPTIONAL = ("es.lora", "grpo.lora")
"""Sections that may be left out as a whole."""
SEEDS_AT_MOST = 20
NAME_LENGTH = 180
COPY = " (copy)"

ESSENTIAL = {
    "method", "model.path", "task.name", "task.own.path", "task.own.options",
    "task.safety.scorer", "task.safety.lambda_rule", "task.safety.lambda_init", "task.safety.lambda_lr",
    "es.iterations", "es.population", "es.sigma", "es.alpha", "es.noise", "es.prompts", "es.max_new_tokens",
    "grpo.max_steps", "grpo.learning_rate", "grpo.num_generations", "grpo.per_device_train_batch_size",
    "grpo.max_completion_length", "grpo.temperature", "grpo.beta",
    "scorer.name", "scorer.reward_model", "scorer.cost_model", "scorer.host", "scorer.token_file", "scorer.site",
    "scorer.site_token_file", "evaluation.every", "evaluation.prompts", "evaluation.samples", "compute.cluster",
    "compute.partition", "compute.cores", "compute.gpus",
}  # fmt: skip
"""Knobs that are not folded away."""

SUGGESTED = ("compute.cluster", "compute.partition")
"""Knobs whose values the clusters' settings name."""
TITLES = {
    "model": _("Model"),
    "task": _("Task"),
    "es": _("Evolution Strategies"),
    "grpo": "GRPO",
    "scorer": _("Scorer"),
    "evaluation": _("Evaluation"),
    "compute": _("Compute"),
    "tracking": _("Tracking"),
}
LEADING = ("method", "preset", "name", "seeds")


class ExperimentForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new experiment."""

    class Meta:
        model = Experiment
        fields = ("name", "question", "is_private")
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {"question": gettext_lazy("What its runs are to answer.")}  # noqa: RUF012
        widgets = {"question": forms.Textarea(attrs={"rows": 2})}  # noqa: RUF012


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
        return json.loads(text) if knob.kind in (tuple, dict) else knob.kind(text)
    except (ValueError, RecursionError):
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
        filled = initial_from(run.config) | {
            "name": run.name.removesuffix(COPY)[: NAME_LENGTH - len(COPY)] + COPY,
            "seeds": str(run.seed),
            "preset": run.preset if run.preset in presets() else "",
        }
        if not (problems := problems_of(run.config)):
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


def seeds(text: str) -> list[int]:
    """`0, 1, 4-6` -> [0, 1, 4, 5, 6], each once. Raises ValueError saying what is wrong."""
    found: dict[int, None] = {}
    for part in (p for p in re.split(r"[,\s]+", text.strip()) if p):
        match = re.fullmatch(r"(\d{1,10})(?:[-–](\d{1,10}))?", part)
        if match is None:
            raise ValueError(gettext("must be whole numbers such as 0, 1, 2 or 0-4, not %(part)r") % {"part": part})
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < SEEDS_AT_MOST:
            said = gettext("a range goes up and has at most %(most)s seeds, not %(part)r")
            raise ValueError(said % {"most": SEEDS_AT_MOST, "part": part})
        found |= dict.fromkeys(range(first, last + 1))
    if len(found) > SEEDS_AT_MOST:
        raise ValueError(gettext("at most %(most)s at once, not %(n)s") % {"most": SEEDS_AT_MOST, "n": len(found)})
    return list(found)


def problems_of(config: Mapping[str, Any]) -> list[Problem]:
    """What of a stored config, made by another version, no longer fits."""
    try:
        RunConfig.from_json(config)
    except ConfigError as error:
        return [
            Problem(p.path, f"{p.message}. It stood at {standing_at(config, p.path)!r:.200}") for p in error.problems
        ]
    return []


def standing_at(config: Mapping[str, Any], path: str) -> Any:
    """What stands in a config at a dotted path; None where nothing does."""
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def assembled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields -> a config's JSON: sections nested, the other methods' left out, empty knobs left to their defaults."""
    method = data.get("method") or ""
    config: dict[str, Any] = {method: {}} if method in METHODS else {}
    task = data.get("task.name") or KNOBS["task.name"].default
    for field, knob in KNOBS.items():
        section, value = field.partition(".")[0], data.get(field)
        off = any(field.startswith(f"{o}.") and not data.get(o) for o in OPTIONAL)
        if value is None or off or (section in METHODS and section != method) or knob.tag not in ("", task):
            continue
        *outer, name = knob.path.split(".")
        place = config
        for key in outer:
            place = place.setdefault(key, {})
        place[name] = value
    return config


def initial_from(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config's JSON -> what stands in the fields; defaults for what it does not say."""
    out: dict[str, Any] = {}
    task = standing_at(config, "task.name") or KNOBS["task.name"].default
    for field, knob in KNOBS.items():
        value = standing_at(config, knob.path) if knob.tag in ("", task) else None
        chosen = knob.default if value is None else value
        out[field] = None if chosen is None else written(knob, chosen)
    return out | {path: bool((config.get(path.partition(".")[0]) or {}).get("lora")) for path in OPTIONAL}
