"""Only a file that really is in an allowed folder is loaded; a misspelt name is refused with the choices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.workers.tasks.own.files import GOOD, own, refusal, write
from workers.tasks.own.module import NoSuchTask, allowed_folders, find, load


def test_task_in_allowed_folder_resolves(folder: Path) -> None:
    file = write(folder, GOOD)
    assert find("my_task:Task", [folder]).file == file.resolve()


def test_a_module_of_a_package_is_loaded_with_its_packages(folder: Path) -> None:
    write(folder, "NAME = 'from the package'", "pack/__init__.py")
    write(folder, "from . import NAME\nfrom pack.deep.rhymes import Task", "pack/tasks.py")
    write(folder, GOOD, "pack/deep/rhymes.py")
    task = own("pack.tasks:Task")
    assert task.examples("train")[2].target == "2"
    task.close()


def test_task_imports_neighbours_without_hiding_libraries(folder: Path) -> None:
    write(folder, "raise RuntimeError('this is not numpy')", "numpy.py")
    write(folder, "SIZE = 3", "neighbour.py")
    write(folder, "import neighbour, numpy\nassert neighbour.SIZE == len(numpy.zeros(3))\n" + GOOD)
    own().close()


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a", GOOD), write(tmp_path / "b", GOOD)
    assert find("my_task:Task", [tmp_path / "a", tmp_path / "b"]).file == first.resolve()
    assert find("my_task:Task", [tmp_path / "nowhere", tmp_path / "b"]).file == second.resolve()


def test_missing_module_is_refused_with_choices(folder: Path) -> None:
    write(folder, GOOD, "rhymes.py")
    write(folder, GOOD, "pack/inner.py")
    write(folder, GOOD, "_private.py")
    assert f"no module my_task in {folder}; the modules there are pack.inner, rhymes" in refusal()


def test_empty_folder_is_reported(folder: Path) -> None:
    assert "there are no modules at all" in refusal()


def test_long_list_of_modules_is_shortened(folder: Path) -> None:
    for n in range(30):
        write(folder, "", f"task_{n:02}.py")
    assert "task_19 and 10 more" in refusal()


def test_missing_allowed_folder_is_reported_with_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ESWEB_TASK_PATHS", raising=False)
    message = refusal()
    assert "no folder is allowed for tasks of your own" in message
    assert "ESWEB_TASK_PATHS" in message and "task_paths" in message


def test_folders_must_be_absolute() -> None:
    with pytest.raises(NoSuchTask, match="must list absolute folders, but 'tasks' is not absolute"):
        allowed_folders({"ESWEB_TASK_PATHS": os.pathsep.join(("/somewhere", "tasks"))})


def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", "open('ran', 'w')\n" + GOOD)
    (folder / "my_task.py").symlink_to(outside)
    assert f"leads to {outside.resolve()}, which is outside the allowed folders" in refusal()
    (folder / "pack").symlink_to(outside.parent)
    assert "is outside the allowed folders" in refusal("pack.my_task:Task")
    (folder / "real").mkdir()
    (folder / "real/__init__.py").symlink_to(outside)
    write(folder, GOOD, "real/inner.py")
    assert "is outside the allowed folders" in refusal("real.inner:Task")


@pytest.mark.usefixtures("loads_here")
def test_allowed_folder_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", GOOD)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert load("my_task:Task", [tmp_path / "link"]).__name__ == "Task"


def test_standard_library_name_is_refused(folder: Path) -> None:
    write(folder, GOOD, "json.py")
    assert "a standard Python module" in refusal("json:Task")


@pytest.mark.usefixtures("loads_here")
def test_name_of_loaded_module_is_refused(folder: Path) -> None:
    write(folder, GOOD, "workers.py")
    with pytest.raises(NoSuchTask, match="workers is the name of a module that is already loaded"):
        load("workers:Task", [folder])


@pytest.mark.usefixtures("loads_here")
def test_missing_attribute_is_refused_with_choices(folder: Path) -> None:
    write(folder, "import json\n" + GOOD + "\ndef other(): pass\nSIZE = 3")
    with pytest.raises(NoSuchTask, match=r"my_task\.py has no Tsak; what is there: Task, other"):
        load("my_task:Tsak", [folder])
    write(folder, "SIZE = 3", "empty.py")
    with pytest.raises(NoSuchTask, match="there is no class or function in it"):
        load("empty:Task", [folder])
