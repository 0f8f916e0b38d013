"""Import files of other programs as runs: logs, evaluations, reports, trainer states, event files. None is trusted."""

from runs.importing.budget import Budget
from runs.importing.files import File, RefusedFile
from runs.importing.readers.reports import KIND as REPORT
from runs.importing.run_import import ImportResult, import_runs
from runs.importing.scan import files_from_path, files_from_upload
from runs.importing.schemas import ImportedOut
from runs.importing.server_folders import follow_paths
from runs.importing.source_kinds import KINDS, NOTHING_READ
from runs.importing.store import ImportTarget, Outcome
from runs.importing.uploads import MAX_UPLOAD_BYTES, import_uploads, upload_limits, upload_problem

__all__ = [
    "KINDS",
    "MAX_UPLOAD_BYTES",
    "NOTHING_READ",
    "REPORT",
    "Budget",
    "File",
    "ImportResult",
    "ImportTarget",
    "ImportedOut",
    "Outcome",
    "RefusedFile",
    "files_from_path",
    "files_from_upload",
    "follow_paths",
    "import_runs",
    "import_uploads",
    "upload_limits",
    "upload_problem",
]
