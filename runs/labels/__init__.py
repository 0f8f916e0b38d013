"""Gold labels: people label responses without seeing their run, compare their readings and decide where they differ."""

from runs.labels.csv_import import MAX_UPLOAD_BYTES

__all__ = ["MAX_UPLOAD_BYTES"]
