"""Bundles of code: equal for equal code, self-extracting, unpacked once, and refused if damaged."""

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
from workers.code import BadBundle, bundle, command, fingerprint, unpack, unpack_package
from workers.executors.shell import LocalShell


def test_same_code_gives_same_bundle(package: Path, tmp_path: Path) -> None:
    first = bundle(tmp_path / "a", package)
    for path in sorted(package.rglob("*.py"), reverse=True):
        os.utime(path, (1, 1))
    shutil.copytree(package, tmp_path / "elsewhere" / "workers")
    again = bundle(tmp_path / "b", tmp_path / "elsewhere" / "workers")
    assert first.name == again.name == f"{fingerprint(package)}.pyz"
    assert first.read_bytes() == again.read_bytes()


def test_bundle_is_built_once_per_code(package: Path, tmp_path: Path) -> None:
    path = bundle(tmp_path / "code", package)
    os.utime(path, (1, 1))
    assert bundle(tmp_path / "code", package).stat().st_mtime == 1
    (package / "train.py").write_text("pass\n")
    assert bundle(tmp_path / "code", package) != path
    assert len([*(tmp_path / "code").iterdir()]) == 2


def test_bundle_unpacks_itself_without_esweb(package: Path, tmp_path: Path) -> None:
    shipped = Path(shutil.copy(bundle(tmp_path / "code", package), tmp_path))
    answer = LocalShell().run(command(sys.executable, str(shipped), str(tmp_path / "far")), 30)
    assert (answer.code, answer.err) == (0, "")
    folder = Path(answer.out.strip())
    assert folder == tmp_path / "far" / fingerprint(package)
    assert fingerprint(folder / "workers") == fingerprint(package)
    assert [*(tmp_path / "far").iterdir()] == [folder]


def test_unpacked_code_runs(tmp_path: Path) -> None:
    folder = unpack_package(tmp_path / "code")
    command = [sys.executable, "-c", "import workers.train, workers; print(workers.__file__)"]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(folder)}, capture_output=True, check=True)
    assert Path(done.stdout.decode().strip()).is_relative_to(folder)
    assert fingerprint(folder / "workers") == fingerprint()


def test_bundle_is_unpacked_once(package: Path, tmp_path: Path) -> None:
    path = bundle(tmp_path / "code", package)
    folder = unpack(path, tmp_path / "far")
    os.utime(folder / "workers" / "train.py", (1, 1))
    assert unpack(path, tmp_path / "far") == folder
    assert (folder / "workers" / "train.py").stat().st_mtime == 1


def test_other_people_read_the_unpacked_code_and_only_its_owner_changes_it(package: Path, tmp_path: Path) -> None:
    assert unpack(bundle(tmp_path / "code", package), tmp_path / "far").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("harm", ["a file is gone", "a file is another", "all is gone"])
def test_damaged_unpacked_code_is_repaired(package: Path, tmp_path: Path, harm: str) -> None:
    path = bundle(tmp_path / "code", package)
    folder = unpack(path, tmp_path / "far")
    if harm == "a file is gone":
        (folder / "workers" / "train.py").unlink()
    elif harm == "a file is another":
        (folder / "workers" / "train.py").write_text("pass\n")
    else:
        shutil.rmtree(folder / "workers")
    assert unpack(path, tmp_path / "far") == folder
    assert fingerprint(folder / "workers") == path.stem
    assert [*(tmp_path / "far").iterdir()] == [folder]


def test_concurrent_unpacking_leaves_one_folder(package: Path, tmp_path: Path) -> None:
    path = bundle(tmp_path / "code", package)
    argv = command(sys.executable, str(path), str(tmp_path / "far"))
    at_work = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = {process.communicate(timeout=PATIENCE_SECONDS)[0].strip() for process in at_work}
    assert [process.returncode for process in at_work] == [0] * 3
    assert printed == {str(tmp_path / "far" / path.stem)}
    assert [path.name for path in (tmp_path / "far").iterdir()] == [path.stem]


def test_concurrent_builds_give_one_bundle(package: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as many:
        paths = set(many.map(lambda _: bundle(tmp_path / "code", package), range(8)))
    assert len(paths) == 1 and [path.name for path in (tmp_path / "code").iterdir()] == [paths.pop().name]


@pytest.mark.parametrize("harm", ["cut off", "other code"])
def test_corrupt_bundle_is_refused(package: Path, tmp_path: Path, harm: str) -> None:
    path = bundle(tmp_path / "code", package)
    if harm == "cut off":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("workers/more.py", "pass\n")
    with pytest.raises(BadBundle, match="copy it again"):
        unpack(path, tmp_path / "far")
    assert not [*(tmp_path / "far").iterdir()]


def test_bundle_prints_its_usage(package: Path, tmp_path: Path) -> None:
    path = bundle(tmp_path / "code", package)
    answer = LocalShell().run([sys.executable, "-I", str(path)], PATIENCE_SECONDS)
    assert (answer.code, answer.err) == (2, f"usage: python {path} FOLDER\n")


def test_bundle_entry_cannot_escape_folder(package: Path, tmp_path: Path) -> None:
    path = bundle(tmp_path / "code", package)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("workers/../../escaped.py", "pass\n")
    with pytest.raises(BadBundle):
        unpack(path, tmp_path / "far")
    assert not [*tmp_path.rglob("escaped.py")]
