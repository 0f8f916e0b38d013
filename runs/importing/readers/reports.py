"""Read the JSON of a report: a row per setting, each the mean and spread over its seeds.

If the seeds of a setting were imported from their own evaluations, the row is compared with them and creates nothing.
Each other row becomes an aggregate: a run tagged `aggregate` with keys eval/…, so that no comparison takes a mean over
seeds for a seed. If the seeds are imported later, the aggregate is compared then, and moved to the trash.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runs.importing import vocabulary
from runs.importing.hyperparameters import canonical_name, settings_from_name
from runs.importing.numbers import json_number
from runs.importing.records import STEP, Entry, ImportedRun, ImportReport, SeedSums
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
"""Sum of a row -> (key of the seeds' numbers, statistic); std is the population's, over the seeds."""
HACKED, EMPTY = "num_seeds_hacked_reward", "response/empty_ratio"
"""Name of the count of hacked seeds, and our key: the reports' scripts call a seed hacked if all answers are empty."""
TOLERANCE = 1e-9
Numbers: TypeAlias = Mapping[str, float]


def is_report(value: Any) -> bool:
    """Return whether this is the JSON of a report: a list of rows with means."""
    return isinstance(value, list) and any(isinstance(row, dict) and _means(row) for row in value)


def entries(rows: Sequence[Any], name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the aggregate of each setting, with its sums: whoever stores it compares them with imported seeds."""
    for part, row in enumerate(rows):
        if not isinstance(row, dict) or not _means(row):
            report.add_remark(f"row {part}", "contains no mean over seeds: omitted")
            continue
        settings = _settings(row)
        guess = "grpo" if "beta" in settings else "es" if "sigma" in settings else ""
        method = vocabulary.slug(str(row.get("algorithm") or guess))[:20]
        label = ", ".join(
            f"{key}={number:g}" for key, value in settings.items() if (number := json_number(value)) is not None
        )
        run = ImportedRun(
            part, KIND, method, settings=settings_from_name(name) | settings, state=State.SUCCEEDED, tags=(TAG,)
        )
        run.suffix, run.note = ", mean over seeds", _note(row)
        yield Entry(run, Metric(STEP, _values(row)), sums=SeedSums(method, settings, row, label))


def is_compared(sums: SeedSums, seeds: Sequence[Numbers], report: ImportReport) -> bool:
    """Compare a row with the last numbers of each imported seed of its settings. Return whether anything could be."""
    return bool(seeds) and check(sums.row, sums.label, seeds, report)


def check(row: Mapping[str, Any], setting: str, seeds: Sequence[Numbers], report: ImportReport) -> bool:
    """Compare the sums of a report's row with those of the imported seeds, by the names of the file.

    Return whether anything could be compared.
    """
    n, compared, differs = len(seeds), 0, False
    for name, (key, statistic) in CHECKED.items():
        values = np.array([seed[key] for seed in seeds if key in seed])
        claimed = json_number(row.get(name))
        if len(values) != n or claimed is None:
            continue
        computed, compared = _sum(values, statistic), compared + 1
        if not math.isclose(computed, claimed, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            differs = True
            report.disagreements.append(f"{setting}: {name} is {claimed!r}; the {n} imported seeds give {computed!r}")
    if compared and not differs:
        report.facts.append(f"{setting}: agrees with the {n} imported seeds")
    claimed = json_number(row.get(HACKED))
    if compared and claimed is not None and all(EMPTY in seed for seed in seeds):
        computed = sum(seed[EMPTY] == 1 for seed in seeds)
        report.facts.append(
            f"{setting}: {HACKED} is {claimed:g}; of the {n} imported seeds, {computed} gave only empty responses"
        )
    return compared > 0


def check_stored(numbers: Numbers, setting: str, seeds: Sequence[Numbers], report: ImportReport) -> bool:
    """Compare the numbers of an aggregate that is stored, by series key, with those of its seeds, as `check` does."""
    row = {name: numbers[key] for name in (*CHECKED, HACKED) for key in _values({name: 1.0}) if key in numbers}
    return check(row, setting, seeds, report)


def _sum(values: NDArray[np.float64], statistic: str) -> float:
    with np.errstate(all="ignore"):
        return float(values.mean() if statistic == "mean" else values.std())


def _means(row: Mapping[str, Any]) -> list[str]:
    return [
        name for name, value in row.items() if json_number(value) is not None and any(word in name for word in WORDS)
    ]


def _settings(row: Mapping[str, Any]) -> dict[str, Any]:
    return {canonical_name(name): value for name, value in row.items() if name in SETTINGS}


def _values(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the row's numbers by our keys: aggregate_reward_mean -> eval/reward_mean, mean_kl -> eval/kl_mean."""
    out: dict[str, float] = {}
    for name, value in row.items():
        if name not in SETTINGS and json_number(value) is not None:
            bare = name.removeprefix("aggregate_")
            for word in ("mean", "std"):
                bare = f"{bare.removeprefix(f'{word}_')}_{word}" if bare.startswith(f"{word}_") else bare
            key = NAMES.get(name, f"eval/{bare}")
            out |= {key: float(value)} if vocabulary.is_usable(key) else {}
    return out


def _note(row: Mapping[str, Any]) -> str:
    n = next((row[name] for name in NAMES if json_number(row.get(name)) is not None), None)
    over = f"{n:g} seeds" if n is not None else "an unknown number of seeds"
    return f"A mean over {over}, not a training: eval/…_std is the standard deviation between seeds from the file."
