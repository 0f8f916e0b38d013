"""Code as one file: the same bundle for the same code, unpacked once, by itself, and never as something else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS
from workers.code import BadBundle, bundle, command, fingerprint, unpack, unpacked
from workers.executors.shell import LocalShell


def test_the_same_code_is_the_same_bundle_byte_for_byte(package: Path, tmp_path: Path) -> None:
    first = bundle(tmp_path / "a", package)
    for path in sorted(package.rglob("*.py"), reverse=True):
        os.utime(path, (1, 1))
    shutil.copytree(package, tmp_path / "elsewhere" / "workers")
    again = bundle(tmp_path / "b", tmp_path / "elsewhere" / "workers")
    assert first.name == again.name == f"{fingerprint(package)}.pyz"
    assert first.read_bytes() == again.read_bytes()


def test_a_bundle_is_made_once_and_other_code_is_another(package: Path, tmp_path: Path) -> None:
    made = bundle(tmp_path / "code", package)
    os.utime(made, (1, 1))
    assert bundle(tmp_path / "code", package).stat().st_mtime == 1
    (package / "train.py").write_text("pass\n")
    assert bundle(tmp_path / "code", package) != made
    assert len([*(tmp_path / "code").iterdir()]) == 2


def test_it_unpacks_itself_where_there_is_nothing_else_of_esweb(package: Path, tmp_path: Path) -> None:
    shipped = Path(shutil.copy(bundle(tmp_path / "code", package), tmp_path))
    answer = LocalShell().run(command(sys.executable, str(shipped), str(tmp_path / "far")), 30)
    assert (answer.code, answer.err) == (0, "")
    folder = Path(answer.out.strip())
    assert folder == tmp_path / "far" / fingerprint(package)
    assert fingerprint(folder / "workers") == fingerprint(package)
    assert [*(tmp_path / "far").iterdir()] == [folder]


def test_unpacked_code_runs(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "code")
    asked = [sys.executable, "-c", "import workers.train, workers; print(workers.__file__)"]
    said = subprocess.run(asked, cwd=tmp_path, env={"PYTHONPATH": str(folder)}, capture_output=True, check=True)
    assert Path(said.stdout.decode().strip()).is_relative_to(folder)
    assert fingerprint(folder / "workers") == fingerprint()


def test_a_second_time_nothing_is_unpacked(package: Path, tmp_path: Path) -> None:
    made = bundle(tmp_path / "code", package)
    folder = unpack(made, tmp_path / "far")
    os.utime(folder / "workers" / "train.py", (1, 1))
    assert unpack(made, tmp_path / "far") == folder
    assert (folder / "workers" / "train.py").stat().st_mtime == 1


@pytest.mark.parametrize("harm", ["a file is gone", "a file is another", "all is gone"])
def test_what_was_unpacked_and_then_damaged_is_made_whole(package: Path, tmp_path: Path, harm: str) -> None:
    made = bundle(tmp_path / "code", package)
    folder = unpack(made, tmp_path / "far")
    if harm == "a file is gone":
        (folder / "workers" / "train.py").unlink()
    elif harm == "a file is another":
        (folder / "workers" / "train.py").write_text("pass\n")
    else:
        shutil.rmtree(folder / "workers")
    assert unpack(made, tmp_path / "far") == folder
    assert fingerprint(folder / "workers") == made.stem
    assert [*(tmp_path / "far").iterdir()] == [folder]


def test_several_who_unpack_at_once_end_with_one_whole_folder(package: Path, tmp_path: Path) -> None:
    made = bundle(tmp_path / "code", package)
    argv = command(sys.executable, str(made), str(tmp_path / "far"))
    at_work = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = {process.communicate(timeout=PATIENCE_SECONDS)[0].strip() for process in at_work}
    assert [process.returncode for process in at_work] == [0] * 3
    assert printed == {str(tmp_path / "far" / made.stem)}
    assert [path.name for path in (tmp_path / "far").iterdir()] == [made.stem]


def test_threads_that_make_it_at_once_all_get_it(package: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as many:
        made = set(many.map(lambda _: bundle(tmp_path / "code", package), range(8)))
    assert len(made) == 1 and [path.name for path in (tmp_path / "code").iterdir()] == [made.pop().name]


@pytest.mark.parametrize("harm", ["cut off", "other code"])
def test_a_bundle_that_is_not_what_its_name_says_is_refused_and_leaves_nothing(
    package: Path, tmp_path: Path, harm: str
) -> None:
    made = bundle(tmp_path / "code", package)
    if harm == "cut off":
        made.write_bytes(made.read_bytes()[:-100])
    else:
        with zipfile.ZipFile(made, "a") as archive:
            archive.writestr("workers/more.py", "pass\n")
    with pytest.raises(BadBundle, match="copy it again"):
        unpack(made, tmp_path / "far")
    assert not [*(tmp_path / "far").iterdir()]


def test_a_bundle_says_how_it_is_called(package: Path, tmp_path: Path) -> None:
    made = bundle(tmp_path / "code", package)
    answer = LocalShell().run([sys.executable, "-I", str(made)], PATIENCE_SECONDS)
    assert (answer.code, answer.err) == (2, f"usage: python {made} FOLDER\n")


def test_no_entry_leaves_the_folder_it_is_unpacked_into(package: Path, tmp_path: Path) -> None:
    made = bundle(tmp_path / "code", package)
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr("workers/../../escaped.py", "pass\n")
    with pytest.raises(BadBundle):
        unpack(made, tmp_path / "far")
    assert not [*tmp_path.rglob("escaped.py")]
