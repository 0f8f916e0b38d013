"""Group a run's curves into sections and charts."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from django.utils.text import capfirst, slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import PHASES, TITLES, Chart, Spec, spoken
from runs.charts.axes import SHARE_KEYS
from runs.metrics import Provenance
from runs.run_page.charts.evaluation_specs import COUNTS, PASS_KEYS, PASSES, PRIOR, pass_order, prior_parts

SYSTEM = "system/"
BY_TIME = "relative"
"""The axis of series that are measured every few seconds."""
DETAILS = ("kl/", "reward/", "accuracy/", "response/", "sample/")
PARTS = ("cost/", "safety/", "lambda")


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


HELD_OUT = (
    Spec("reward", _("Reward"), _("reward"), (("reward/mean", _("mean")), ("sample/reward/mean", _("sampled"))),
         _("Mean over held-out prompts; the legend names the responses.")),
    Spec("accuracy", _("Accuracy"), _("share of responses"),
         (("accuracy/contains", _("contains")), ("accuracy/exact", _("exact")),
          ("sample/accuracy/contains", _("sampled"))),
         _("Share of responses that contain the expected answer or equal it. Reward hacking lowers it.")),
    Spec("kl", _("KL from the base model"), _("nats per token"), (("kl", _("KL")), ("kl/k3", _("KL"))),
         _("KL(model ‖ base). Exact: over the whole vocabulary at each token. k3: Schulman's "
           "estimate (r − 1) − log r from the sampled tokens alone.")),
    Spec("length", _("Response length"), _("tokens"), (("response/tokens_mean", _("tokens")),),
         _("Mean over held-out prompts.")),
    Spec("degenerate", _("Empty and clipped responses"), _("share of responses"),
         (("response/empty_ratio", _("empty")), ("response/clipped_ratio", _("clipped at the limit")))),
)  # fmt: skip
TRAINING = (
    Spec("train/reward", _("Training reward"), _("reward"),
         (("train/reward/mean", _("mean")), ("train/reward/max", _("best")), ("train/reward/min", _("worst"))),
         _("Over the population's members (ES) or the sampled completions (GRPO). Not comparable between methods.")),
    Spec("train/kl", _("KL from the reference model"), _("nats per token"),
         (("train/kl", _("kl of the loss")), ("train/kl/k1", "k1"), ("train/kl/k2", "k2"), ("train/kl/k3", "k3")),
         _("Estimates of KL(policy ‖ reference) from the completions' tokens, at the sampling temperature. k1 and k3 "
           "are unbiased, k2 is not. The loss contains k3.")),
    Spec("train/entropy", _("Entropy of the policy"), _("nats per token"),
         (("train/entropy", _("exact")), ("train/entropy/sampled", _("sampled"))),
         _("At the completions' tokens and the sampling temperature. Exact: over the whole vocabulary. Sampled: the "
           "mean of −log π of the sampled tokens.")),
    Spec("train/sampling/kl", _("KL from sampler to trainer"), _("nats per token"),
         (("train/sampling/kl_k1", "k1"), ("train/sampling/kl_k3", "k3")),
         _("Estimates of KL(sampler ‖ trainer), if another engine samples the completions. It is 0 if both compute the "
           "same probabilities.")),
    Spec("train/groups/zero_variance", _("Groups without variance"), _("share of groups"),
         (("train/groups/zero_variance", _("all rewards equal")),),
         _("Share of the groups whose completions all have the same reward. Their advantages are 0.")),
)  # fmt: skip
SHARES = re.compile(r"(prior/[^/]+/)?(pass[@^]\d+|accuracy/greedy)(/low|/high)?")
"""Keys of shares of responses or prompts, next to SHARE_KEYS."""
INTERVAL_ENDS = ("/low", "/high")
"""Ends of the keys of an interval, next to the key of its estimate."""
SPEED = (
    PHASES,
    Spec("es/tokens_per_second", _("Tokens per second"), _("tokens/s"),
         (("es/tokens_per_second", "es/tokens_per_second"),),
         _("Tokens generated in an iteration by all engines, divided by the seconds until its last response.")),
)  # fmt: skip
MACHINE = (
    Spec("system/cpu", _("CPU cores in use"), _("cores"), (("system/cpu_cores", _("this run")),),
         _("CPU seconds per second, of all processes of the training together."), x=BY_TIME),
    Spec("system/memory", _("Memory"), _("GB"),
         (("system/memory_gb", _("this run")), ("system/free_memory_gb", _("free on the machine"))),
         _("Resident memory of all processes of the training. Shared memory counts for each process."), x=BY_TIME),
)  # fmt: skip
GPUS = (
    (
        "busy",
        _("GPU in use"),
        _("share of time"),
        _("Share of time in which the GPU was active, reported by its driver."),
    ),
    ("memory_gb", _("GPU memory"), _("GB"), _("Used memory of the whole GPU, including other programs.")),
    ("watts", _("GPU power"), _("W"), _("Power drawn by the whole GPU.")),
)
PLACED_PREFIXES = ("", "train", "es", "grpo", "time", *(p.removesuffix("/") for p in (*DETAILS, COUNTS)))
"""First parts of keys that have a section above; a user's own script, or another tool, has others."""


