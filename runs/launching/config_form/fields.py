"""Fields of the launch form: one per setting, with its help and bounds. Convert between form fields and a config."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.kinds import KIND_ESSENTIAL
from runs.launching.config_form.section_lists import without_defaults
from runs.launching.request import value_at
from runs.models import Run
from workers.config import ConfigError, ConfigField, Problem, RunConfig, config_fields
from workers.config.fields import Bounds, Divisible, Limits, Shape
from workers.config.methods import METHODS, TRAINING_METHODS
from workers.config.shallow_json import loads
from workers.config.tasks import TASKS

LORA = (_("Train a LoRA adapter"), _("Instead of the full weights."))
OPTIONAL = {
    "es.lora": LORA,
    "es.adapter_server": (_("Use an adapter server"), _("For es.backend adapter_server.")),
    "grpo.lora": LORA,
    "grpo.vllm": (_("Generate completions with vLLM"), _("Instead of the trained model itself.")),
}
"""Section of a config that may be omitted as a whole -> label and help of the checkbox that includes it."""
SHARED_ESSENTIAL = (
    "method", "model.path", "task.name", "evaluation.every", "evaluation.prompts", "evaluation.samples",
    "compute.cluster", "compute.partition", "compute.nodes", "compute.cores", "compute.gpus", "compute.gpu_type",
)  # fmt: skip
ESSENTIAL = {
    *SHARED_ESSENTIAL,
    *KIND_ESSENTIAL,
    *(f"task.{task}.{option}" for task, options in TASKS.items() for option in options.essential),
}
"""Settings that the form shows without unfolding a section."""
SYNONYMS = {
    "es.sigma": "σ noise",
    "es.alpha": "α lr learning rate step size",
    "es.population": "n members",
    "es.rank": "low rank",
    "es.max_new_tokens": "length",
    "grpo.learning_rate": "lr step size",
    "grpo.beta": "β kl",
    "grpo.epsilon": "ε clip",
    "grpo.max_steps": "iterations",
    "grpo.num_generations": "group size samples",
    "grpo.max_completion_length": "max new tokens",
    "task.safety.lambda_rule": "λ",
    "task.safety.lambda_init": "λ",
    "task.safety.lambda_lr": "λ lr",
    "task.safety.lambda_max": "λ",
    "task.safety.lambda_positive_only": "λ",
    "evaluate.run": "checkpoint parent uid",
    "evaluate.steps": "iterations checkpoints",
    "evaluate.correct": "pass@k",
    "evaluate.prior_tasks": "forgetting",
    "probe.runs": "checkpoint parent uid weights",
    "probe.base": "reference theta θ₀",
    "probe.probes": "measures rank cosine overlap barrier hessian",
    "probe.draws": "null samples seeds repetitions",
    "probe.sigmas": "σ noise",
    "probe.groups": "layers tensors",
    "probe.points": "interpolation path alpha",
    "probe.rank": "dimensions subspace singular vectors",
    "probe.responses": "hessian curvature",
    "audit.prompts": "attacks exploits",
    "audit.samples": "best of k",
    "audit.members": "population adversaries",
    "audit.sigma": "σ noise",
    "evaluation.every": "interval frequency",
    "compute.time_limit_seconds": "timeout",
    "compute.nodes": "machines hosts",
    "compute.cores": "cpu threads",
    "compute.gpus": "cuda",
    "compute.gpu_type": "card model a100 h100",
    "compute.memory_mb": "ram",
}
"""Field -> other words by which the form's search finds it."""
TRAINING_ONLY = ("evaluation.every",)
"""Settings that only methods with a training read, in sections that others read too."""
LEFT_OPEN = {
    "compute.gpus": _(
        "If empty: a GPU, or a part of one, for a large model if the cluster has one; else none. The bar at the bottom "
        "says which."
    ),
}
"""Settings that a launch decides if they are empty -> how. A preset that does not state them leaves them empty."""
SUGGESTED = ("compute.cluster", "compute.partition", "compute.gpus", "compute.gpu_type")
"""Settings with values that the form suggests: mostly those of the clusters, from their configs and their nodes."""
MAX_SEEDS = 20


class BoundSetting(forms.BoundField):
    """A setting in a form, whose selected method and task decide if it is shown."""

    field: SettingField

    @property
    def is_off(self) -> bool:
        """Return whether the selected method or task does not have the setting."""
        return is_off(self.form, self.field.methods) or (
            self.field.setting.tag not in ("", self.form["task.name"].value() or "")
        )


