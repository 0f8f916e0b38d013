"""Gold labels: people label responses without seeing their run, compare their readings and decide where they differ."""

from runs.labels.csv_import import MAX_UPLOAD_BYTES, CannotImport
from runs.labels.files import import_label_file, label_file_lines, unlabelled_count

__all__ = ["MAX_UPLOAD_BYTES", "CannotImport", "import_label_file", "label_file_lines", "unlabelled_count"]
