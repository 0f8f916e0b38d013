"""Group a run's curves into sections and charts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from django.utils.text import capfirst, slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import PHASES, Chart, Spec, spoken
from runs.metrics import Provenance
from runs.metrics.catalogue import metric_of
from runs.metrics.metric_charts import BY_TIME, CHARTS, SHARE_OF_RESPONSES, MetricChart, chart_of, in_words
from workers.config.methods import TRAINING_METHODS

SYSTEM = "system/"
MACHINE, GPUS = "system", "gpus"
DETAILS = ("kl/", "reward/", "accuracy/", "likelihood/", "response/", "sample/", "evaluate/", "evaluation/")
PARTS = ("cost/", "safety/", "lambda")
PASS_KEYS = ("pass@", "pass^", "entropy")
"""Beginnings of the keys that evaluations without training record of their own task's samples."""
PRIOR_KEY = re.compile(r"prior/([^/]+)/")
"""Beginning of the keys of a task that was not trained."""
PRIOR, OTHER = "prior/", "of/"
"""Beginnings of the sections of such tasks, before their names, and of other keys, before the keys' first parts."""
INTERVAL_ENDS = ("/low", "/high")
"""Ends of the keys of an interval, next to the key of its estimate."""
TRAINING_PREFIXES = ("", "train", *TRAINING_METHODS)
SECTIONS = (
    ("held-out", _("Held-out"),
     _("Reward, accuracy, KL and responses on held-out prompts. Legends state how they were measured.")),
    ("parts", _("Parts of the task"), _("Parts of the reward on the held-out prompts.")),
    ("passes", _("pass@k and entropy"),
     _("At least one (pass@k), or all (pass^k), of k samples of a prompt are correct: mean over prompts, and "
       "its 95 % interval. Entropy in nats per sampled token.")),
    ("training", _("Training"), _("Metrics that the method logs.")),
    ("phases", _("Time by phase"), _("How the engines and GPUs of the training spend their time.")),
    ("time", _("Time"), ""),
)  # fmt: skip
LAST_SECTIONS = (
    ("training-details", _("Training, in detail"), ""), ("details", _("Held-out, in detail"), ""),
    (MACHINE, _("Machine"), _("Processes and GPUs of the training, every few seconds. The x axis is time, if known.")),
)  # fmt: skip
"""Sections (slug, title, help) before and after those of other keys and of prior tasks."""
SLUGS = frozenset(slug for slug, _title, _help in (*SECTIONS, *LAST_SECTIONS))


@dataclass(frozen=True)
class Section:
    """Charts that belong together."""

    slug: str
    title: str
    help: str
    charts: tuple[Chart, ...]

    @property
    def is_folded(self) -> bool:
        """Return whether the section is folded at first, as it holds details."""
        return self.slug.endswith("details")


@dataclass(frozen=True)
class Plan:
    """A section before its curves are read."""

    slug: str
    title: str
    help: str
    specs: tuple[Spec, ...]

    def section(self, charts: Iterable[Chart]) -> Section:
        """Return the section, with its charts."""
        return Section(self.slug, self.title, self.help, tuple(charts))


def plans(keys: Collection[str], provenances: Mapping[str, Provenance] = MappingProxyType({})) -> list[Plan]:
    """Return the sections: held-out, the task's parts, training, time by phase, time, all others by their key's first
    part, prior tasks, the machine.

    An unknown key gets a chart of its own, so that nothing a run logs stays hidden; an estimate and the ends of its
    interval share one. Lines of held-out series carry their provenance, by key.
    """
    specs = _specs_by_section(keys, provenances)
    prior_title = gettext("Prior task %(task)s")
    prior_help = gettext("A task that was not trained, at the same steps.")
    tasks = sorted(name.removeprefix(PRIOR) for name in specs if name.startswith(PRIOR))
    firsts = sorted(name.removeprefix(OTHER) for name in specs if name.startswith(OTHER))
    every = (
        *((slug, slug, gettext(title), spoken(words)) for slug, title, words in SECTIONS),
        *((OTHER + first, f"of-{slugify(first)}", first, "") for first in firsts),
        # They are details: another page compares tasks side by side.
        *((PRIOR + task, f"prior-{slugify(task)}-details", prior_title % {"task": task}, prior_help) for task in tasks),
        *((slug, slug, gettext(title), spoken(words)) for slug, title, words in LAST_SECTIONS),
    )
    present = set(keys)
    planned = [Plan(slug, title, words, _recorded(specs[name], present)) for name, slug, title, words in every]
    return [plan for plan in planned if plan.specs]


