"""Addresses of audits."""

from __future__ import annotations

from django.urls import path

from runs.reward_audits.views import launch_audit, launch_audit_line, run_audit, run_audit_chart, run_audit_table

urlpatterns = [
    path("runs/<slug:uid>/audit/", run_audit, name="run-audit"),
    path("runs/<slug:uid>/audit/chart/", run_audit_chart, name="run-audit-chart"),
    path("runs/<slug:uid>/audit/table/", run_audit_table, name="run-audit-table"),
    path("experiments/<int:pk>/launch/audit/", launch_audit, name="launch-audit"),
    path("experiments/<int:pk>/launch/audit/line/", launch_audit_line, name="launch-audit-line"),
]
