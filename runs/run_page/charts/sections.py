"""Which of a run's curves stand together, and on which charts."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from django.utils.text import capfirst, slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import PHASES, TITLES, Chart, Spec, spoken
from runs.metrics import Provenance

SYSTEM = "system/"
BY_TIME = "relative"
"""The axis of what is measured every few seconds."""
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
        """True where it is for those who look for it."""
        return self.slug.endswith("details")


@dataclass(frozen=True)
class Plan:
    """A section before its curves are read."""

    slug: str
    title: str
    help: str
    specs: tuple[Spec, ...]

    def section(self, charts: Iterable[Chart]) -> Section:
        """The section, with its charts."""
        return Section(self.slug, self.title, self.help, tuple(charts))


HELD_OUT = (
    Spec("reward", _("Reward"), _("reward"), (("reward/mean", _("mean")), ("sample/reward/mean", _("sampled"))),
         _("Mean over held-out prompts; the legend says of which answers.")),
    Spec("accuracy", _("Accuracy"), _("share of answers"),
         (("accuracy/contains", _("contains")), ("accuracy/exact", _("exact")),
          ("sample/accuracy/contains", _("sampled"))),
         _("Share of answers that contain the right one, or are exactly it. Reward hacking lowers it.")),
    Spec("kl", _("KL from the base model"), _("nats per token"), (("kl", _("KL")), ("kl/k3", _("KL"))),
         _("KL(model ‖ base). Exact: over the whole vocabulary at each token. k3: Schulman's "
           "estimate (r − 1) − log r from the sampled tokens alone.")),
    Spec("length", _("Answer length"), _("tokens"), (("response/tokens_mean", _("tokens")),),
         _("Mean over held-out prompts.")),
    Spec("degenerate", _("Empty and clipped answers"), _("share of answers"),
         (("response/empty_ratio", _("empty")), ("response/clipped_ratio", _("clipped at the limit")))),
)  # fmt: skip
TRAINING = (
    Spec("train/reward", _("Training reward"), _("reward"),
         (("train/reward/mean", _("mean")), ("train/reward/max", _("best")), ("train/reward/min", _("worst"))),
         _("Over the population's members (ES) or the sampled completions (GRPO). Not comparable between methods.")),
)  # fmt: skip
SPEED = (
    PHASES,
    Spec("es/tokens_per_second", _("Tokens per second"), _("tokens/s"),
         (("es/tokens_per_second", "es/tokens_per_second"),),
         _("Tokens generated in an iteration by all engines, over the seconds until its last answer.")),
)  # fmt: skip
MACHINE = (
    Spec("system/cpu", _("CPU cores in use"), _("cores"), (("system/cpu_cores", _("this run")),),
         _("Of all processes of the training together: CPU seconds spent in each second."), x=BY_TIME),
    Spec("system/memory", _("Memory"), _("GB"),
         (("system/memory_gb", _("this run")), ("system/free_memory_gb", _("free on the machine"))),
         _("Resident memory of all processes of the training; what several of them share counts in each."), x=BY_TIME),
)  # fmt: skip
GPUS = (
    (
        "busy",
        _("GPU in use"),
        _("share of time"),
        _("Share of time in which the GPU did anything, as its driver says."),
    ),
    ("memory_gb", _("GPU memory"), _("GB"), _("In use on the whole GPU, by the driver and by others too.")),
    ("watts", _("GPU power"), _("W"), _("Power drawn by the whole GPU.")),
)
OURS = ("", "train", "es", "grpo", "time", *(prefix.removesuffix("/") for prefix in DETAILS))
"""First parts of keys that have a place above; a script of one's own, or another tool, brings others."""


def plans(keys: Collection[str], provenances: Mapping[str, Provenance] = MappingProxyType({})) -> list[Plan]:
    """Held-out, the task's parts, training, time by phase, time, whatever else by its key's first part, the machine.

    A key that is not known here gets a chart of its own, so that nothing a run logs stays hidden. Lines of held-out
    series carry their provenance, by key.
    """
    there = set(keys)
    known = {key for spec in (*HELD_OUT, *TRAINING, *SPEED) for key, _ in spec.lines}
    unknown = (_own(key) for key in keys if key not in known and not key.startswith(SYSTEM))
    own = [_with_provenance(spec, provenances) for spec in unknown]
    parts = (
        ("held-out", gettext("Held-out"),
         gettext("Reward, accuracy, KL and answers to held-out prompts. Legends say how they were measured."),
         [_with_provenance(spec, provenances) for spec in _spoken(HELD_OUT)]),
        ("parts", gettext("Parts of the task"), gettext("What the reward is made of, on the held-out prompts."),
         [s for s in own if is_part(s.name)]),
        ("training", gettext("Training"), gettext("The method's own stream."),
         (*_spoken(TRAINING), *_rest(own, deep=False))),
        ("phases", gettext("Time by phase"), gettext("How engines spend their time, and the GPUs of the training."),
         (*_spoken(SPEED), *(_of_gpus(keys) if _has_phases(keys) else ()))),
        ("time", gettext("Time"), "", [s for s in own if s.name.startswith("time/")]),
        *((f"of-{slugify(first)}", first, "", specs) for first, specs in _others(own)),
        ("training-details", gettext("Training, in detail"), "", _rest(own, deep=True)),
        ("details", gettext("Held-out, in detail"), "",
         [s for s in own if s.name.startswith(DETAILS) and not is_part(s.name)]),
    )  # fmt: skip
    made = [_plan(slug, title, words, specs, there) for slug, title, words, specs in parts]
    return [plan for plan in (*made, _of_machine(keys)) if plan.specs]


