"""The REST API: launch, watch and read runs, and push their records. `esweb.api` mounts it at /api/v1/."""

from runs.api import (
    answers,
    attempts,
    checkpoints,
    clusters,
    costs,
    experiments,
    imports,
    keeping,
    launching,
    queue,
    reading,
    records,
    saved_views,
    scorings,
    services,
    sweeps,
    tokens,
)
from runs.api.routes import router

__all__ = [
    "answers",
    "attempts",
    "checkpoints",
    "clusters",
    "costs",
    "experiments",
    "imports",
    "keeping",
    "launching",
    "queue",
    "reading",
    "records",
    "router",
    "saved_views",
    "scorings",
    "services",
    "sweeps",
    "tokens",
]
