"""Which of a run's curves stand together, and on which charts."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass

from django.utils.text import slugify

from runs.charts.chart import Chart
from runs.charts.single import TITLES, Spec


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
    """A section before its curves are read. `x`: the axis that it keeps to, empty where it takes the page's."""

    slug: str
    title: str
    help: str
    specs: tuple[Spec, ...]
    x: str = ""

    def section(self, charts: Iterable[Chart]) -> Section:
        """The section, with its charts."""
        return Section(self.slug, self.title, self.help, tuple(charts))


HELD_OUT = (
    Spec("reward", "Reward", "reward", (("reward/mean", "greedy"), ("sample/reward/mean", "sampled")),
         "Mean over held-out prompts: the one greedy answer, and the samples at the evaluation's temperature."),
    Spec("accuracy", "Accuracy", "share of answers",
         (("accuracy/contains", "contains"), ("accuracy/exact", "exact"),
          ("sample/accuracy/contains", "sampled")),
         "Share of answers that contain the right one (greedy, sampled), or are exactly it. Reward hacking lowers it."),
    Spec("kl", "KL from the base model", "nats per token", (("kl", "exact"), ("kl/k3", "k3 estimate")),
         "KL(model ‖ base) on the sampled answers. Exact: over the whole vocabulary at each token. k3: Schulman's "
         "estimate (r − 1) − log r from the sampled tokens alone."),
    Spec("length", "Answer length", "tokens", (("response/tokens_mean", "tokens"),), "Mean of the greedy answers."),
    Spec("degenerate", "Empty and clipped answers", "share of answers",
         (("response/empty_ratio", "empty"), ("response/clipped_ratio", "clipped at the limit"))),
)  # fmt: skip
TRAINING = (
    Spec("train/reward", "Training reward", "reward",
         (("train/reward/mean", "mean"), ("train/reward/max", "best"), ("train/reward/min", "worst")),
         "Over the population's members (ES) or the sampled completions (GRPO). Not comparable between methods."),
)  # fmt: skip
SYSTEM = "system/"
MACHINE = (
    ("cpu", "CPU cores in use", "cores", (("cpu_cores", "this run"),),
     "Of all processes of the training together: CPU seconds spent in each second."),
    ("memory", "Memory", "GB", (("memory_gb", "this run"), ("free_memory_gb", "free on the machine")),
     "Resident memory of all processes of the training; what several of them share counts in each."),
)  # fmt: skip
GPUS = (
    (
        "busy",
        "GPU in use",
        "share of time",
        "Share of time in which the GPU did anything, as its driver says.",
    ),
    ("memory_gb", "GPU memory", "GB", "In use on the whole GPU, by the driver and by others too."),
    ("watts", "GPU power", "W", "Power drawn by the whole GPU."),
)
DETAILS = ("kl/", "reward/", "accuracy/", "response/", "sample/")
PARTS = ("cost/", "safety/", "lambda")
OURS = ("", "train", "es", "grpo", "time", *(prefix.removesuffix("/") for prefix in DETAILS))
"""First parts of keys that have a place above; a script of one's own, or another tool, brings others."""


def plans(keys: Collection[str]) -> list[Plan]:
    """Held-out, the task's parts, training, time, whatever else by its key's first part, and the machine.

    A key that is not known here gets a chart of its own, so that nothing a run logs stays hidden.
    """
    there = set(keys)
    known = {key for spec in (*HELD_OUT, *TRAINING) for key, _ in spec.lines}
    own = [_own(key) for key in keys if key not in known and not key.startswith(SYSTEM)]
    parts = (
        ("held-out", "Held-out", "Reward, accuracy, KL and answers, by the common evaluator on the centre weights.",
         HELD_OUT),
        ("parts", "Parts of the task", "What the reward is made of, on the held-out prompts.",
         [s for s in own if is_part(s.name)]),
        ("training", "Training", "The method's own stream.", (*TRAINING, *_rest(own, deep=False))),
        ("time", "Time", "", [s for s in own if s.name.startswith("time/")]),
        *((f"of-{slugify(first)}", first, "", specs) for first, specs in _others(own)),
        ("training-details", "Training, in detail", "", _rest(own, deep=True)),
        ("details", "Held-out, in detail", "", [s for s in own if s.name.startswith(DETAILS) and not is_part(s.name)]),
    )  # fmt: skip
    made = [_plan(slug, title, words, specs, there) for slug, title, words, specs in parts]
    return [plan for plan in (*made, _of_machine(keys)) if plan.specs]


def _plan(slug: str, title: str, words: str, specs: Iterable[Spec], there: Container[str], x: str = "") -> Plan:
    """Of the specs those that have a key."""
    return Plan(slug, title, words, tuple(s for s in specs if any(key in there for key, _ in s.lines)), x)


def _of_machine(keys: Iterable[str]) -> Plan:
    mine = [key for key in keys if key.startswith(SYSTEM)]
    gpus = sorted({match[1] for key in mine if (match := re.match(r"system/(gpu\d+)/", key))})
    specs = [
        *(Spec(f"system/{name}", title, unit, tuple((SYSTEM + key, said) for key, said in lines), words)
          for name, title, unit, lines, words in MACHINE),
        *(Spec(f"system/gpu-{what}", title, unit, tuple((f"system/{gpu}/{what}", gpu) for gpu in gpus), words)
          for what, title, unit, words in GPUS),
    ]  # fmt: skip
    known = {key for spec in specs for key, _ in spec.lines}
    words = "The processes of the training, and its GPUs, every few seconds; along time, whatever else is drawn along."
    own = (_own(key) for key in mine if key not in known)
    return _plan("system", "Machine", words, (*specs, *own), set(mine), x="relative")


def is_part(key: str) -> bool:
    """True for what a task's reward is made of: reward/<part>/mean, costs, safety, the multiplier."""
    of_reward = key.startswith("reward/") and key.count("/") == 2
    return of_reward or key.startswith(PARTS)


def _own(key: str) -> Spec:
    title, words = TITLES.get(key, (key.removeprefix("train/"), ""))
    return Spec(key, title, "", ((key, key),), words)


def _rest(own: Sequence[Spec], *, deep: bool) -> list[Spec]:
    """What training itself logs: the plain keys, or those of a family such as train/completions/."""
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
    """What stands before the first slash; empty for a key without one."""
    first, slash, _ = key.partition("/")
    return first if slash else ""
