"""Test a cluster with a real job, step by step, and report each step."""

from runs.clusters.connection_test.commands import advance_test, advance_tests, begin_test, report_steps, start_test
from runs.clusters.connection_test.views import cluster_test, cluster_test_steps, test_context

__all__ = [
    "advance_test",
    "advance_tests",
    "begin_test",
    "cluster_test",
    "cluster_test_steps",
    "report_steps",
    "start_test",
    "test_context",
]
