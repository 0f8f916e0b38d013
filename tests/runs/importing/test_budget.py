"""One import has limits of unpacked bytes, files and seconds, over all its files together, and reports which limit
it met. Files that no reader reads are never unpacked, and temporary files end with the import."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

from runs import importing
from runs.importing import File, RefusedFile
from runs.models import Run
from tests.cases import each_case
from tests.runs.importing.bombs import MB, NOISE, PACKERS, all_bombs, tarred, zipped
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
LIMIT_MB, LIMIT_FILES = 4, 1000
MAX_MEMORY = 100 * MB
SLACK = 4 * MB
GOOD = (HEADER.format(seed=0) + "".join(iteration(i) for i in range(1, 5)) + ENDED).encode()
BYTES, FILES, SECONDS = "ESWEB_IMPORT_INFLATED_MB", "ESWEB_IMPORT_FILES", "ESWEB_IMPORT_SECONDS"
GROWTH = "for each byte"
EXPECTED = {
    **dict.fromkeys([f"{name}.{kind}" for name in ("lines.log", "zeros.log", "a.tar", "unread.tar", "one-line.log")
                     for kind in ("gz", "bz2", "xz")], GROWTH),
    "zeros.log.gz": BYTES, "one-line.log.gz": "has no line end", "unread.tar.gz": "is binary",
    "attributes.tar.gz": "a header has", "long-name.tar.gz": "a header has", "sparse.tar.gz": "regular files",
    "deflated.zip": GROWTH, "bzip2.zip": "stored or deflated", "lzma.zip": "stored or deflated",
    "overlapping.zip": "overlaps another member", "less.zip": "cannot be read further",
    "more.zip": "at most 1073741824",
    "many.zip": FILES, "many.tar.gz": "members of archives", "folders.tar.gz": "members of archives",
    "nested.zip": "archive inside an archive", "nested.gz.xz": "archive inside an archive",
}  # fmt: skip
"""Refusal message of each bomb."""
ON_NO_DISK = [name for name in EXPECTED if not name.startswith(("lines", "a.tar", "deflated"))]
"""Holes, and what is refused before it is unpacked."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what unpacking every bomb in a process of its own took."""
    folder, temporary = tmp_path_factory.mktemp("bombs"), tmp_path_factory.mktemp("temporary")
    for name, data in all_bombs().items():
        (folder / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.importing.unpack_bombs", str(folder), str(temporary)],
        cwd=ROOT,
        env={**os.environ, BYTES: str(LIMIT_MB), FILES: str(LIMIT_FILES)},
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    return dict(json.loads(done.stdout))


@each_case("name", EXPECTED)
def test_bomb_is_refused_with_its_limit_and_little_disk(name: str, unpacked: dict[str, Any]) -> None:
    result = unpacked["results"][name]
    assert any(EXPECTED[name] in reason for reason in result["refused"].values()), result
    assert result["peak"] <= (0 if name in ON_NO_DISK else LIMIT_MB * MB) + SLACK
    assert result["left"] == 0


def test_bombs_take_little_memory(unpacked: dict[str, Any]) -> None:
    assert set(unpacked["results"]) == set(EXPECTED)
    assert unpacked["memory_grown"] <= MAX_MEMORY


def uploads(*files: tuple[str, bytes]) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name, data) for name, data in files]


def read(*files: tuple[str, bytes]) -> tuple[list[str], dict[str, str]]:
    """Return (names of files that can be read, refusals by name) of one import of these uploads."""
    with ExitStack() as keep:
        budget = importing.Budget()
        uploaded = [
            file
            for name, data in files
            for file in importing.files_from_upload(io.BytesIO(data), len(data), name, keep, budget)
        ]
        names = [file.name for file in uploaded if isinstance(file, File)]
        return names, {file.name: file.reason for file in uploaded if isinstance(file, RefusedFile)}


@pytest.mark.parametrize("pack", ["gz", "bz2", "xz", "zip", "tar"])
def test_bytes_are_counted_over_all_files_of_an_import(pack: str, settings: Settings) -> None:
    settings.IMPORT_INFLATED_MB = 5
    data = NOISE * 2
    packers = {**PACKERS, "zip": lambda data: zipped({"a.log": data}), "tar": lambda data: tarred({"a.log": data})}
    whole = packers[pack](data)
    names, refused = read(*[(f"{number}.log.{pack}", whole) for number in range(4)])
    assert len(names) == 2
    reason = f"cannot be read further: an import may unpack at most 5 MB in total ({BYTES})"
    assert refused == {f"2.log.{pack}": reason, f"3.log.{pack}": reason}


def test_files_are_counted_over_all_files_of_an_import(settings: Settings) -> None:
    settings.IMPORT_FILES = 10
    four = {f"{number}.log": GOOD for number in range(4)}
    names, refused = read(("a.zip", zipped(four)), ("b.tgz", tarred(four)), ("c.zip", zipped(four)))
    assert len(names) == 8
    assert [reason for reason in refused.values() if FILES in reason and "10 files" in reason]


def test_files_of_a_folder_are_counted(tmp_path: Path, settings: Settings) -> None:
    settings.IMPORT_FILES = 2
    for number in range(4):
        (tmp_path / f"{number}.log").write_bytes(GOOD)
    with ExitStack() as keep:
        files = list(importing.files_from_path(tmp_path, keep))
    assert [isinstance(file, File) for file in files] == [True, True, False]
    assert isinstance(files[-1], RefusedFile) and FILES in files[-1].reason


class Slow(io.BytesIO):
    """An upload of which every read takes a while."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to 4 KiB, late."""
        threading.Event().wait(0.02)
        return super().read(min(4096, size) if size is not None and size >= 0 else 4096)


