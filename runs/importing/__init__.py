"""Files of other programs -> runs: logs, evaluations, reports, trainer states, event files. Read, never trusted."""

from runs.importing.budget import Budget
from runs.importing.doing import Imported, bring_in, told
from runs.importing.files import File, Refused
from runs.importing.keeping import ImportTarget, Outcome
from runs.importing.reading import KINDS, NOTHING_READ
from runs.importing.reports import KIND as REPORT
from runs.importing.uploads import limits, of_uploads, too_much
from runs.importing.walking import of_path, of_upload

__all__ = [
    "KINDS",
    "NOTHING_READ",
    "REPORT",
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
