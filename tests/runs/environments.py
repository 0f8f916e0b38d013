"""Attempts with a reported environment."""

from __future__ import annotations

from runs.models import Attempt, PackageSet

H100 = {"name": "NVIDIA H100", "memory_mb": 81_920, "uuid": "GPU-a"}
ENVIRONMENT = {
    "epoch": 0, "node": "node7", "os": "Debian 12", "python": "CPython 3.11.7", "cpu": "EPYC", "cores": 8,
    "memory_mb": 64_000, "driver": "550", "cuda": "12.4", "code": "ab" * 32, "gpus": [H100],
}  # fmt: skip
VERSIONS = {"torch": "2.9.1", "numpy": "2.3.0"}


def report_environment(attempt: Attempt, versions: dict[str, str] | None = None, **changes: object) -> Attempt:
    """Return the attempt with its reported environment."""
    digest = PackageSet.objects.store(versions if versions is not None else VERSIONS)
    Attempt.objects.filter(pk=attempt.pk).update(environment={**ENVIRONMENT, "packages": digest, **changes})
    return Attempt.objects.get(pk=attempt.pk)
