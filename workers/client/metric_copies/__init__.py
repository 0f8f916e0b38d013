"""Copies of a run's metrics for TensorBoard and Weights & Biases. The run's files are authoritative.

One process per logger reads the files of records while the run trains, so that neither a slow nor a failing logger
reaches the training. What a logger has not received is counted, reported by an alert, and copied by the next start.
"""

from workers.client.metric_copies.copy_process import copy_metrics
from workers.client.metric_copies.loggers import LOGGERS, Logger

__all__ = ["LOGGERS", "Logger", "copy_metrics"]
