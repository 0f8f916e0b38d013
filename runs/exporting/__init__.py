"""Export runs as folders of attempts, which other programs read and another esweb imports.

The archive of an experiment is composed in `esweb.experiment_archives`, which adds what judging has.
"""

from runs.exporting.attempt_folder import Parts
from runs.exporting.forms import read_parts
from runs.exporting.run_export import ZIP, run_archive, run_members, send_archive, text_members
from runs.exporting.schemas import ExportSizeOut
from runs.exporting.size import ExportSize, export_size
from runs.exporting.zip_stream import Member, zip_pieces

__all__ = [
    "ZIP",
    "ExportSize",
    "ExportSizeOut",
    "Member",
    "Parts",
    "export_size",
    "read_parts",
    "run_archive",
    "run_members",
    "send_archive",
    "text_members",
    "zip_pieces",
]
