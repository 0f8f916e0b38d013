"""Comparison of the environments of runs: code, GPUs and package versions, described in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext

from runs.charts import Mark
from runs.models import Attempt, PackageSet, Run

MAX_NAMED_DIFFERENCES = 8
SHORT_HASH_LENGTH = 12
NOTABLE_PACKAGES = ("torch", "transformers", "trl", "vllm", "numpy")
"""Packages that are listed separately."""


@dataclass(frozen=True)
class AttemptEnvironment:
    """An attempt and its environment. `facts` is None, and `packages` empty, if it has reported none."""

    attempt: Attempt
    facts: Mapping[str, Any] | None
    packages: Mapping[str, str]

    @property
    def gpus(self) -> str:
        """Return the GPUs as text, such as "2 × NVIDIA H100", or "no GPU"."""
        names = [gpu["name"] for gpu in (self.facts or {}).get("gpus", [])]
        return ", ".join(f"{names.count(n)} × {n}" for n in dict.fromkeys(names)) or gettext("no GPU")

    @property
    def devices(self) -> list[tuple[str, str, str]]:
        """Return (name, memory, uuid) of each GPU."""
        return [(gpu["name"], _size(gpu["memory_mb"]), gpu["uuid"]) for gpu in (self.facts or {}).get("gpus", [])]

    @property
    def memory(self) -> str:
        """Return the node's memory as a readable size."""
        return _size((self.facts or {}).get("memory_mb", 0))

    @property
    def notable(self) -> list[tuple[str, str]]:
        """Return (name, version) of the installed packages that matter most for a training."""
        return [(name, self.packages[name]) for name in NOTABLE_PACKAGES if name in self.packages]

    @property
    def code(self) -> str:
        """Return the fingerprint of the code that the attempt reported; else of the pinned code."""
        return str((self.facts or {}).get("code") or (self.attempt.code or {}).get("sha256", ""))

    @property
    def code_in_words(self) -> str:
        """Return the commit, or version, and the start of the fingerprint."""
        return _code_in_words(self.attempt.code, self.code)

    @property
    def is_other_code(self) -> bool:
        """Return whether the attempt ran other code than was pinned."""
        pinned = (self.attempt.code or {}).get("sha256", "")
        return bool(pinned and self.code and pinned != self.code)


@dataclass(frozen=True)
class Difference:
    """A property in which two attempts differ, with both values."""

    label: str
    here: str
    there: str


def load_environments(attempts: Iterable[Attempt]) -> list[AttemptEnvironment]:
    """Return the environment of each attempt, in the order given. One query."""
    rows = list(attempts)
    digests = [a.environment["packages"] for a in rows if a.environment]
    versions = {row.sha256: row.versions for row in PackageSet.objects.with_digests(digests)} if digests else {}
    return [
        AttemptEnvironment(a, a.environment, versions.get(a.environment["packages"], {}) if a.environment else {})
        for a in rows
    ]


def newest_environments(runs: Sequence[Run]) -> dict[int, AttemptEnvironment]:
    """Return, by run primary key, the environment of its newest attempt that has reported one. Two queries."""
    attempts = Attempt.objects.filter(run__in=runs, environment__isnull=False)
    newest = load_environments(attempts.order_by("run_id", "-n").distinct("run_id"))
    return {environment.attempt.run_id: environment for environment in newest}


def environment_differences(here: AttemptEnvironment, there: AttemptEnvironment) -> list[Difference]:
    """Return the likely causes of different results of one config, the likeliest first; none if a report is missing."""
    if here.facts is None or there.facts is None:
        return []
    pair = (here, there)
    names = {
        "python": gettext("Python"), "driver": gettext("driver"), "cuda": gettext("CUDA of the driver"),
        "cpu": gettext("processor"), "cores": gettext("cores"), "os": gettext("system"),
    }  # fmt: skip
    result = [Difference(gettext("code"), here.code_in_words, there.code_in_words)] if here.code != there.code else []
    if here.gpus != there.gpus:
        result.append(Difference(gettext("GPUs"), *(side.gpus if side.devices else gettext("none") for side in pair)))
    result += _packages(here.packages, there.packages)
    for name, label in names.items():
        here_value, there_value = (str(side.facts[name] or "") for side in pair if side.facts)
        # Without a driver there is no GPU, and the difference in GPUs is listed already.
        if here_value and there_value and here_value != there_value:
            result.append(Difference(label, here_value, there_value))
    return result


