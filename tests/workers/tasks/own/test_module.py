"""Only a file that really lies under an allowed folder is loaded; whoever misspells it is told what there is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.workers.tasks.own.files import GOOD, own, refusal, write
from workers.tasks.own.module import NoSuchTask, allowed_folders, find, load


def test_a_file_in_the_folder_is_found(folder: Path) -> None:
    file = write(folder, GOOD)
    assert find("my_task:Task", [folder]).file == file.resolve()


def test_a_module_of_a_package_is_loaded_with_its_packages(folder: Path) -> None:
    write(folder, "NAME = 'from the package'", "pack/__init__.py")
    write(folder, "from . import NAME\nfrom pack.deep.rhymes import Task", "pack/tasks.py")
    write(folder, GOOD, "pack/deep/rhymes.py")
    task = own("pack.tasks:Task")
    assert task.examples("train")[2].target == "2"
    task.close()


def test_a_module_finds_its_neighbours_and_hides_no_library(folder: Path) -> None:
    write(folder, "raise RuntimeError('this is not numpy')", "numpy.py")
    write(folder, "SIZE = 3", "neighbour.py")
    write(folder, "import neighbour, numpy\nassert neighbour.SIZE == len(numpy.zeros(3))\n" + GOOD)
    own().close()


def test_folders_are_looked_at_in_their_order(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", GOOD), write(tmp_path / "b", GOOD)
    assert find("my_task:Task", [tmp_path / "a", tmp_path / "b"]).file == first.resolve()
    assert find("my_task:Task", [tmp_path / "nowhere", tmp_path / "b"]).file == second.resolve()


def test_a_module_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    write(folder, GOOD, "rhymes.py")
    write(folder, GOOD, "pack/inner.py")
    write(folder, GOOD, "_private.py")
    assert f"no module my_task in {folder}; the modules there are pack.inner, rhymes" in refusal()


def test_an_empty_folder_is_said_to_be_empty(folder: Path) -> None:
    assert "there are no modules at all" in refusal()


def test_of_many_modules_some_are_named(folder: Path) -> None:
    for n in range(30):
        write(folder, "", f"task_{n:02}.py")
    assert "task_19 and 10 more" in refusal()


def test_without_an_allowed_folder_it_says_who_sets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESWEB_TASK_PATHS", raising=False)
    said = refusal()
    assert "no folder is allowed for tasks of your own" in said
    assert "ESWEB_TASK_PATHS" in said and "task_paths" in said


def test_folders_must_be_absolute() -> None:
    with pytest.raises(NoSuchTask, match="must list absolute folders, and 'tasks' is none"):
        allowed_folders({"ESWEB_TASK_PATHS": os.pathsep.join(("/somewhere", "tasks"))})


def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", "open('ran', 'w')\n" + GOOD)
    (folder / "my_task.py").symlink_to(outside)
    assert f"leads to {outside.resolve()}, which lies under none of the allowed folders" in refusal()
    (folder / "pack").symlink_to(outside.parent)
    assert "lies under none of the allowed folders" in refusal("pack.my_task:Task")
    (folder / "real").mkdir()
    (folder / "real/__init__.py").symlink_to(outside)
    write(folder, GOOD, "real/inner.py")
    assert "lies under none of the allowed folders" in refusal("real.inner:Task")


@pytest.mark.usefixtures("loads_here")
def test_a_folder_that_is_itself_a_link_is_as_allowed_as_what_it_leads_to(tmp_path: Path) -> None:
    write(tmp_path / "real", GOOD)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert load("my_task:Task", [tmp_path / "link"]).__name__ == "Task"


def test_a_name_of_pythons_own_is_refused(folder: Path) -> None:
    write(folder, GOOD, "json.py")
    assert "Python's own" in refusal("json:Task")


@pytest.mark.usefixtures("loads_here")
def test_a_name_of_what_is_loaded_is_refused(folder: Path) -> None:
    write(folder, GOOD, "workers.py")
    with pytest.raises(NoSuchTask, match="workers is the name of a module that is loaded already"):
        load("workers:Task", [folder])


@pytest.mark.usefixtures("loads_here")
def test_an_attribute_that_is_not_there_is_answered_with_those_that_are(folder: Path) -> None:
    write(folder, "import json\n" + GOOD + "\ndef other(): pass\nSIZE = 3")
    with pytest.raises(NoSuchTask, match=r"my_task\.py has no Tsak; what is there: Task, other"):
        load("my_task:Tsak", [folder])
    write(folder, "SIZE = 3", "empty.py")
    with pytest.raises(NoSuchTask, match="there is no class or function in it"):
        load("empty:Task", [folder])