class SettingField(forms.Field):
    """A form field of one setting. A value that is not of its type stays as typed; the config's check reports it."""

    bound_field_class = BoundSetting

    def __init__(self, setting: ConfigField) -> None:
        super().__init__(required=False, label=label(setting.path), help_text=hint(setting), widget=widget(setting))
        self.setting = setting
        self.methods = TRAINING_METHODS if setting.path in TRAINING_ONLY else ()
        """The only methods whose form shows the field; empty for all that have its section."""

    @property
    def search_words(self) -> str:
        """Return the text that the form's search looks through: path, label, help and other words for the setting."""
        name = field_name(self.setting.path, self.setting.tag)
        return " ".join([name, str(self.label), str(self.help_text), SYNONYMS.get(name, "")]).strip()

    def clean(self, value: Any) -> Any:
        """Return the setting's JSON value; None if nothing was typed and the default applies."""
        return parse_value(self.setting, value)


def is_off(form: forms.BaseForm, methods: Collection[str]) -> bool:
    """Return whether the selected method of a form is not one of these; empty means all."""
    return bool(methods) and bool(method := form["method"].value()) and method not in methods


def parse_value(setting: ConfigField, value: Any) -> Any:
    """Convert typed text to the setting's JSON value: None if it is empty, the text itself if it has another type."""
    text = value.strip() if isinstance(value, str) else value
    if not isinstance(text, str) or setting.kind is str:
        return text
    if not text:
        return None
    try:
        value = loads(text) if setting.kind in (tuple, dict) else setting.kind(text)
    except ValueError:
        return text
    return setting.bounds.plain(value) if isinstance(setting.bounds, Divisible) else value


def format_value(setting: ConfigField, value: Any) -> Any:
    """Convert a JSON value to the value that the form field shows."""
    if setting.kind in (tuple, dict):
        return json.dumps(without_defaults(setting, value), ensure_ascii=False)
    return f"{value:g}" if setting.kind is float and isinstance(value, float | int) else value


def label(path: str) -> str:
    """Return a setting's name in words."""
    return gettext(path.rsplit(".", 1)[-1].replace("_", " "))


def hint(setting: ConfigField) -> str:
    """Return a setting's help, bounds and default as one text."""
    sentences = [help_of(setting)]
    if setting.bounds is not None:
        sentences.append(describe_bounds(setting.bounds))
    if setting.kind in (tuple, dict):
        sentences.append(gettext("As JSON."))
    if setting.path in LEFT_OPEN:
        sentences.append(gettext(LEFT_OPEN[setting.path]))
    elif not setting.required and setting.kind is not bool and setting.default not in ("", None):
        sentences.append(gettext("Default: %(value)s.") % {"value": format_value(setting, setting.default)})
    return " ".join(sentences)


def help_of(setting: ConfigField) -> str:
    """Return a setting's translated help text; empty if it has none."""
    words = setting.help.replace("\n", " ")
    return gettext(words) if words else ""


def describe_bounds(bounds: Limits) -> str:
    """Return a sentence that describes the valid values."""
    if isinstance(bounds, Shape):
        return f"{capfirst(gettext(bounds.words))}."
    if isinstance(bounds, Divisible):
        text = gettext("A whole number from 0 to %(most)s, a fraction such as 0.25, or %(word)s.")
        return text % {"most": bounds.at_most, "word": bounds.word}
    return _describe_range(bounds)


def _describe_range(bounds: Bounds) -> str:
    least = bounds.above if bounds.at_least is None else bounds.at_least
    params = {"least": _format_limit(least), "most": _format_limit(bounds.at_most)}
    if bounds.at_most is None:
        return (gettext("Above %(least)s.") if bounds.at_least is None else gettext("At least %(least)s.")) % params
    if least is None:
        return gettext("At most %(most)s.") % params
    if bounds.at_least is None:
        return gettext("Above %(least)s and at most %(most)s.") % params
    return gettext("At least %(least)s and at most %(most)s.") % params


def _format_limit(limit: float | None) -> str:
    return "" if limit is None else f"{limit:.10g}"


