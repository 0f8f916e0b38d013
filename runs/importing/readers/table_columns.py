"""Roles of the columns of a table by their names: steps, totals, times, runs, and metrics of runs side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import Enum

from runs.importing.hyperparameters import canonical_name
from runs.importing.readers.table_records import RUN_SEPARATOR
from runs.importing.steps import STEP_NAMES, TOTAL_NAMES

RUN_NAMES = (
    "run_name", "run", "display_name", "trial_name", "trial", "variant", "run_id", "runid", "trial_id", "wandb_run",
)  # fmt: skip
"""Names of columns that name a run; the first one of a table is its label."""
EXPERIMENT_NAMES = ("experiment_name", "experiment", "exp_name", "exp", "experiment_id")
METHOD_NAMES = ("method", "algorithm", "algo", "train/method", "train/algorithm")
SEED_NAMES = ("seed", "random_seed", "global_seed", "initial_seed", "run_seed")
MODEL_NAMES = ("model", "model_name", "base_model", "model_name_or_path")
TIMES = ("_timestamp", "wall time", "wall_time", "timestamp")
"""Unix seconds, or ISO 8601. W&B calls its `_timestamp` Wall Time in charts, and its `_runtime` Relative Time."""
RUNTIMES = ("_runtime", "relative time (process)", "relative time (wall)", "_absolute_runtime")
"""Seconds since the run began."""
METRIC_NAMES = ("metric", "metric_name", "tag", "key", "variable", "measure", "name")
"""Names of the column of a long table that names what the column `value` holds."""
VALUE_NAME = "value"
HYPERPARAMETERS = ("alpha", "sigma", "beta", "population", "learning_rate", "temperature", "num_generations")
"""Settings in a run's config, if its column has one value in all rows of the run."""
LOW, HIGH = "__MIN", "__MAX"
"""Ends of the columns that W&B adds for the range of a metric within a bucket, or over the runs of a group."""


class Role(Enum):
    """Role of a column, by what it holds."""

    SERIES = "numbers by step"
    STEP = "step"
    TOTAL = "step at which the run is to end"
    RUN = "name of a run"
    EXPERIMENT = "name of an experiment"
    METHOD = "method"
    SEED = "seed"
    MODEL = "model"
    TIME = "time"
    RUNTIME = "seconds since the run began"


IDENTITY = (Role.EXPERIMENT, Role.RUN, Role.METHOD, Role.MODEL, Role.SEED)
"""Roles that distinguish runs, in the order of a run's name."""
ROLES = {
    **dict.fromkeys(STEP_NAMES, Role.STEP),
    **dict.fromkeys(TOTAL_NAMES, Role.TOTAL),
    **dict.fromkeys(RUN_NAMES, Role.RUN),
    **dict.fromkeys(EXPERIMENT_NAMES, Role.EXPERIMENT),
    **dict.fromkeys(METHOD_NAMES, Role.METHOD),
    **dict.fromkeys(SEED_NAMES, Role.SEED),
    **dict.fromkeys(MODEL_NAMES, Role.MODEL),
    **dict.fromkeys(TIMES, Role.TIME),
    **dict.fromkeys(RUNTIMES, Role.RUNTIME),
}
IDENTITY_NAMES = {name for name, role in ROLES.items() if role in IDENTITY}


def role_of(column: str) -> Role:
    """Return what a column holds, by its name in any case: `Run ID` and `run_id` are one name."""
    name = column.strip().lower()
    if name in ROLES:
        return ROLES[name]
    plain = plain_name(column)
    return ROLES[plain] if plain in IDENTITY_NAMES else Role.SERIES


def identity_role_of(column: str) -> Role:
    """Return the role of a column that tells runs apart: it names them if its own name says nothing else."""
    role = role_of(column)
    return role if role in IDENTITY else Role.RUN


def plain_name(column: str) -> str:
    """Return a column's name in lower case, with underscores for spaces, dots and dashes."""
    name = column.strip().lower().removeprefix("config/")
    return name.replace(" ", "_").replace("-", "_").replace(".", "_")


def hyperparameter_of(column: str) -> str:
    """Return the hyperparameter that a column is named after; empty if there is none."""
    name = canonical_name(column.strip().lower().removeprefix("config/"))
    return name if name in HYPERPARAMETERS else ""


def chart_columns(columns: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return (run, metric) of each column of a chart that W&B exported, `run - metric`; empty for any other table.

    A dash alone is no proof, so either `run - metric__MIN` and `__MAX` are there too, or nothing but a metric that
    several runs share, beside steps and times.
    """
    split = {column: column.rpartition(RUN_SEPARATOR) for column in columns}
    chart = {column: (run.strip(), metric) for column, (run, _, metric) in split.items() if run.strip() and metric}
    if any({f"{column}{LOW}", f"{column}{HIGH}"} <= chart.keys() for column in chart):
        return chart
    runs = defaultdict[str, set[str]](set)
    for run, metric in chart.values():
        runs[metric].add(run)
    are_others_axes = all(role_of(column) is not Role.SERIES for column in columns if column not in chart)
    return chart if are_others_axes and any(len(shared) > 1 for shared in runs.values()) else {}


def long_columns(columns: Sequence[str]) -> tuple[str, str]:
    """Return the columns of names and values of a table with a row for each value; two empty texts for any other."""
    names = {column.strip().lower(): column for column in columns}
    metric = next((names[name] for name in METRIC_NAMES if name in names), "")
    return (metric, names[VALUE_NAME]) if metric and VALUE_NAME in names else ("", "")
