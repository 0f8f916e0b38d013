"""What a training runs on, as the machine that runs the tests tells it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from workers.client import environment, machine
from workers.records import Environment, pack, unpack


@pytest.fixture(scope="module")
def told() -> Environment:
    """What this machine tells, looked up once."""
    return environment("ab" * 32)


def test_it_names_node_processor_memory_and_python(told: Environment) -> None:
    assert told.node == socket.gethostname()
    assert told.python.endswith(".".join(map(str, sys.version_info[:3])))
    assert told.os and told.code == "ab" * 32
    assert told.memory_mb > 100
    assert told.cores == len(os.sched_getaffinity(0))


def test_it_names_every_package_with_its_version(told: Environment) -> None:
    assert told.packages["numpy"] == version("numpy")
    assert told.packages["django-stubs"] == version("django_stubs")
    assert [*told.packages] == sorted(told.packages)


def test_of_two_of_one_name_that_is_told_which_is_imported(tmp_path: Path) -> None:
    for folder, number in (("first", "2.0"), ("second", "1.0")):
        info = tmp_path / folder / f"esweb_probe-{number}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Esweb.Probe\nVersion: {number}\n")
    (tmp_path / "first" / "left_behind-1.0.dist-info").mkdir()
    path = os.pathsep.join([*(str(tmp_path / folder) for folder in ("first", "second")), str(Path.cwd())])
    code = "from workers.client.machine import packages; print(packages()['esweb-probe'])"
    said = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, check=True)
    assert said.stdout.strip() == b"2.0"


def test_without_gpus_it_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: None)
    told = environment()
    assert (told.gpus, told.driver, told.cuda) == ((), "", "")


def test_a_machine_without_proc_and_release_file_is_told_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_file() -> dict[str, str]:
        raise OSError("no such file")

    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.freedesktop_os_release", no_file)
    assert environment().os


def test_it_is_one_record(told: Environment) -> None:
    assert unpack(pack(0, 0.0, told)).record == told