def _recorded(specs: Iterable[Spec], present: Container[str]) -> tuple[Spec, ...]:
    """Return those of the specs that have a key in `present`."""
    return tuple(spec for spec in specs if any(key in present for key in spec.keys))


def _specs_by_section(keys: Collection[str], provenances: Mapping[str, Provenance]) -> dict[str, list[Spec]]:
    """Return the specs of each section: the charts of the catalogue, then those of other keys, in the keys' order."""
    specs: dict[str, list[Spec]] = defaultdict(list)
    for slug, charts in CHARTS.items():
        specs[slug] = [_with_provenance(_spec_of(chart).spoken(), provenances) for chart in charts]
    specs["phases" if any(key in keys for key in PHASES.keys) else MACHINE] += _gpu_specs(specs.pop(GPUS), keys)
    present = set(keys)
    ends = {f"{key}{end}" for key in keys for end in INTERVAL_ENDS if _has_interval(key, present)}
    own: dict[str, list[Spec]] = defaultdict(list)
    for key in keys:
        if key not in ends and chart_of(key) is None:
            spec = _interval_spec(key) if _has_interval(key, present) else _single_spec(key)
            own[section_of(key)].append(_with_provenance(spec, provenances))
    for name, own_specs in own.items():
        has_passes = name == "passes" or name.startswith(PRIOR)
        specs[name] += sorted(own_specs, key=_pass_order) if has_passes else own_specs
    return specs


def section_of(key: str) -> str:
    """Return the section of a key that has a chart of its own: a slug, or PRIOR or OTHER with a task or a first
    part."""
    first, slash, rest = key.partition("/")
    if section := metric_of(key).section:
        return section if section in SLUGS else OTHER + first
    if key.startswith(PASS_KEYS):
        return "passes"
    if (key.startswith("reward/") and key.count("/") == 2) or key.startswith(PARTS):
        return "parts"
    if key.startswith(DETAILS):
        return "details"
    if not slash or first in TRAINING_PREFIXES:
        return "training-details" if first == "train" and "/" in rest else "training"
    if match := PRIOR_KEY.match(key):
        return PRIOR + match[1]
    return first if first in ("time", MACHINE) else OTHER + first


def _spec_of(chart: MetricChart) -> Spec:
    return PHASES if chart.name == PHASES.name else Spec.of(chart)


def _with_provenance(spec: Spec, provenances: Mapping[str, Provenance]) -> Spec:
    """State behind the name of each line how it was measured; for a single line, which has no legend, in the help."""
    measured = {key: provenances[key] for key in spec.keys if key in provenances}
    words = {key: provenance.words for key, provenance in measured.items()}
    if len(spec.lines) == 1:
        help_words = filter(None, [spec.help, *(f"{capfirst(word)}." for word in words.values())])
        return replace(spec, help=" ".join(help_words), measured=measured)
    lines = tuple((key, f"{name} ({words[key]})" if key in words else name) for key, name in spec.lines)
    return replace(spec, lines=lines, measured=measured)


def _gpu_specs(specs: Iterable[Spec], keys: Iterable[str]) -> list[Spec]:
    """Return the specs of quantities that drivers report, with a line for each GPU."""
    gpus = sorted({match[1] for key in keys if (match := re.match(r"system/(gpu\d+)/", key))})
    lines = ((spec, [(spec.keys[0].format(gpu=gpu), gpu) for gpu in gpus]) for spec in specs)
    return [replace(spec, lines=tuple(own)) for spec, own in lines]


def _single_spec(key: str) -> Spec:
    metric = metric_of(key)
    title = gettext(metric.title) if metric.title != key else key.removeprefix("train/")
    unit = metric.unit or (SHARE_OF_RESPONSES if metric.is_share else "")
    return Spec(key, title, unit, ((key, key),), in_words(metric.help), BY_TIME if key.startswith(SYSTEM) else "")


def _has_interval(key: str, present: Container[str]) -> bool:
    return all(f"{key}{end}" in present for end in INTERVAL_ENDS)


def _interval_spec(key: str) -> Spec:
    """Return one chart for an estimate and the two ends of its interval."""
    low, high = (f"{key}{end}" for end in INTERVAL_ENDS)
    lines = ((key, gettext("estimate")), (low, gettext("low")), (high, gettext("high")))
    return replace(_single_spec(key), lines=lines)


def _pass_order(spec: Spec) -> tuple[bool, str, int]:
    """Return the key that sorts pass@k by k, then pass^k, before other specs by name."""
    match = re.search(r"(?:^|/)pass([@^])(\d+)$", spec.name)
    return (False, match[1], int(match[2])) if match else (True, spec.name, 0)