def _plan(slug: str, title: str, words: str, specs: Iterable[Spec], there: Container[str]) -> Plan:
    """Return a plan with those of the specs that have a key in `there`."""
    return Plan(slug, title, words, tuple(s for s in specs if any(key in there for key, _ in s.lines)))


def _with_provenance(spec: Spec, provenances: Mapping[str, Provenance]) -> Spec:
    """Say behind the name of each line how it was measured; of a single line, which has no legend, in the help."""
    measured = {key: provenances[key] for key in spec.keys if key in provenances}
    words = {key: one.words for key, one in measured.items()}
    if len(spec.lines) == 1:
        help_words = filter(None, [spec.help, *(f"{capfirst(word)}." for word in words.values())])
        return replace(spec, help=" ".join(help_words), measured=measured)
    lines = tuple((key, f"{name} ({words[key]})" if key in words else name) for key, name in spec.lines)
    return replace(spec, lines=lines, measured=measured)


def _spoken(specs: Iterable[Spec]) -> list[Spec]:
    return [spec.spoken() for spec in specs]


def _has_phases(keys: Collection[str]) -> bool:
    return any(key in keys for key in PHASES.keys)


def _of_gpus(keys: Iterable[str]) -> list[Spec]:
    """Return a spec for each thing that drivers report, with a line for each GPU."""
    gpus = sorted({match[1] for key in keys if (match := re.match(r"system/(gpu\d+)/", key))})
    return [
        Spec(f"system/gpu-{what}", gettext(title), unit, tuple((f"system/{gpu}/{what}", gpu) for gpu in gpus),
             gettext(words), x=BY_TIME)
        for what, title, unit, words in GPUS
    ]  # fmt: skip


def _of_machine(keys: Collection[str]) -> Plan:
    """Return the plan of the machine. The GPUs are in it unless they are next to the phases."""
    mine = [key for key in keys if key.startswith(SYSTEM)]
    of_gpus = _of_gpus(mine)
    specs = [*_spoken(MACHINE), *(() if _has_phases(keys) else of_gpus)]
    known = {key for spec in (*specs, *of_gpus) for key, _ in spec.lines}
    words = gettext(
        "The processes of the training, and its GPUs, every few seconds; along time, whatever else is drawn along."
    )
    own = (replace(_own(key), x=BY_TIME) for key in mine if key not in known)
    return _plan("system", gettext("Machine"), words, (*specs, *own), set(mine))


def is_part(key: str) -> bool:
    """True for what a task's reward is made of: reward/<part>/mean, costs, safety, the multiplier."""
    of_reward = key.startswith("reward/") and key.count("/") == 2
    return of_reward or key.startswith(PARTS)


def _own(key: str) -> Spec:
    if key not in TITLES:
        return Spec(key, key.removeprefix("train/"), "", ((key, key),))
    title, words = TITLES[key]
    return Spec(key, gettext(title), "", ((key, key),), spoken(words))


def _rest(own: Sequence[Spec], *, deep: bool) -> list[Spec]:
    """Return the specs of training's own keys: the plain ones, or, if `deep`, families such as train/completions/."""
    mine = [s for s in own if _first_part(s.name) in ("", "train", "es", "grpo") and not is_part(s.name)]
    return [s for s in mine if (s.name.startswith("train/") and s.name.count("/") > 1) == deep]


def _others(own: Sequence[Spec]) -> list[tuple[str, list[Spec]]]:
    """(first part, its charts), by name, for keys that have no place by themselves."""
    found: dict[str, list[Spec]] = {}
    for spec in own:
        if (first := _first_part(spec.name)) not in OURS and not is_part(spec.name):
            found.setdefault(first, []).append(spec)
    return sorted(found.items())


def _first_part(key: str) -> str:
    """Return the part of a key before its first slash; an empty text for a key without one."""
    first, slash, _ = key.partition("/")
    return first if slash else ""
