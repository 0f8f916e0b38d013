"""Uploads that cost much more processor time than bytes: they hold up the site for everybody (CWE-400, CWE-409)."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile

from runs import importing
from runs.importing import ImportTarget
from tests.cases import each_case
from tests.cost_plugin import tree_seconds
from tests.runs.importing.bombs import tarred, zipped
from tests.runs.importing.event_file_writer import event, scalar, version
from tests.runs.importing.hostile_files import numpy_file, repeated
from tests.runs.importing.sample_logs import HEADER, iteration

MAX_UPLOAD_BYTES = 10 * 1024
MAX_CPU_SECONDS = 0.5
MAX_RATIO = 15
"""MAX_CPU_SECONDS as a multiple of the processor time of an ordinary upload, for machines that are slow or busy."""
ORDINARY_ITERATIONS = 114
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lambda data: lzma.compress(data, preset=0)
}  # fmt: skip


def packed(unit: str, kind: str, head: str) -> bytes:
    """Return as many units as pack into MAX_UPLOAD_BYTES."""
    size = len(PACKERS[kind](repeated(unit, 100_000).encode()))
    for fit in (1.0, 0.9, 0.8, 0.7):
        content = head + repeated(unit, int(fit * 100_000 * MAX_UPLOAD_BYTES / size))
        if len(data := PACKERS[kind](content.encode())) <= MAX_UPLOAD_BYTES:
            return data
    raise AssertionError(f"{unit!r} packs worse in a larger file")


def joined(unit: str, head: str = "", tail: str = "") -> bytes:
    """Return a file of MAX_UPLOAD_BYTES of these units."""
    return (head + repeated(unit, MAX_UPLOAD_BYTES - len(head) - len(tail) - 1).rstrip(", ") + tail).encode()


def logs(count: int) -> dict[str, bytes]:
    """Return small logs of different runs by name."""
    return {f"{number}.log": f"seed: {number}\nIteration 1, a: {number}\n".encode() for number in range(count)}


CONFIG_LINE = "Config(" * 1160 + "=) x"
SMALL: dict[str, dict[str, bytes]] = {
    "line breaks": {"a.log.bz2": bz2.compress(b"\n" * 5_000_000)},
    "nested configs": {"a.log": ("Config(" * 1400 + "=) x").encode()},
    "packed configs": {"a.log.xz": lzma.compress(f"{CONFIG_LINE}\n".encode() * 100, preset=0)},
    "packed zeros": {"a.log.bz2": bz2.compress(bytes(2**24), 1)},
    "seeds": {"a.json": joined('"#": {"a": 1}, ', '{"seed_results": {', "}}")},
    "report": {"a.json": joined('{"sigma": #, "mean_a": 1}, ', "[", "]")},
    "runs of a log": {"a.log": joined("seed: #\nIteration 1, a: 1\n")},
    "zip of logs": {"a.zip": zipped(logs(85))},
    "tar of logs": {"a.txz": lzma.compress(tarred(logs(700), "w:"))},
    "uploads": logs(100),
    "config keys": {"a.json": joined('"((((((#": 1, ', '{"seed_results": {"0": {"reward": 1}}, "config": {', "}}")},
    "long name": {"a.json": joined('"#": 1, ', f'{{"seed_results": {{"{"s" * 4000}": {{"{"n" * 2000}": {{', "}}}}")},
    "answers": {"a.json": joined('{"reward": #, "cost": 1}, ', '{"per_sample_results": [', "]}")},
    "array": {"m_Rs.npy.gz": gzip.compress(numpy_file("<f2", 400_000, bytes(800_000))),
              "m_Cs.npy.gz": gzip.compress(numpy_file("<f2", 400_000, bytes(800_000)))},
    "array header": {"m_Rs.npy": b"\x93NUMPY\x01\x00\x20\x23" + b"(" * 8992},
    "brackets": {"a.json": b'{"a":[' * 1700},
    "commas in brackets": {"a.json": b"[" * 5000 + b"1," * 2500},
    "events": {"a.tfevents": version() + b"".join(event(n, scalar("a", 1.0)) for n in range(150))},
    "tags": {"a.tfevents": version() + event(1, *(scalar(f"a{n}", 1.0) for n in range(500)))},
    "rows": {"a.csv": joined("#,1\n", "step,a\n")},
    "runs of a table": {"a.csv": joined("#,1,1\n", "run,step,a\n")},
    "columns": {"a.csv": ("step" + "".join(f",{n}" for n in range(900)) + "\n" + f"1{',1' * 900}\n" * 3).encode()},
}  # fmt: skip
"""Files of one upload by name, each upload at most MAX_UPLOAD_BYTES."""


PACKED: dict[str, tuple[str, str]] = {
    "iterations": ("Iteration #, a: 1\n", ""), "dictionaries": ("{'kl': #}\n", ""), "errors": ("Error: #\n", ""),
    "numbered lines": ("#\n", ""), "rows": ("#,1,1,1\n", "step,a,b,c\n"),
    "points": ('{"prompt": "", "response": "#", "reward": 1, "cost": 1}\n', ""),
}  # fmt: skip
"""Unit that repeats in a compressed upload, and the beginning of the file, by name."""
PACKED_CASES = [(name, "bz2" if name in ("iterations", "errors") else "gz") for name in PACKED]


@pytest.fixture
def warm(ada: User, runs_dir: Path) -> Iterator[None]:
    """Import a file first: that starts the server of reading processes, and fills caches."""
    upload(ada, {"warm.log": HEADER.format(seed=0).encode() + iteration(1).encode()})
    yield


def upload(person: User, files: dict[str, bytes]) -> importing.ImportResult:
    """Import files as the page and the API do."""
    uploads = [SimpleUploadedFile(name, data) for name, data in files.items()]
    return importing.import_uploads(uploads, list(files), ImportTarget(person, "Imported"))


def seconds_of_upload(person: User, files: dict[str, bytes]) -> float:
    """Import the files. Return the processor time of this process, those that read, and PostgreSQL's."""
    assert sum(map(len, files.values())) <= MAX_UPLOAD_BYTES
    before = tree_seconds()
    upload(person, files)
    return tree_seconds() - before


