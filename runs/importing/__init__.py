"""Files of other programs -> runs: logs, evaluations, reports, trainer states, event files. Read, never trusted."""

from runs.importing.budget import Budget
from runs.importing.detect_format import KINDS, NOTHING_READ
from runs.importing.files import File, Refused
from runs.importing.readers.reports import KIND as REPORT
from runs.importing.run_import import Imported, bring_in, told
from runs.importing.scan import of_path, of_upload
from runs.importing.store import ImportTarget, Outcome
from runs.importing.uploads import UPLOAD_AT_MOST, limits, of_uploads, too_much

__all__ = [
    "KINDS",
    "NOTHING_READ",
    "REPORT",
    "UPLOAD_AT_MOST",
    "Budget",
    "File",
    "ImportTarget",
    "Imported",
    "Outcome",
    "Refused",
    "bring_in",
    "limits",
    "of_path",
    "of_upload",
    "of_uploads",
    "told",
    "too_much",
]
