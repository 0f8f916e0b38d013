"""What runs ran on, beside each other: other code, another GPU, packages of another version, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext

from runs.charts import Mark
from runs.models import Attempt, PackageSet, Run

NAMED_AT_MOST = 8
SHORT = 12
NOTABLE = ("torch", "transformers", "trl", "vllm", "numpy")
"""Packages that are worth a place of their own."""


@dataclass(frozen=True)
class RanOn:
    """What an attempt was to run, and what it ran on. `told` is None, and `packages` empty, where it has not said."""

    attempt: Attempt
    told: Mapping[str, Any] | None
    packages: Mapping[str, str]

    @property
    def gpus(self) -> str:
        """Such as "2 × NVIDIA H100"; that there is none, where there is none."""
        names = [gpu["name"] for gpu in (self.told or {}).get("gpus", [])]
        return ", ".join(f"{names.count(n)} × {n}" for n in dict.fromkeys(names)) or gettext("no GPU")

    @property
    def devices(self) -> list[tuple[str, str, str]]:
        """(name, memory, uuid) of each GPU."""
        return [(gpu["name"], _size(gpu["memory_mb"]), gpu["uuid"]) for gpu in (self.told or {}).get("gpus", [])]

    @property
    def memory(self) -> str:
        """The node's, for a person."""
        return _size((self.told or {}).get("memory_mb", 0))

    @property
    def notable(self) -> list[tuple[str, str]]:
        """Those of the packages that matter most for a training."""
        return [(name, self.packages[name]) for name in NOTABLE if name in self.packages]

    @property
    def code(self) -> str:
        """The fingerprint of what it ran, by its own word; else of what was pinned."""
        return str((self.told or {}).get("code") or (self.attempt.code or {}).get("sha256", ""))

    @property
    def code_in_words(self) -> str:
        """Commit, or version, and the fingerprint's beginning."""
        return _code_in_words(self.attempt.code, self.code)

    @property
    def is_other_code(self) -> bool:
        """True where it ran something else than was pinned."""
        pinned = (self.attempt.code or {}).get("sha256", "")
        return bool(pinned and self.code and pinned != self.code)


@dataclass(frozen=True)
class Difference:
    """One thing that two attempts differ in, here and there."""

    what: str
    here: str
    there: str


def ran_on(attempts: Iterable[Attempt]) -> list[RanOn]:
    """What each attempt ran on, in the order given. One query."""
    found = list(attempts)
    digests = [a.environment["packages"] for a in found if a.environment]
    kept = {row.sha256: row.versions for row in PackageSet.objects.of(digests)} if digests else {}
    return [RanOn(a, a.environment, kept.get(a.environment["packages"], {}) if a.environment else {}) for a in found]


def newest_of(runs: Sequence[Run]) -> dict[int, RanOn]:
    """By the run's primary key, what its newest attempt ran on that has said so. Two queries."""
    told = Attempt.objects.filter(run__in=runs, environment__isnull=False)
    newest = ran_on(told.order_by("run_id", "-n").distinct("run_id"))
    return {one.attempt.run_id: one for one in newest}


def differences(here: RanOn, there: RanOn) -> list[Difference]:
    """What may make two runs of one config differ, the likeliest first. Nothing where either has not said."""
    if here.told is None or there.told is None:
        return []
    pair = (here, there)
    names = {
        "python": gettext("Python"), "driver": gettext("driver"), "cuda": gettext("CUDA of the driver"),
        "cpu": gettext("processor"), "cores": gettext("cores"), "os": gettext("system"),
    }  # fmt: skip
    found = [Difference(gettext("code"), here.code_in_words, there.code_in_words)] if here.code != there.code else []
    if here.gpus != there.gpus:
        found.append(Difference(gettext("GPUs"), *(side.gpus if side.devices else gettext("none") for side in pair)))
    found += _packages(here.packages, there.packages)
    for name, words in names.items():
        one, other = (str(side.told[name] or "") for side in pair if side.told)
        # Who has no driver has no GPU, which is said already.
        if one and other and one != other:
            found.append(Difference(words, one, other))
    return found


def in_words(found: Sequence[Difference]) -> str:
    """Such as: torch 2.10.0 instead of 2.9.1; GPUs none instead of 1 × NVIDIA H100. Of many some are named."""
    said = [
        gettext("%(what)s %(here)s instead of %(there)s") % {"what": d.what, "here": d.here, "there": d.there}
        for d in found[:NAMED_AT_MOST]
    ]
    if (more := len(found) - NAMED_AT_MOST) > 0:
        said.append(gettext("%(n)s more") % {"n": more})
    return "; ".join(said)


def _packages(here: Mapping[str, str], there: Mapping[str, str]) -> list[Difference]:
    names = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    absent = gettext("not installed")
    # What both have in another version is likelier to matter than what one of them lacks.
    names.sort(key=lambda name: name not in here or name not in there)
    return [Difference(name, here.get(name, absent), there.get(name, absent)) for name in names]


def _size(mebibytes: int) -> str:
    return filesizeformat(mebibytes * 2**20)


def _code_in_words(pinned: Mapping[str, Any] | None, ran: str) -> str:
    if not pinned or pinned["sha256"] != ran:
        return ran[:SHORT]
    if not pinned["commit"]:
        return f"{pinned['version']} ({ran[:SHORT]})" if pinned["version"] else ran[:SHORT]
    changed = gettext("with changes, ") if pinned["is_dirty"] else ""
    return f"{pinned['commit'][:SHORT]} ({changed}{ran[:SHORT]})"


def compared(marks: Sequence[Mark], baseline: str) -> dict[str, Any]:
    """Of runs beside each other: what each ran on, and what differs from the baseline (a uid; else the first run's).

    Two queries.
    """
    found = newest_of([mark.run for mark in marks])
    shown = [(mark, found[mark.run.pk]) for mark in marks if mark.run.pk in found]
    if len(shown) < 2:
        return {}
    base = next((ran for mark, ran in shown if mark.run.uid == baseline), shown[0][1])
    rows = [(mark, ran, ran is base, in_words(differences(ran, base))) for mark, ran in shown]
    return {"ran_on": rows, "ran_alike": not any(words for *_, words in rows)}