def seconds_of_ordinary_upload(person: User, seed: int) -> float:
    """Import one log of about MAX_UPLOAD_BYTES, and return the processor time."""
    iterations = "".join(map(iteration, range(1, ORDINARY_ITERATIONS + 1)))
    return seconds_of_upload(person, {f"{seed}.log": (HEADER.format(seed=seed) + iterations).encode()})


def check_cost(person: User, files: dict[str, bytes]) -> None:
    """Check that importing the files costs little, measured beside ordinary uploads where the machine is slow."""
    if (seconds := seconds_of_upload(person, files)) > MAX_CPU_SECONDS:
        limit = MAX_RATIO * min(seconds_of_ordinary_upload(person, seed) for seed in (1, 2, 3))
        assert seconds <= limit, f"{seconds:.2f} CPU-seconds, of at most {limit:.2f} beside an ordinary upload"


@each_case("name", SMALL)
def test_small_upload_costs_little_in_all_processes(name: str, ada: User, warm: None) -> None:
    check_cost(ada, SMALL[name])


@each_case("name, kind", PACKED_CASES)
def test_small_packed_upload_costs_little_in_all_processes(name: str, kind: str, ada: User, warm: None) -> None:
    unit, head = PACKED[name]
    check_cost(ada, {f"a.{kind}": packed(unit, kind, head)})


@pytest.mark.soak
@each_case("name, kind", [(name, kind) for name in PACKED for kind in PACKERS])
def test_small_upload_of_each_compression_costs_little(name: str, kind: str, ada: User, warm: None) -> None:
    unit, head = PACKED[name]
    check_cost(ada, {f"a.{kind}": packed(unit, kind, head)})