def plans(keys: Collection[str], provenances: Mapping[str, Provenance] = MappingProxyType({})) -> list[Plan]:
    """Return the sections: held-out, the task's parts, training, time by phase, time, all others by their key's first
    part, prior tasks, the machine.

    An unknown key gets a chart of its own, so that nothing a run logs stays hidden; an estimate and the ends of its
    interval share one. Lines of held-out series carry
    their provenance, by key.
    """
    present = set(keys)
    known_keys = {key for spec in (*HELD_OUT, *PASSES, *TRAINING, *SPEED) for key, _ in spec.lines}
    ends = {f"{key}{end}" for key in keys for end in INTERVAL_ENDS if _has_interval(key, present)}
    own_keys = (key for key in keys if key not in known_keys | ends and not key.startswith(SYSTEM))
    unknown = (_interval_spec(key) if _has_interval(key, present) else _single_spec(key) for key in own_keys)
    own = [_with_provenance(spec, provenances) for spec in unknown]
    parts = (
        ("held-out", gettext("Held-out"),
         gettext("Reward, accuracy, KL and responses on held-out prompts. Legends state how they were measured."),
         [_with_provenance(spec, provenances) for spec in _spoken(HELD_OUT)]),
        ("parts", gettext("Parts of the task"), gettext("Parts of the reward on the held-out prompts."),
         [s for s in own if is_part(s.name)]),
        ("passes", gettext("pass@k and entropy"),
         gettext("At least one (pass@k), or all (pass^k), of k samples of a prompt are correct: mean over prompts, and "
                 "its 95 % interval. Entropy in nats per sampled token."),
         (*_spoken(PASSES), *sorted((s for s in own if s.name.startswith(PASS_KEYS)), key=pass_order))),
        ("training", gettext("Training"), gettext("Metrics that the method logs."),
         (*_spoken(TRAINING), *_training_specs(own, deep=False))),
        ("phases", gettext("Time by phase"), gettext("How the engines and GPUs of the training spend their time."),
         (*_spoken(SPEED), *(_gpu_specs(keys) if _has_phases(keys) else ()))),
        ("time", gettext("Time"), "", [s for s in own if s.name.startswith("time/")]),
        *((f"of-{slugify(first)}", first, "", specs) for first, specs in _others(own)),
        *prior_parts(own),
        ("training-details", gettext("Training, in detail"), "", _training_specs(own, deep=True)),
        ("details", gettext("Held-out, in detail"), "",
         [s for s in own if s.name.startswith((*DETAILS, COUNTS)) and not is_part(s.name)]),
    )  # fmt: skip
    all_plans = [_plan(slug, title, words, specs, present) for slug, title, words, specs in parts]
    return [plan for plan in (*all_plans, _machine_plan(keys)) if plan.specs]


def _plan(slug: str, title: str, words: str, specs: Iterable[Spec], present: Container[str]) -> Plan:
    """Return a plan with those of the specs that have a key in `present`."""
    return Plan(slug, title, words, tuple(s for s in specs if any(key in present for key, _ in s.lines)))


