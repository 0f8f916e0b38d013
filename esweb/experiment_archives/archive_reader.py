"""Read the small files of an experiment's archive: its document, its labels and its judgments. The runs are read by
`runs.importing`.

The archive may be anybody's. Nothing is unpacked under its own name, and every file has a limit.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import BinaryIO

from esweb.experiment_archives.document import ExperimentFacts
from runs.models.attempt_files import EXPERIMENT_FILE
from workers.config.shallow_json import loads
from workers.site_facts import BadSiteFacts

MB = 1 << 20
MAX_DOCUMENT_BYTES, MAX_LIST_BYTES, MAX_MEMBERS = 16 * MB, 16 * MB, 50_000
END, END_BYTES, MAX_COMMENT_BYTES = b"PK\x05\x06", 22, 65_535
COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""zipfile inflates others without any limit."""
DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, struct.error, NotImplementedError)


class BadArchive(ValueError):
    """Error for a file that is no archive of an experiment. The message is a sentence for the user."""


class ExperimentArchive:
    """An open archive: its document, and its other files by their names in it."""

    def __init__(self, file: BinaryIO, archive: zipfile.ZipFile) -> None:
        self._file, self._archive = file, archive
        names = [info for info in archive.infolist() if info.filename.rpartition("/")[2] == EXPERIMENT_FILE]
        if len(names) != 1:
            counted = f"{len(names)} files" if names else "no file"
            raise BadArchive(f"The archive has {counted} named {EXPERIMENT_FILE}; an export of an experiment has one.")
        self._folder = names[0].filename.removesuffix(EXPERIMENT_FILE)
        try:
            self.facts = ExperimentFacts.from_json(loads(self._read(names[0], MAX_DOCUMENT_BYTES)))
        except (BadSiteFacts, ValueError) as error:
            raise BadArchive(f"{EXPERIMENT_FILE} cannot be read: {error}"[:500]) from error

    @contextmanager
    def open(self, name: str, max_bytes: int) -> Iterator[BinaryIO]:
        """Yield a file of the archive, unpacked into a temporary file. Raise BadArchive if it is missing or damaged."""
        try:
            info = self._archive.getinfo(self._folder + name)
        except KeyError as error:
            raise BadArchive(f"{name[:100]} is missing in the archive.") from error
        with TemporaryFile() as unpacked:
            unpacked.write(self._read(info, max_bytes))
            unpacked.seek(0)
            yield unpacked

    def _read(self, info: zipfile.ZipInfo, max_bytes: int) -> bytes:
        if info.compress_type not in COMPRESSIONS or info.flag_bits & 1:
            raise BadArchive(f"{info.filename[:100]} is encrypted, or compressed by a method that is not read.")
        try:
            with self._archive.open(info) as member:
                data = member.read(max_bytes + 1)
        except DAMAGES as error:
            raise BadArchive(f"{info.filename[:100]} is damaged: {error}"[:300]) from error
        if len(data) > max_bytes:
            raise BadArchive(f"{info.filename[:100]} has more than {max_bytes // MB} MB.")
        return data


@contextmanager
def open_archive(file: BinaryIO) -> Iterator[ExperimentArchive]:
    """Open an archive. Raise BadArchive if it is none."""
    try:
        _check_list(file)
        with zipfile.ZipFile(file) as archive:
            yield ExperimentArchive(file, archive)
    except DAMAGES as error:
        raise BadArchive(f"The file is no zip archive: {error}"[:300]) from error


def _check_list(file: BinaryIO) -> None:
    """Raise BadArchive if the list of members is longer than an export's: zipfile reads the whole list into memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - END_BYTES - MAX_COMMENT_BYTES))
    tail = file.read()
    at = tail.rfind(END)
    if at < 0 or len(tail) < at + END_BYTES:
        raise BadArchive("The file is no zip archive.")
    count, length = struct.unpack_from("<HI", tail, at + 10)
    if count > MAX_MEMBERS or length > MAX_LIST_BYTES:
        raise BadArchive(f"The archive has {count} files; at most {MAX_MEMBERS} are read.")
