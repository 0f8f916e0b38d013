"""The audit on the page of a run: its results if the run is one, else the newest audit of a training's task."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from runs.models import Run
from runs.reward_audits.charts import audit_chart
from runs.reward_audits.queries import BLIND_SPOTS, SKIPPED, UNEARNED, AuditResult, find_audit, read_audit
from runs.reward_audits.tables import attack_table, example_table, worst_links
from workers.config import ConfigError
from workers.reward_audit.measures import CONTROL

MAX_EXAMPLES = 12


def reward_audit_context(run: Run, person: User) -> dict[str, Any]:
    """Return the results of an audit, or else the line of a training; an empty dict for other runs."""
    if run.kind.has_attack_results:
        return results_context(read_audit(run))
    if not run.kind.can_be_examined:
        return {}
    try:
        task = run.run_config.task
    except ConfigError:
        return {}
    return {"audit_line": audit_line(find_audit(task, person))}


def results_context(result: AuditResult) -> dict[str, Any]:
    """Return what shows all results of an audit."""
    if not result.attacks:
        return {"audit": result}
    gaining = [attack for attack in result.ranked if attack.verdict != CONTROL]
    examples = example_table(gaining)
    return {
        "audit": result, "audit_chart": audit_chart(result), "attacks": attack_table(result.ranked),
        "exploitability": result.exploitability, "unearned": result.figure(UNEARNED),
        "blind_spots": result.figure(BLIND_SPOTS), "skipped_attacks": int(result.values.get(SKIPPED, 0)),
        "attack_examples": examples if examples.rows else None,
    }  # fmt: skip


def audit_line(run: Run | None) -> dict[str, Any]:
    """Return what a line about the newest audit of a task needs; `run` is None if there is none."""
    if run is None:
        return {"run": None}
    result = read_audit(run)
    return {
        "run": run, "result": result, "exploitability": result.exploitability, "worst": worst_links(result),
        "is_open": run.is_open, "blind_spots": result.blind_spot_count,
    }  # fmt: skip