def describe_differences(differences: Sequence[Difference]) -> str:
    """Return text such as: torch 2.10.0 instead of 2.9.1; GPUs none instead of 1 × NVIDIA H100. Long lists are cut."""
    texts = [
        gettext("%(what)s %(here)s instead of %(there)s") % {"what": d.label, "here": d.here, "there": d.there}
        for d in differences[:MAX_NAMED_DIFFERENCES]
    ]
    if (more := len(differences) - MAX_NAMED_DIFFERENCES) > 0:
        texts.append(gettext("%(n)s more") % {"n": more})
    return "; ".join(texts)


def _packages(here: Mapping[str, str], there: Mapping[str, str]) -> list[Difference]:
    names = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    absent = gettext("not installed")
    # A package of which the versions differ matters more often than one that is missing on one side.
    names.sort(key=lambda name: name not in here or name not in there)
    return [Difference(name, here.get(name, absent), there.get(name, absent)) for name in names]


def _size(mebibytes: int) -> str:
    return filesizeformat(mebibytes * 2**20)


def _code_in_words(pinned: Mapping[str, Any] | None, ran: str) -> str:
    if not pinned or pinned["sha256"] != ran:
        return ran[:SHORT_HASH_LENGTH]
    if not pinned["commit"]:
        return f"{pinned['version']} ({ran[:SHORT_HASH_LENGTH]})" if pinned["version"] else ran[:SHORT_HASH_LENGTH]
    changed = gettext("with changes, ") if pinned["is_dirty"] else ""
    return f"{pinned['commit'][:SHORT_HASH_LENGTH]} ({changed}{ran[:SHORT_HASH_LENGTH]})"


@dataclass(frozen=True)
class EqualEnvironments:
    """Runs with the same code, packages, processors and GPUs, possibly on several nodes.

    environment: that of the first run. differences: from the baseline's environment, in words; empty if there are none.
    """

    marks: tuple[Mark, ...]
    nodes: tuple[str, ...]
    environment: AttemptEnvironment
    has_baseline: bool
    differences: str

    @property
    def names(self) -> str:
        """Return the names of the runs with their letters, joined by commas."""
        return ", ".join(mark.name for mark in self.marks)


def environments_context(marks: Sequence[Mark], baseline: str) -> dict[str, Any]:
    """Return the runs by equal environments, with differences from the baseline's (a uid; else the first run's).

    Return an empty context if fewer than two runs have reported an environment. Two queries.
    """
    environments = newest_environments([mark.run for mark in marks])
    pairs = [(mark, environments[mark.run.pk]) for mark in marks if mark.run.pk in environments]
    if len(pairs) < 2:
        return {}
    base = next((environment for mark, environment in pairs if mark.run.uid == baseline), pairs[0][1])
    rows = _equal_environments(pairs, base)
    is_equal = not any(row.differences for row in rows)
    return {"ran_on": rows, "ran_alike": is_equal, "ran_unreported": len(marks) - len(pairs)}


def _equal_environments(
    pairs: Sequence[tuple[Mark, AttemptEnvironment]], base: AttemptEnvironment
) -> list[EqualEnvironments]:
    """Return the groups in the order of their first runs."""
    members: dict[tuple[object, ...], list[tuple[Mark, AttemptEnvironment]]] = {}
    for mark, environment in pairs:
        # What equals the baseline, or differs from it in the same way, is equal.
        key = (*environment_differences(environment, base), environment.gpus, environment.code_in_words)
        members.setdefault(key, []).append((mark, environment))
    return [
        EqualEnvironments(
            tuple(mark for mark, _ in own),
            tuple(dict.fromkeys(str((environment.facts or {}).get("node", "")) for _, environment in own)),
            own[0][1],
            any(environment is base for _, environment in own),
            describe_differences(environment_differences(own[0][1], base)),
        )
        for own in members.values()
    ]
