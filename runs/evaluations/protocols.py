"""Protocols of evaluations: how each of their tasks was measured, and which settings keep them from being compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import Cell, Table
from runs.evaluations.estimates import Curves
from runs.evaluations.selection import Evaluation, section
from runs.kinds import EVALUATION
from workers.analysis.keys import PROMPTS, SAMPLES
from workers.config.tasks import TASKS

SETTINGS = {
    "prompts": _("Prompts"),
    "samples": _("Samples"),
    "temperature": _("Temperature"),
    "max_new_tokens": _("Response limit, tokens"),
    "seed": _("Seed of samples"),
    "prompt_style": _("Prompt format"),
    "prefill": _("Prefill"),
    "options": _("Options of the task"),
    "correct": _("Correct if"),
    "base": _("KL against"),
}
"""Settings of a protocol, with their headings."""


@dataclass(frozen=True)
class Setting:
    """One value of a protocol. differs: evaluations of the same task do not all have it."""

    text: str
    differs: bool


@dataclass(frozen=True)
class Protocol:
    """Settings by which one evaluation measured one task. steps: the number of its evaluated steps."""

    evaluation: Evaluation
    task: str
    settings: Mapping[str, Setting]
    steps: int

    @property
    def cells(self) -> list[Setting]:
        return [self.settings[name] for name in SETTINGS]


def list_protocols(evaluations: Sequence[Evaluation], tasks: Sequence[str], curves: Curves) -> list[Protocol]:
    """Return the protocols by task, in the given order, then by evaluation."""
    protocols = []
    for task in tasks:
        own = [(evaluation, _texts(evaluation, task, curves)) for evaluation in evaluations if task in evaluation.tasks]
        differing = {name for name in SETTINGS if len({texts[name] for _, texts in own}) > 1}
        for evaluation, texts in own:
            settings = {name: Setting(text, name in differing) for name, text in texts.items()}
            steps = curves.get((evaluation.run.pk, evaluation.prefix(task) + PROMPTS))
            count = int((~steps.overwritten).sum()) if steps is not None else 0
            protocols.append(Protocol(evaluation, task, settings, count))
    return protocols


def merge_protocols(protocols: Sequence[Protocol]) -> list[tuple[str, Protocol]]:
    """Return the distinct protocols of each task, each with the letters of its evaluations."""
    merged: dict[tuple[Any, ...], list[Protocol]] = {}
    for protocol in protocols:
        texts = tuple(setting.text for setting in protocol.cells)
        merged.setdefault((protocol.task, protocol.steps, texts), []).append(protocol)
    return [(" ".join(one.evaluation.mark.letter for one in alike), alike[0]) for alike in merged.values()]


def protocol_differences(protocols: Iterable[Protocol]) -> list[str]:
    """Return the sentences about tasks that were not measured alike. The model of the KL concerns the KL alone."""
    names: dict[str, list[str]] = {}
    for protocol in protocols:
        own = names.setdefault(protocol.task, [])
        own += [name for name, setting in protocol.settings.items() if setting.differs and name not in own]
    message = gettext("%(task)s was not measured alike (%(settings)s): do not compare its numbers directly.")
    kl_message = gettext("%(task)s: the KL is not measured against the same model everywhere: do not compare it.")
    sentences = []
    for task, differing in names.items():
        if settings := [gettext(SETTINGS[name]) for name in differing if name != "base"]:
            sentences.append(message % {"task": task, "settings": ", ".join(settings)})
        if "base" in differing:
            sentences.append(kl_message % {"task": task})
    return sentences


def protocols_table(protocols: Sequence[Protocol]) -> Table:
    """Return a row for each evaluation and task."""
    rows: list[tuple[Cell, ...]] = [
        (
            p.task, p.evaluation.mark.letter, p.evaluation.run.uid, p.evaluation.run.name, p.evaluation.method,
            p.evaluation.subject, p.steps, *(setting.text for setting in p.cells),
        )
        for p in protocols
    ]  # fmt: skip
    return Table(("task", "letter", "uid", "run", "method", "evaluated", "steps", *SETTINGS), tuple(rows))


def _texts(evaluation: Evaluation, task: str, curves: Curves) -> dict[str, str]:
    """Return the text of every setting. Numbers of prompts and samples are those recorded, if any step is complete."""
    plan, settings = section(evaluation.run, "evaluation"), section(evaluation.run, EVALUATION.method)
    prior_tasks = settings.get("prior_tasks")
    tasks = [section(evaluation.run, "task"), *(prior_tasks if isinstance(prior_tasks, list | tuple) else ())]
    task_config = next((own for own in tasks if isinstance(own, dict) and own.get("name") == task), {})
    limit, rule = plan.get("max_new_tokens"), settings.get("correct", "")
    default_base = gettext("base model") if settings.get("run") else ""
    return {
        "prompts": _recorded(evaluation, task, PROMPTS, curves) or _short(plan.get("prompts", "")),
        "samples": _recorded(evaluation, task, SAMPLES, curves) or _short(plan.get("samples", "")),
        "temperature": _short(plan.get("temperature", "")),
        "max_new_tokens": _short(limit) if limit else gettext("as in training"),
        "seed": _short(plan.get("seed", "")),
        "prompt_style": task_config.get("prompt_style", ""),
        "prefill": task_config.get("prefill", ""),
        "options": _options(task_config),
        "correct": f"reward ≥ {settings.get('correct_reward')}" if rule == "reward" else rule,
        "base": settings.get("base") or default_base,
    }


def _recorded(evaluation: Evaluation, task: str, key: str, curves: Curves) -> str:
    curve = curves.get((evaluation.run.pk, evaluation.prefix(task) + key))
    return f"{curve.y[-1]:g}" if curve is not None and len(curve.y) else ""


def _options(task: Mapping[str, Any]) -> str:
    """Return the options that differ from the task's defaults."""
    options_type = TASKS.get(task.get("name", ""))
    defaults = asdict(options_type()) if options_type else {}
    options = task.get("options") or {}
    return ", ".join(f"{name} {_short(value)}" for name, value in options.items() if value != defaults.get(name))


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)
