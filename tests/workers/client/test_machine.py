"""The environment record of the machine that runs the tests."""

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
def this_machine() -> Environment:
    """Return the environment of this machine, read once."""
    return environment("ab" * 32)


def test_environment_names_node_processor_memory_and_python(this_machine: Environment) -> None:
    assert this_machine.node == socket.gethostname()
    assert this_machine.python.endswith(".".join(map(str, sys.version_info[:3])))
    assert this_machine.os and this_machine.code == "ab" * 32
    assert this_machine.memory_mb > 100
    assert this_machine.cores == len(os.sched_getaffinity(0))


def test_environment_lists_packages_with_versions(this_machine: Environment) -> None:
    assert this_machine.packages["numpy"] == version("numpy")
    assert this_machine.packages["django-stubs"] == version("django_stubs")
    assert [*this_machine.packages] == sorted(this_machine.packages)


def test_environment_lists_imported_one_of_duplicate_packages(tmp_path: Path) -> None:
    for folder, number in (("first", "2.0"), ("second", "1.0")):
        info = tmp_path / folder / f"esweb_probe-{number}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Esweb.Probe\nVersion: {number}\n")
    (tmp_path / "first" / "left_behind-1.0.dist-info").mkdir()
    path = os.pathsep.join([*(str(tmp_path / folder) for folder in ("first", "second")), str(Path.cwd())])
    code = "from workers.client.machine import packages; print(packages()['esweb-probe'])"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, check=True)
    assert done.stdout.strip() == b"2.0"


def test_environment_without_gpus_lists_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpus", lambda: None)
    this_machine = environment()
    assert (this_machine.gpus, this_machine.driver, this_machine.cuda) == ((), "", "")


def test_environment_is_read_without_proc_and_release_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_file() -> dict[str, str]:
        raise OSError("no such file")

    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.freedesktop_os_release", no_file)
    assert environment().os


def test_environment_round_trips_as_record(this_machine: Environment) -> None:
    assert unpack(pack(0, 0.0, this_machine)).record == this_machine
