"""Find the folders of attempts among the files of an import, and put those of one run together, in their order.

A folder belongs to an attempt if it has records of ours. Its name may state a run and a number; both are only labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from runs.importing.files import File, natural_key
from runs.importing.records import ImportReport, Remark
from runs.importing.run_folders.attempt_folder import AttemptFolder
from runs.importing.run_folders.record_files import RecordPiece, read_pieces
from runs.models import RUN_FOLDER
from runs.models.attempt_files import (
    ATTEMPT_NAME,
    CHECKPOINT_FILE,
    CHECKPOINTS,
    COPIED_FILES,
    EXPERIMENT_FILE,
    EXPERIMENT_FOLDERS,
    EXPORT_FILES,
    MAX_EPOCH,
    OWN_FOLDERS,
    PROCESS_FILES,
    READ_FILES,
    RECORDS_NAME,
    SECRET_FILES,
    STEP_NAME,
)
from workers.attempt import RUN_CONFIG
from workers.records import BadLine, unpack

KIND = RUN_FOLDER
HEAD_BYTES = 256 * 1024
MAX_HEAD_LINES = 20
"""Lines of a records file in which a record of ours is looked for: a damaged first line must not hide the others."""
OTHER_FILE = "is no file of a run of esweb: not read"
SECRET = "may hold a token: not read"  # noqa: S105
NOT_OF_A_CHECKPOINT = "is not among the files of a checkpoint that are imported: left out"


@dataclass
class RunFolder:
    """A source: the folders of the attempts of one run, in their order. `uid`: the one in their names, empty without.

    `left_out`: files of these folders that are neither read nor copied, with the reason.
    """

    name: str
    uid: str
    attempts: list[AttemptFolder]
    left_out: list[Remark] = field(default_factory=list)
    kind: str = KIND

    @property
    def files(self) -> Sequence[File]:
        return [file for attempt in self.attempts for file in (*attempt.records.values(), *attempt.files.values())]

    @property
    def modified_at(self) -> float | None:
        """Return the time of the last change of the records in Unix seconds; None if it is unknown."""
        times = [file.modified_at for attempt in self.attempts for file in attempt.records.values()]
        return max((time for time in times if time is not None), default=None)

    def pieces(self, report: ImportReport) -> Iterator[RecordPiece]:
        """Yield the records, attempt by attempt, and report what cannot be read. Raise OSError."""
        for attempt in self.attempts:
            yield from read_pieces(attempt, report)


def is_attempt_file(name: str) -> bool:
    """Return whether a file of this name is read or copied as a file of an attempt if records of ours are beside it:
    such a file is taken as it is, without a guess at its content."""
    path = PurePosixPath(name)
    if RECORDS_NAME.fullmatch(path.name) or path.name in (*READ_FILES, *COPIED_FILES):
        return True
    return any(_is_of_checkpoint("/".join(path.parts[i:])) for i, part in enumerate(path.parts) if part == CHECKPOINTS)


def find_run_folders(files: Iterable[File]) -> tuple[list[RunFolder], list[File]]:
    """Return the runs in these files, and the files that belong to none. Raise OSError.

    The other files of an experiment's archive are left out: they are read where the archive is imported as a whole.
    """
    listed = _without_archive_parts(list(files))
    inside: dict[str, list[File]] = {}
    for file in listed:
        inside.setdefault(file.folder, []).append(file)
    ours = {folder for folder, siblings in inside.items() if _has_records(siblings)}
    return assemble(listed, ours) if ours else ([], listed)


def _without_archive_parts(files: list[File]) -> list[File]:
    """Return the files without those that belong to the archive of an experiment and to none of its runs."""
    tops = {file.folder for file in files if _base(file.name) == EXPERIMENT_FILE}
    own = {f"{top}/{name}" for top in tops for name in (EXPERIMENT_FILE, *EXPORT_FILES)}
    folders = tuple(f"{top}/{name}/" for top in tops for name in EXPERIMENT_FOLDERS)
    return [file for file in files if file.name not in own and not (folders and file.name.startswith(folders))]


def assemble(files: Iterable[File], folders: set[str] | None = None) -> tuple[list[RunFolder], list[File]]:
    """Return the runs with attempts in these folders, by default all that have records, and the files of no attempt."""
    listed = list(files)
    names = {file.folder for file in listed if RECORDS_NAME.fullmatch(_base(file.name))} if folders is None else folders
    attempts = {name: AttemptFolder(_attempt_of(name)[1], name) for name in sorted(names, key=natural_key)}
    above = {str(PurePosixPath(name).parent) for name in attempts}
    left_out: dict[str, list[Remark]] = {name: [] for name in attempts}
    rest: list[File] = []
    for file in listed:
        folder = next((name for name in _folders_above(file.name) if name in attempts), None)
        is_taken = folder is not None and _take(attempts[folder], file, left_out[folder])
        if not is_taken and not (_base(file.name) in EXPORT_FILES and file.folder in above):
            rest.append(file)
    return list(_by_run(attempts, left_out)), rest


def _by_run(attempts: dict[str, AttemptFolder], left_out: dict[str, list[Remark]]) -> Iterator[RunFolder]:
    together: dict[tuple[str, str], list[str]] = {}
    for name in attempts:
        uid, _ = _attempt_of(name)
        together.setdefault((str(PurePosixPath(name).parent), uid) if uid else (name, ""), []).append(name)
    for (parent, uid), names in together.items():
        ordered = sorted((attempts[name] for name in names), key=lambda attempt: attempt.n)
        remarks = [remark for name in names for remark in left_out[name]]
        is_one = len(ordered) == 1
        name = ordered[0].name if is_one else f"{parent}/esweb-{uid} ({len(ordered)} attempts)"
        yield RunFolder(name.removeprefix("./"), uid, ordered, remarks)


def _take(attempt: AttemptFolder, file: File, left_out: list[Remark]) -> bool:
    """Add a file to its attempt, or to those that are left out. Return False if another reader may read it."""
    path = file.name.removeprefix(f"{attempt.name}/")
    parts = path.split("/")
    if len(parts) == 1 and (records := RECORDS_NAME.fullmatch(path)):
        epoch = int(records[1][:12])
        if epoch > MAX_EPOCH or str(epoch) != records[1]:
            left_out.append(Remark(file.name, f"the epoch must be 0 to {MAX_EPOCH}, without zeros before it: not read"))
        else:
            attempt.records[epoch] = file
    elif path in (*READ_FILES, *COPIED_FILES) or _is_of_checkpoint(path):
        attempt.files[path] = file
    elif parts[-1] in SECRET_FILES:
        left_out.append(Remark(file.name, SECRET))
    elif parts[0] == CHECKPOINTS:
        left_out.append(Remark(file.name, f"{NOT_OF_A_CHECKPOINT} ({file.size} bytes)"))
    elif len(parts) == 1 and path not in PROCESS_FILES:
        left_out.append(Remark(file.name, f"{OTHER_FILE} ({file.size} bytes)"))
    return len(parts) == 1 or parts[0] == CHECKPOINTS or OWN_FOLDERS.fullmatch(parts[0]) is not None


def _is_of_checkpoint(path: str) -> bool:
    """Return whether a path in an attempt's folder is that of a file of a checkpoint."""
    top, _, rest = path.partition("/")
    step, _, name = rest.partition("/")
    return top == CHECKPOINTS and bool(STEP_NAME.fullmatch(step) and CHECKPOINT_FILE.fullmatch(name))


def _has_records(inside: Sequence[File]) -> bool:
    """Return whether the files of a folder have records of ours, or a config beside some that are too damaged to
    tell."""
    records = [file for file in inside if RECORDS_NAME.fullmatch(_base(file.name))]
    if not records:
        return False
    return any(_base(file.name) == RUN_CONFIG for file in inside) or any(map(_begins_with_records, records))


def _begins_with_records(file: File) -> bool:
    return any(map(_is_record, file.head(HEAD_BYTES).split(b"\n")[:-1][:MAX_HEAD_LINES]))


def _is_record(line: bytes) -> bool:
    try:
        unpack(line)
    except BadLine:
        return False
    return True


def _attempt_of(folder: str) -> tuple[str, int]:
    """Return (uid, number) of a folder of an attempt; ("", 1) if its name states none."""
    named = ATTEMPT_NAME.fullmatch(_base(folder))
    return (named[1], int(named[2])) if named else ("", 1)


def _folders_above(name: str) -> Iterator[str]:
    """Yield the folders that hold a file, the nearest one first."""
    return (str(parent) for parent in PurePosixPath(name).parents)


def _base(name: str) -> str:
    return name.rpartition("/")[2]