@pytest.mark.parametrize("name", ["a.log", "a.log.gz", "a.tar.gz"])
def test_slow_reader_ends_at_the_limit_of_seconds(name: str, settings: Settings, ada: Any, runs_dir: Path) -> None:
    settings.IMPORT_SECONDS = 0.3
    noise = os.urandom(MB).hex().encode().replace(b"0", b"\n")
    data = {"a.log": noise, "a.log.gz": PACKERS["gz"](noise), "a.tar.gz": tarred({"b.log": noise})}[name]
    with ExitStack() as keep:
        files = importing.files_from_upload(Slow(data), len(data), name, keep)
        imported = importing.import_runs(files, importing.ImportTarget(ada, "Imported"))
    assert [refusal.reason for refusal in imported.refused if SECONDS in refusal.reason], imported.refused
    assert not Run.objects.exists()


GROWING = {
    "runs": [{"sigma": n, "mean_a": 1} for n in range(100)],
    "numbers": {"log_history": [{"step": 1, "a": 1}] * 5_000},
}


@each_case("noun", GROWING)
def test_upload_names_the_limit_that_grows_with_it(noun: str, ada: Any, runs_dir: Path) -> None:
    data = PACKERS["gz"](json.dumps(GROWING[noun]).encode())
    result = importing.import_uploads(uploads(("a.json.gz", data)), [], importing.ImportTarget(ada, "Imported"))
    assert f" {noun}: " in result.refused[0].reason and f"an import of {len(data)} bytes" in result.refused[0].reason
    assert not Run.objects.exists()


HOSTILE_NAMES = ["/etc/passwd", "../up.log", "a/../../up.log", "C:\\up.log", "\\\\host\\up.log"]


@each_case("pack", [zipped, tarred])
@each_case("name", HOSTILE_NAMES)
def test_member_with_a_name_that_leads_out_is_refused(name: str, pack: Any) -> None:
    names, refused = read(("a.bin", pack({name: GOOD, "good.log": GOOD})))
    assert names == ["a.bin/good.log"]
    assert list(refused) == [f"a.bin/{name}"]
    assert "names must be relative" in refused[f"a.bin/{name}"]


@each_case("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_member_that_is_no_regular_file_is_refused(kind: bytes) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo("m.log")
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member)
        good = tarfile.TarInfo("good.log")
        good.size = len(GOOD)
        archive.addfile(good, io.BytesIO(GOOD))
    names, refused = read(("a.tgz", out.getvalue()))
    assert names == ["a.tgz/good.log"]
    assert "only regular files and folders of an archive" in refused["a.tgz/m.log"]


@pytest.mark.parametrize("pack", ["zip", "tar"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_member_that_comes_twice_is_read_once(pack: str) -> None:
    out = io.BytesIO()
    if pack == "zip":
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("a.log", GOOD)
            archive.writestr("./a.log", GOOD * 2)
    else:
        out.write(tarred({"a.log": GOOD, "./a.log": GOOD * 2}))
    names, refused = read(("a.bin", out.getvalue()))
    assert names == ["a.bin/a.log"]
    assert refused == {"a.bin/a.log": "occurs twice in the archive: only the first is read"}


def temporary_files() -> set[str]:
    """Return the temporary files that this process has open, which have no names."""
    out = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        out |= {target} if target.startswith(tempfile.gettempdir()) and "deleted" in target else set()
    return out


class Broken(io.BytesIO):
    """An upload whose disk fails in the middle."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Raise OSError behind the first 64 KiB."""
        if self.tell() > 64 * 1024:
            raise OSError(5, "Input/output error")
        return super().read(size)


@pytest.mark.parametrize("ending", ["good", "limit", "broken", "interrupted"])
def test_temporary_files_are_gone_at_the_end(
    ending: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = temporary_files()
    noise = os.urandom(MB).hex().encode().replace(b"0", b"\n")
    data = tarred({"a.log": noise, "b.log": noise})
    stream = Broken(data) if ending == "broken" else io.BytesIO(data)
    settings.IMPORT_INFLATED_MB = 3 if ending == "limit" else 1024
    with ExitStack() as keep:
        files = importing.files_from_upload(stream, len(data), "a.tgz", keep)
        first = next(files)
        assert ending == "broken" or isinstance(first, File)
        assert ending == "broken" or temporary_files() > before
        if ending != "interrupted":
            list(files)
    assert temporary_files() == before
    assert not list(tmp_path.iterdir())


def test_api_names_the_limit_and_imports_what_came_before(
    ada_client: Client, settings: Settings, runs_dir: Path
) -> None:
    settings.IMPORT_INFLATED_MB = 4
    large = PACKERS["gz"](NOISE * 2)
    files = [("good.log.gz", PACKERS["gz"](GOOD)), *((f"{number}.log.gz", large) for number in range(4))]
    answer = ada_client.post("/api/v1/imports", {"files": uploads(*files)})
    assert answer.status_code == 200
    assert Run.objects.count() == 1
    assert [refusal for refusal in answer.json()["not_read"] if BYTES in refusal["why"]]
    page = ada_client.post("/import/", {"files": uploads(*files), "experiment": "Imported"})
    assert page.status_code == 200 and BYTES in page.content.decode()


def test_command_shares_one_budget_among_its_paths(
    ada: Any, tmp_path: Path, settings: Settings, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.IMPORT_INFLATED_MB = 5
    paths = [tmp_path / f"{number}.log.gz" for number in range(3)]
    for path in paths:
        path.write_bytes(PACKERS["gz"](NOISE * 2))
    with pytest.raises(CommandError, match="Nothing was read"):
        call_command("import", *map(str, paths))
    output = capsys.readouterr().out
    assert output.count(BYTES) == 1 and "2.log.gz" in output
