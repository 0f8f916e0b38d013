"""Readable files, and files refused with a message: links out, devices, bombs, names that lead elsewhere, garbage."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from contextlib import ExitStack
from pathlib import Path

from runs.importing import File, RefusedFile, archives, files_from_path, files_from_upload, scan
from runs.importing.archives import NOT_PLAIN
from runs.importing.detect_format import recognise_sources
from runs.importing.files import OUTSIDE, clean_name
from runs.importing.spool import NESTED
from tests.cases import each_case
from tests.runs.importing.event_file_writer import event, scalar, write
from tests.runs.importing.sample_logs import iteration

LOG = iteration(1) + iteration(2)


def read_folder(path: Path) -> dict[str, str]:
    """Return name -> contents of each file, or the reason why it is not read."""
    with ExitStack() as keep:
        return {
            file.name: file.reason if isinstance(file, RefusedFile) else contents(file)
            for file in files_from_path(path, keep)
        }


def contents(file: File) -> str:
    with file.open() as opened:
        data = opened.read()
    assert len(data) == file.size
    return data.decode()


def read_upload(data: bytes, name: str) -> dict[str, str]:
    with ExitStack() as keep:
        files = files_from_upload(io.BytesIO(data), len(data), name, keep)
        return {file.name: file.reason if isinstance(file, RefusedFile) else contents(file) for file in files}


def zipped(**members: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def kind_of(kind: bytes, name: str = "x", link: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def test_folder_is_walked_in_natural_order(tmp_path):
    for name in ("run-10/a.log", "run-9/a.log", "run-9/sub/b.log"):
        (tmp_path / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "logs" / name).write_text(name)
    assert list(read_folder(tmp_path / "logs")) == ["logs/run-9/a.log", "logs/run-9/sub/b.log", "logs/run-10/a.log"]


def test_links_and_devices_are_refused_and_not_opened(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (folder / "a.log").write_text(LOG)
    (folder / "b-out").symlink_to(tmp_path / "secret")
    (folder / "c-folder").symlink_to(tmp_path)
    (folder / "d-in").symlink_to(folder / "a.log")
    (folder / "e-nowhere").symlink_to(tmp_path / "nothing")
    os.mkfifo(folder / "f-pipe")
    assert read_folder(folder) == {
        "logs/a.log": LOG,
        "logs/b-out": "is a link to a target outside the folder: not read",
        "logs/c-folder": "is a link to a target outside the folder: not read",
        "logs/d-in": "is a link to a file that is read anyway: not read twice",
        "logs/e-nowhere": "is a broken link: not read",
        "logs/f-pipe": "is not a regular file: not read",
    }


def test_device_given_as_path_is_not_read():
    assert read_folder(Path("/dev/zero")) == {"zero": "is not a regular file: not read"}


def test_members_of_archives_are_read_without_touching_the_disk_under_their_names(tmp_path):
    inside = {"es/alpha0.1/a.log": LOG, "./b.log": "b"}
    (tmp_path / "x.zip").write_bytes(zipped(**inside))
    assert read_folder(tmp_path / "x.zip") == {"x.zip/es/alpha0.1/a.log": LOG, "x.zip/b.log": "b"}
    data = tarred((tarfile.TarInfo("es/a.log"), LOG.encode()), (kind_of(tarfile.DIRTYPE, "d"), b""))
    assert read_upload(data, "y.tar.gz") == {"y.tar.gz/es/a.log": LOG}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.zip"]


@each_case("name", ["../../etc/passwd", "/etc/passwd", "a/../../b", "C:\\windows\\x", "..\\x"])
def test_names_that_lead_out_are_refused(name):
    assert list(read_upload(zipped(**{name: "x"}), "z.zip").values()) == [OUTSIDE]
    assert list(read_upload(tarred((tarfile.TarInfo(name), b"x")), "z.tgz").values()) == [OUTSIDE]
    assert list(read_upload(b"x", name).values()) == [OUTSIDE]


def test_a_name_is_words_and_holds_nothing_that_cannot_be_shown():
    assert (
        clean_name("a\x00b\n/c\ud800.log")
        == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}/c\N{REPLACEMENT CHARACTER}.log"
    )
    assert len(clean_name("x" * 2000)) == 500


def test_links_and_devices_in_archives_are_refused():
    data = tarred((kind_of(tarfile.SYMTYPE, "s", "/etc/passwd"), b""), (kind_of(tarfile.LNKTYPE, "h", "s"), b""))
    assert set(read_upload(data, "a.tgz").values()) == {NOT_PLAIN}
    out, link = io.BytesIO(), zipfile.ZipInfo("s")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert read_upload(out.getvalue(), "a.zip") == {"a.zip/s": NOT_PLAIN}


def test_an_archive_inside_an_archive_is_not_opened():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inner.zip", zipped(a="x"))
    assert read_upload(out.getvalue(), "a.zip") == {"a.zip/inner.zip": NESTED}


def test_member_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "MAX_FILE_BYTES", 10)
    assert read_upload(zipped(a="0" * 11, b="x"), "a.zip") == {
        "a.zip/a": "has 11 bytes; at most 10 are read",
        "a.zip/b": "x",
    }


def test_broken_and_encrypted_archives_are_reported():
    whole = zipped(a=LOG)
    assert "cannot be read further" in read_upload(whole[:-30], "a.zip")["a.zip"]
    data = bytearray(whole)
    at = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[at + 8] |= 1
    assert read_upload(bytes(data), "a.zip") == {"a.zip/a": "is encrypted: not read"}
    cut = read_upload(tarred((tarfile.TarInfo("a"), os.urandom(50_000)))[:2_000], "a.tgz")
    assert all("cannot be read further" in reason for reason in cut.values())


def test_archive_of_an_unknown_compression_is_reported():
    data = bytearray(zipped(a=LOG))
    data[8] = data[data.index(b"PK\x01\x02") + 10] = 99
    [reason] = read_upload(bytes(data), "a.zip").values()
    assert "cannot be read further" in reason and "compression" in reason


def test_file_that_is_too_long_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x" * 11)
    (tmp_path / "b").write_text("x")
    monkeypatch.setattr(scan, "MAX_FILE_BYTES", 10)
    assert read_folder(tmp_path)[f"{tmp_path.name}/a"] == "has 11 bytes; at most 10 are read"


def test_file_kind_is_recognised_by_content(tmp_path):
    (tmp_path / "a.json").write_text(LOG)
    (tmp_path / "b.txt").write_text('{"log_history": [{"loss": 1.0, "step": 1}]}')
    (tmp_path / "c.log").write_text('[{"mean_kl": 1.0, "beta": 0.1}]')
    (tmp_path / "d.png").write_text('{"seed_results": {}}')
    write(tmp_path / "tb" / "e.dat", event(1, scalar("a", 1.0)))
    write(tmp_path / "tb" / "f.dat", event(2, scalar("a", 1.0)))
    (tmp_path / "g.bin").write_bytes(os.urandom(2000) + b"\x00")
    (tmp_path / "h.json").write_text('{"zero_optimization": {"stage": 2}}')
    (tmp_path / "i").write_text("")
    with ExitStack() as keep:
        sources, refused = recognise_sources(files_from_path(tmp_path, keep))
    assert [(source.kind, len(source.files)) for source in sources] == [
        ("text", 1), ("TensorBoard events", 2), ("trainer state", 1), ("evaluation", 1), ("report", 1),
    ]  # fmt: skip
    assert [" ".join(refusal.reason.split()[:2]).rstrip(",") for refusal in refused] == [
        "is binary",
        "is JSON",
        "is empty",
    ]
