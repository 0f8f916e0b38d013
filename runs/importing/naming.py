"""What an imported run is called: its method, what tells its recipe apart, its seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs.importing.found import UNKNOWN_SEED, Found

LONGEST = 200
SHOWN = {"alpha": "α", "sigma": "σ", "beta": "β", "learning_rate": "lr "}
TELLING = {"es": ("alpha", "sigma"), "grpo": ("beta",)}


def name_of(found: Found, config: Mapping[str, Any], file: str) -> str:
    """`es α0.0005 σ0.001 seed 0`; the file's own name where it says none of these."""
    knobs = config.get(found.method)
    values = knobs if isinstance(knobs, Mapping) else {}
    told = [f"{SHOWN[name]}{values[name]:g}" for name in TELLING.get(found.method, ()) if name in values]
    if not told:
        shown = file if len(file) < LONGEST // 2 else f"…{file[-LONGEST // 2 :]}"
        told = [shown]
    seed = [f"seed {found.seed}"] if found.seed != UNKNOWN_SEED else []
    method = [found.method] if found.method in TELLING else []
    return (" ".join([*method, *told, *seed]) + found.suffix)[:LONGEST]