def widget(setting: ConfigField) -> forms.Widget:
    """Return the form control of a setting. Numbers are text inputs with a number pad, which accept 1e-3 as typed
    and retain wrong input.
    """
    if setting.path == "method":
        return forms.RadioSelect(choices=[(slug, gettext(m.choice or m.title)) for slug, m in METHODS.items()])
    if setting.choices:
        return forms.Select(choices=[(c, c) for c in setting.choices])
    if setting.kind is bool:
        return forms.CheckboxInput()
    if setting.kind in (tuple, dict):
        return forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})
    mode = None if isinstance(setting.bounds, Divisible) else {int: "numeric", float: "decimal"}.get(setting.kind)
    return forms.TextInput(attrs={"inputmode": mode} if mode else {"spellcheck": "false"})


def field_name(path: str, tag: str) -> str:
    """Return the form field's name of a setting: its path. An option of a task contains the task's name, such as
    task.countdown.train_file, since tasks share the names of options.
    """
    return path.replace(".options.", f".{tag}.", 1) if tag else path


SETTINGS = {
    field_name(k.path, k.tag): k
    for k in config_fields(RunConfig)
    if k.path not in ("schema", "seed") and k.resource != "by_hand"
}
"""Maps a field's name to its setting. Settings that only manually started runs may set have no field."""
TITLES = {
    "model": _("Model"),
    "task": _("Task"),
    **{slug: method.title for slug, method in METHODS.items()},
    "evaluation": _("Evaluation"),
    "compute": _("Compute"),
    "tracking": _("Tracking"),
}


def can_be_cloned(run: Run) -> bool:
    """Return whether the launch form may be filled from the run: the config of an external run is rarely one that this
    site can train."""
    return not run.kind.is_reported or not problems_of(run)


def problems_of(run: Run) -> list[Problem]:
    """Return the problems of a stored config that another version made and that is no longer valid."""
    try:
        _ = run.run_config
    except ConfigError as error:
        values = ((problem, value_at(run.config, problem.path)) for problem in error.problems)
        return [Problem(p.path, f"{p.message}. Its value was {value!r:.200}") for p, value in values]
    return []


def config_from_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """Convert form fields to a config's JSON: nest sections, omit settings of other methods and empty ones."""
    method = data.get("method") or ""
    config: dict[str, Any] = {method: {}} if method in METHODS else {}
    task = data.get("task.name") or SETTINGS["task.name"].default
    for field, setting in SETTINGS.items():
        value = data.get(field)
        off = any(field.startswith(f"{o}.") and not data.get(o) for o in OPTIONAL)
        if value is None or off or not _has_setting(method, field) or setting.tag not in ("", task):
            continue
        *outer, name = setting.path.split(".")
        target = config
        for key in outer:
            target = target.setdefault(key, {})
        target[name] = value
    return config


def _has_setting(method: str, field: str) -> bool:
    """Return whether runs of this method have this setting."""
    section = field.partition(".")[0]
    return section == method if section in METHODS else field not in TRAINING_ONLY or method in TRAINING_METHODS


def initial_from(config: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a config's JSON to the initial values of the form fields; missing settings take their defaults, and those
    of LEFT_OPEN stay empty."""
    out: dict[str, Any] = {}
    task = value_at(config, "task.name") or SETTINGS["task.name"].default
    for field, setting in SETTINGS.items():
        value = value_at(config, setting.path) if setting.tag in ("", task) else None
        selected = setting.default if value is None and field not in LEFT_OPEN else value
        out[field] = None if selected is None else format_value(setting, selected)
    return out | {path: value_at(config, path) is not None for path in OPTIONAL}


def parse_seeds(text: str) -> list[int]:
    """Parse seeds: `0, 1, 4-6` becomes [0, 1, 4, 5, 6], each once. Raise ValueError if the text is not valid."""
    numbers: dict[int, None] = {}
    for part in (p for p in re.split(r"[,\s]+", text.strip()) if p):
        match = re.fullmatch(r"(\d{1,10})(?:[-–](\d{1,10}))?", part)
        if match is None:
            raise ValueError(gettext("must be whole numbers such as 0, 1, 2 or 0-4, not %(part)r") % {"part": part})
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < MAX_SEEDS:
            message = gettext("a range must ascend and have at most %(most)s seeds, not %(part)r")
            raise ValueError(message % {"most": MAX_SEEDS, "part": part})
        numbers |= dict.fromkeys(range(first, last + 1))
    if len(numbers) > MAX_SEEDS:
        raise ValueError(gettext("must be at most %(most)s seeds, not %(n)s") % {"most": MAX_SEEDS, "n": len(numbers)})
    return list(numbers)
