"""Accompaniment of a run: reports of its machine, and records pushed to a server. The run's files are authoritative."""

from workers.client.machine import environment
from workers.client.push import push_records
from workers.client.sampler import record_usage

__all__ = ["environment", "push_records", "record_usage"]
