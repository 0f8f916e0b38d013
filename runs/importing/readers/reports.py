"""JSON of a report: a row a setting, each the mean and spread over its seeds.

A setting whose seeds are here already, from their own evaluations, is checked against them and makes nothing. The
others are kept as aggregates: a run each, tagged `aggregate`, whose numbers are eval/…, so that no comparison takes a
mean over seeds for a seed. An aggregate whose seeds come later is checked then, and put into the trash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.importing import vocabulary
from runs.importing.hyperparameters import canonical, of_name
from runs.importing.numbers import real
from runs.importing.records import STEP, Entry, ImportedRun, ImportReport
from workers.executors.states import State
from workers.records import Metric

KIND = "report"
TAG = "aggregate"
SETTINGS = ("alpha", "sigma", "beta", "learning_rate", "lr", "population", "population_size", "temperature", "temp")
WORDS = ("aggregate_", "mean_", "std_", "num_seeds", "_mean", "_std")
NAMES = {"num_seeds": "eval/n", "n_seeds": "eval/n", "successful_seeds": "eval/n", "n": "eval/n"}
CHECKED = {
    "aggregate_reward_mean": ("reward/mean", "mean"), "aggregate_reward_std": ("reward/mean", "std"),
    "aggregate_normalized_reward_mean": ("eval/reward/normalized/mean", "mean"),
    "aggregate_normalized_reward_std": ("eval/reward/normalized/mean", "std"),
    "mean_kl": ("kl", "mean"), "std_kl": ("kl", "std"),
}  # fmt: skip
"""Sums of a row -> the key of the seeds' numbers, and the statistic; std is the population's, over the seeds."""
HACKED, EMPTY = "num_seeds_hacked_reward", "response/empty_ratio"
"""The reports' scripts call a seed hacked if all of its answers are empty."""
CLOSE = 1e-9
Numbers: TypeAlias = Mapping[str, float]
Seeds: TypeAlias = Callable[[str, Mapping[str, Any]], Sequence[Numbers]]
"""(method, settings) -> the last numbers of each evaluated seed that is here."""


def is_one(value: Any) -> bool:
    """True for the JSON of a report: a list of rows with means."""
    return isinstance(value, list) and any(isinstance(row, dict) and _means(row) for row in value)


def entries(rows: Sequence[Any], name: str, told: ImportReport, seeds_of: Seeds) -> Iterator[Entry]:
    """The aggregates of the settings whose seeds are not here."""
    for part, row in enumerate(rows):
        if not isinstance(row, dict) or not _means(row):
            told.remark(f"row {part}", "holds no mean over seeds: left out")
            continue
        settings = _settings(row)
        guess = "grpo" if "beta" in settings else "es" if "sigma" in settings else ""
        method = vocabulary.slug(str(row.get("algorithm") or guess))[:20]
        said = ", ".join(f"{key}={known:g}" for key, value in settings.items() if (known := real(value)) is not None)
        seeds = seeds_of(method, settings)
        if not seeds or not check(row, said, seeds, told):
            found = ImportedRun(
                part, KIND, method, settings=of_name(name) | settings, state=State.SUCCEEDED, tags=(TAG,)
            )
            found.suffix, found.note = ", mean over seeds", _note(row)
            yield Entry(found, Metric(STEP, _values(row)))


def check(row: Mapping[str, Any], setting: str, seeds: Sequence[Numbers], told: ImportReport) -> bool:
    """Compare the sums of a report's row with those of the seeds that are here, by the names of the file.

    Return whether anything could be compared.
    """
    n, compared, differs = len(seeds), 0, False
    for name, (key, how) in CHECKED.items():
        values = np.array([seed[key] for seed in seeds if key in seed])
        claimed = real(row.get(name))
        if len(values) != n or claimed is None:
            continue
        ours, compared = _sum(values, how), compared + 1
        if not math.isclose(ours, claimed, rel_tol=CLOSE, abs_tol=CLOSE):
            differs = True
            told.disagreements.append(f"{setting}: {name} is {claimed!r}; the {n} seeds that are here give {ours!r}")
    if compared and not differs:
        told.facts.append(f"{setting}: agrees with the {n} seeds that are here")
    claimed = real(row.get(HACKED))
    if compared and claimed is not None and all(EMPTY in seed for seed in seeds):
        ours = sum(seed[EMPTY] == 1 for seed in seeds)
        told.facts.append(
            f"{setting}: {HACKED} is {claimed:g}; of the {n} seeds that are here, {ours} gave only empty answers"
        )
    return compared > 0


def check_stored(numbers: Numbers, setting: str, seeds: Sequence[Numbers], told: ImportReport) -> bool:
    """Compare the numbers of an aggregate that is stored, by series key, with those of its seeds, as `check` does."""
    row = {name: numbers[key] for name in (*CHECKED, HACKED) for key in _values({name: 1.0}) if key in numbers}
    return check(row, setting, seeds, told)


def _sum(values: NDArray[np.float64], how: str) -> float:
    with np.errstate(all="ignore"):
        return float(values.mean() if how == "mean" else values.std())


def _means(row: Mapping[str, Any]) -> list[str]:
    return [name for name, value in row.items() if real(value) is not None and any(word in name for word in WORDS)]


def _settings(row: Mapping[str, Any]) -> dict[str, Any]:
    return {canonical(name): value for name, value in row.items() if name in SETTINGS}


def _values(row: Mapping[str, Any]) -> dict[str, float]:
    """aggregate_reward_mean -> eval/reward_mean, mean_kl -> eval/kl_mean."""
    out: dict[str, float] = {}
    for name, value in row.items():
        if name not in SETTINGS and real(value) is not None:
            bare = name.removeprefix("aggregate_")
            for word in ("mean", "std"):
                bare = f"{bare.removeprefix(f'{word}_')}_{word}" if bare.startswith(f"{word}_") else bare
            key = NAMES.get(name, f"eval/{bare}")
            out |= {key: float(value)} if vocabulary.is_usable(key) else {}
    return out


def _note(row: Mapping[str, Any]) -> str:
    n = next((row[name] for name in NAMES if real(row.get(name)) is not None), None)
    over = f"{n:g} seeds" if n is not None else "seeds whose number the file does not say"
    return f"A mean over {over}, not a training: eval/…_std is the deviation between seeds as the file gives it."
