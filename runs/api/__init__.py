"""The REST API: launch, watch and read runs, and push their records. `esweb.api` mounts it at /api/v1/."""

from runs.api import answers, checkpoints, experiments, launching, reading, records
from runs.api.routes import router

__all__ = ["answers", "checkpoints", "experiments", "launching", "reading", "records", "router"]
