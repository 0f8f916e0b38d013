"""Import judgments from files into a tournament, and export a tournament's verdicts as files."""

from judging.exchange.exporter import (
    FORMS,
    JSONL,
    ExportOptions,
    ExportRefused,
    assignment_transcript_lines,
    check_export,
    count_without_scores,
    export_lines,
    export_response,
    file_name,
    stream_file,
    tournament_setup,
    transcript_lines,
)
from judging.exchange.files import FORMATS_READ, MAX_FILE_BYTES, MAX_UPLOAD_BYTES, MB
from judging.exchange.importer import File, FileReport, ImportResult, import_judgment_files
from judging.exchange.target import ImportTarget
from judging.exchange.tournament_files import (
    JUDGMENTS,
    ExportedTournament,
    experiment_tournaments,
    import_tournament,
)

__all__ = [
    "FORMATS_READ",
    "FORMS",
    "JSONL",
    "JUDGMENTS",
    "MAX_FILE_BYTES",
    "MAX_UPLOAD_BYTES",
    "MB",
    "ExportOptions",
    "ExportRefused",
    "ExportedTournament",
    "File",
    "FileReport",
    "ImportResult",
    "ImportTarget",
    "assignment_transcript_lines",
    "check_export",
    "count_without_scores",
    "experiment_tournaments",
    "export_lines",
    "export_response",
    "file_name",
    "import_judgment_files",
    "import_tournament",
    "stream_file",
    "tournament_setup",
    "transcript_lines",
]
