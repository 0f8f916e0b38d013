"""Files that were compressed by themselves, and texts of two bytes a character, are read as what is in them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from contextlib import ExitStack

from runs.importing import File, RefusedFile, files_from_upload
from runs.importing.detect_format import recognise_sources
from runs.importing.records import ImportReport
from tests.cases import each_case
from tests.runs.importing.sample_logs import iteration
from workers.records import Metric

COUNT = 500
ROWS = "".join(iteration(i, total=COUNT, mean=f"-{i}.50") for i in range(1, COUNT + 1))
LOG = ROWS.encode()
WIDE = "\ufeff" + ROWS.replace("\n", "\r\n")
PACKED = {
    "a.log.1.gz": (gzip.compress(LOG), "a.log.1"),
    "a.log.bz2": (bz2.compress(LOG), "a.log"),
    "a.xz": (lzma.compress(LOG), "a"),
    "two.log.gz": (gzip.compress(LOG[:999]) + gzip.compress(LOG[999:]), "two.log"),
    "no-suffix": (gzip.compress(LOG), "no-suffix"),
    "little.log": (WIDE.encode("utf-16-le"), "little.log"),
    "big.log": (WIDE.encode("utf-16-be"), "big.log"),
    "zeros.log": (b"\x00" * 9000 + LOG, "zeros.log"),
}


def read_upload(data: bytes, name: str) -> tuple[list[str], list[float], list[RefusedFile]]:
    """Return (names of sources, the means of their iterations, refused files)."""
    with ExitStack() as keep:
        sources, refused = recognise_sources(files_from_upload(io.BytesIO(data), len(data), name, keep))
        records = [entry.record for source in sources for entry in source.entries(ImportReport())]
    means = [record.values["train/reward/mean"] for record in records if isinstance(record, Metric)]
    return [source.name for source in sources], means, refused


@each_case("name", PACKED)
def test_packed_file_is_read_under_its_own_name(name):
    data, inside = PACKED[name]
    assert read_upload(data, name) == ([inside], [-i - 0.5 for i in range(1, COUNT + 1)], [])


def test_truncated_gzip_is_read_up_to_the_break_and_reported():
    names, means, (refused,) = read_upload(gzip.compress(LOG)[:-12], "a.log.gz")
    assert (names, means[0]) == (["a.log"], -1.5)
    assert COUNT / 2 < len(means) <= COUNT
    assert refused.reason.startswith("cannot be unpacked completely: ")


def test_empty_gzip_is_reported():
    assert read_upload(gzip.compress(b""), "a.gz") == ([], [], [RefusedFile("a.gz", "is empty")])


def test_a_bomb_is_not_unpacked_to_its_end(monkeypatch):
    monkeypatch.setattr("runs.importing.compressed_files.MAX_FILE_BYTES", 1000)
    _, _, refused = read_upload(gzip.compress(b"x" * 100_000), "a.gz")
    assert "unpacks to more than 1000 bytes" in refused[-1].reason


def test_files_retain_the_settings_of_their_folders():
    data = gzip.compress(LOG)
    with ExitStack() as keep:
        (file,) = files_from_upload(io.BytesIO(data), len(data), "es/alpha0.1/a.log.gz", keep)
        assert isinstance(file, File)
        assert (file.name, file.path) == ("es/alpha0.1/a.log", "es/alpha0.1/a.log.gz")
