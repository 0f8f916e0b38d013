"""Audits of rewards: what attacks get from the reward of a task, on the pages of audits, trainings and launches.

A training has no audit of its own: it shows the newest one of its task, by the values of the task's options.
"""

from runs.reward_audits.queries import AuditResult, find_audit, read_audit
from runs.reward_audits.run_page import reward_audit_context

__all__ = ["AuditResult", "find_audit", "read_audit", "reward_audit_context"]
