"""Runs and curves for charts, without a database."""

from __future__ import annotations

import json
from itertools import count

import numpy as np

from runs.charts.groups import IGNORED_KEYS
from runs.metrics import Curve
from runs.models import Run
from workers.config import RunConfig, preset

ids = count(1)


def unsaved_run(name: str, seed: int = 0, **changes) -> Run:
    """Return an unsaved run from a preset; `changes` go into its method's section."""
    config = RunConfig.from_json({**preset(name).config, "seed": seed}).to_json()
    config[config["method"]] |= changes
    pk, shared = next(ids), {key: value for key, value in config.items() if key not in IGNORED_KEYS}
    return Run(
        pk=pk, uid=f"run{pk:07d}", name=f"{name} {seed}", preset=name, method=config["method"], seed=seed,
        config=config, recipe=json.dumps(shared),
    )  # fmt: skip


def curve(run: Run, key: str, y, x=None, overwritten=None) -> Curve:
    """Return a curve of a run, with a point every five steps unless `x` is given."""
    values = np.array(y, float)
    grey = np.zeros(len(values), bool) if overwritten is None else np.array(overwritten)
    return Curve(
        run.pk, key, np.arange(len(values)) * 5.0 if x is None else np.array(x, float), values, grey, len(values)
    )
