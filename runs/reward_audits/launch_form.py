"""The audit of the task that a launch form describes, whatever method the form has selected."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import QueryDict

from runs.kinds import AUDIT
from runs.launching.config_form import LaunchForm
from workers.config import RunConfig
from workers.config.methods import method_of

WITHOUT_MODEL = {
    "preset": "", "name": "", "seeds": "0", "audit.prompts": "32", "audit.seconds": "600", "audit.samples": "0",
    "audit.members": "0", "compute.nodes": "1", "compute.cores": "1", "compute.gpus": "0", "compute.gpu_type": "",
    "compute.memory_mb": "0", "compute.restarts": "0",
}  # fmt: skip
"""Fields of an audit without a model: it needs neither GPUs nor the names and seeds of the runs that are launched."""


@dataclass(frozen=True)
class AuditRequest:
    """The config of the audit, None with the problems that prevent it. is_offered: whether the form launches a
    training, whose reward can be audited."""

    config: RunConfig | None
    problems: tuple[str, ...] = ()
    is_offered: bool = True


def read_request(posted: QueryDict) -> AuditRequest:
    """Return the audit of the task of a posted launch form."""
    if not method_of(posted.get("method", "")).is_training:
        return AuditRequest(None, is_offered=False)
    data = {**posted.dict(), "method": AUDIT.method, **WITHOUT_MODEL}
    form = LaunchForm(data)
    if not form.is_valid():
        return AuditRequest(None, tuple(f"{name}: {errors[0]}" for name, errors in form.errors.items()))
    return AuditRequest(form.configs[0])
