"""A folder as a tar file: whole, of the length that was announced, and never whole in memory."""

import io
import tarfile

import pytest
from asgiref.sync import async_to_sync

from runs.checkpoints import archive
from tests.cases import each_case
from tests.runs.checkpoint_files import WEIGHTS, close, fill, unpack_reply


def pieces(stream):
    async def read():
        return [piece async for piece in stream]

    return async_to_sync(read)()


def test_a_folder_arrives_as_it_is(tmp_path):
    folder = tmp_path / "step-000020"
    fill(folder)
    answer = archive.send(archive.Archive.from_folder(folder, "abc-step-000020"), "abc-step-000020")
    assert answer["Content-Disposition"] == 'attachment; filename="abc-step-000020.tar"'
    assert unpack_reply(answer) == {
        "abc-step-000020/config.json": b"{}",
        "abc-step-000020/adapter/model.safetensors": WEIGHTS,
    }


@each_case("size", [0, 1, 511, 512, 513, archive.PIECE + 1])
def test_every_size_fills_its_blocks(tmp_path, size):
    (tmp_path / "a").write_bytes(b"x" * size)
    (tmp_path / "b").write_bytes(b"y")
    with (
        io.BytesIO(b"".join(pieces(tar := archive.Archive.from_folder(tmp_path, "n")))) as data,
        tarfile.open(fileobj=data) as read,
    ):
        assert [m.size for m in read.getmembers()] == [size, 1]
        assert len(data.getvalue()) == len(tar)
    tar.close()


def test_a_large_file_is_sent_in_pieces(tmp_path):
    with (tmp_path / "weights").open("wb") as file:
        file.truncate(5 * archive.PIECE)
    tar = archive.Archive.from_folder(tmp_path, "n")
    assert max(map(len, pieces(tar))) == archive.PIECE
    tar.close()


def test_long_or_non_ascii_name_is_preserved(tmp_path):
    name = "ä" * 60 + "-" + "x" * 60
    (tmp_path / name).write_bytes(b"1")
    answer = archive.send(archive.Archive.from_folder(tmp_path, "n"), "n")
    assert list(unpack_reply(answer)) == [f"n/{name}"]


def test_links_are_not_followed(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "in" / "a").write_text("a")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    assert list(unpack_reply(archive.send(archive.Archive.from_folder(tmp_path / "in", "n"), "n"))) == ["n/a"]


def test_checkpoint_deleted_during_a_download_arrives_whole(tmp_path):
    (tmp_path / "a").write_text("a")
    answer = archive.send(archive.Archive.from_folder(tmp_path, "n"), "n")
    (tmp_path / "a").unlink()
    assert unpack_reply(answer) == {"n/a": b"a"}


def test_a_file_that_becomes_shorter_breaks_the_download_off(tmp_path):
    (tmp_path / "a").write_text("a" * 100)
    tar = archive.Archive.from_folder(tmp_path, "n")
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="has become shorter"):
        pieces(tar)
    tar.close()


def test_files_are_closed_where_nobody_reads_to_the_end(tmp_path):
    (tmp_path / "a").write_text("a")
    answer = archive.send(archive.Archive.from_folder(tmp_path, "n"), "n")
    (closer,) = answer._resource_closers
    files = [member.file for member in closer.__self__.members]
    close(answer)
    assert all(file.closed for file in files)


def test_archive_of_an_empty_folder_raises_404(tmp_path):
    with pytest.raises(FileNotFoundError):
        archive.Archive.from_folder(tmp_path, "n")