def _with_provenance(spec: Spec, provenances: Mapping[str, Provenance]) -> Spec:
    """State behind the name of each line how it was measured; for a single line, which has no legend, in the help."""
    measured = {key: provenances[key] for key in spec.keys if key in provenances}
    words = {key: provenance.words for key, provenance in measured.items()}
    if len(spec.lines) == 1:
        help_words = filter(None, [spec.help, *(f"{capfirst(word)}." for word in words.values())])
        return replace(spec, help=" ".join(help_words), measured=measured)
    lines = tuple((key, f"{name} ({words[key]})" if key in words else name) for key, name in spec.lines)
    return replace(spec, lines=lines, measured=measured)


def _spoken(specs: Iterable[Spec]) -> list[Spec]:
    return [spec.spoken() for spec in specs]


def _has_phases(keys: Collection[str]) -> bool:
    return any(key in keys for key in PHASES.keys)


def _gpu_specs(keys: Iterable[str]) -> list[Spec]:
    """Return a spec for each quantity that drivers report, with a line for each GPU."""
    gpus = sorted({match[1] for key in keys if (match := re.match(r"system/(gpu\d+)/", key))})
    return [
        Spec(f"system/gpu-{metric}", gettext(title), unit, tuple((f"system/{gpu}/{metric}", gpu) for gpu in gpus),
             gettext(words), x=BY_TIME)
        for metric, title, unit, words in GPUS
    ]  # fmt: skip


def _machine_plan(keys: Collection[str]) -> Plan:
    """Return the plan of the machine. The GPUs are in it unless they are next to the phases."""
    system_keys = [key for key in keys if key.startswith(SYSTEM)]
    of_gpus = _gpu_specs(system_keys)
    specs = [*_spoken(MACHINE), *(() if _has_phases(keys) else of_gpus)]
    known_keys = {key for spec in (*specs, *of_gpus) for key, _ in spec.lines}
    words = gettext("Processes and GPUs of the training, every few seconds. The x axis is always time.")
    own = (replace(_single_spec(key), x=BY_TIME) for key in system_keys if key not in known_keys)
    return _plan("system", gettext("Machine"), words, (*specs, *own), set(system_keys))


def is_part(key: str) -> bool:
    """Return whether the key is a part of a task's reward: reward/<part>/mean, costs, safety, the multiplier."""
    of_reward = key.startswith("reward/") and key.count("/") == 2
    return of_reward or key.startswith(PARTS)


def _single_spec(key: str) -> Spec:
    unit = _("share of responses") if key in SHARE_KEYS or SHARES.fullmatch(key) else ""
    if key not in TITLES:
        return Spec(key, key.removeprefix("train/"), unit, ((key, key),))
    title, words = TITLES[key]
    return Spec(key, gettext(title), unit, ((key, key),), spoken(words))


def _has_interval(key: str, present: Container[str]) -> bool:
    return all(f"{key}{end}" in present for end in INTERVAL_ENDS)


def _interval_spec(key: str) -> Spec:
    """Return one chart for an estimate and the two ends of its interval."""
    low, high = (f"{key}{end}" for end in INTERVAL_ENDS)
    lines = ((key, gettext("estimate")), (low, gettext("low")), (high, gettext("high")))
    return replace(_single_spec(key), lines=lines)


def _training_specs(own: Sequence[Spec], *, deep: bool) -> list[Spec]:
    """Return the specs of training's own keys: the plain ones, or, if `deep`, families such as train/completions/."""
    of_training = [s for s in own if _first_part(s.name) in ("", "train", "es", "grpo") and not is_part(s.name)]
    training_specs = [s for s in of_training if not s.name.startswith(PASS_KEYS)]
    return [s for s in training_specs if (s.name.startswith("train/") and s.name.count("/") > 1) == deep]


def _others(own: Sequence[Spec]) -> list[tuple[str, list[Spec]]]:
    """Return (first part, its charts), by name, for keys that have no section of their own."""
    specs_by_part: dict[str, list[Spec]] = {}
    for spec in own:
        is_placed = is_part(spec.name) or spec.name.startswith(PASS_KEYS) or PRIOR.match(spec.name)
        if (first := _first_part(spec.name)) not in PLACED_PREFIXES and not is_placed:
            specs_by_part.setdefault(first, []).append(spec)
    return sorted(specs_by_part.items())


def _first_part(key: str) -> str:
    """Return the part of a key before its first slash; an empty text for a key without one."""
    first, slash, _ = key.partition("/")
    return first if slash else ""
