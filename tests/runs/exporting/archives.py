"""Read exported archives, and runs with records of every kind to export."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync

from runs.exporting.attempt_folder import Parts
from runs.exporting.run_export import run_archive
from runs.exporting.zip_stream import zip_pieces
from runs.models import Run
from tests.runs import full_runs
from tests.runs.attempt_records import answer
from workers.records import Attack, AttackExample, Environment, Gpu, Metric, Probe, ProbeValue, Record


def archive_of(run: Run, parts: Parts | None = None) -> dict[str, bytes]:
    """Return the files of a run's export, by their names."""
    return unzip(b"".join(zip_pieces(run_archive(run, parts or Parts(), run.created_by))))


def unzip_reply(reply: Any) -> dict[str, bytes]:
    """Return the files of a zip that is sent in pieces."""

    async def read() -> bytes:
        return b"".join([piece async for piece in reply])

    return unzip(async_to_sync(read)())


def unzip(data: bytes) -> dict[str, bytes]:
    """Return name -> content of the files in a zip, each of which is intact."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def unpack_to(folder: Path, files: dict[str, bytes]) -> Path:
    """Write the files of an archive below a folder, and return it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


ENVIRONMENT = Environment(
    "node7",
    "Debian 12",
    "3.11.7",
    cores=8,
    code="ab" * 32,
    gpus=(Gpu("NVIDIA H100", 81_920),),
    packages={"torch": "2.9"},
)


def records_of_each_kind() -> list[Record]:
    """Return records of each kind, with numbers that JSON has not, and prompts that share a name."""
    return [
        ENVIRONMENT,
        *full_runs.a_bit_of_everything((0, 5, 10)),
        Metric(11, {"reward/mean": math.nan, "kl": math.inf, "train/loss": -0.0, "tiny": 5e-324}),
        Metric(12, {"reward/mean": 0.1 + 0.2}, {"tokens": 1e15 + 1}),
        answer(11, "Paris", prompt_id="france", prompt="Capital of France?", target="Paris", categories=("geo",)),
        answer(12, "Rom", prompt_id="france", prompt="Capital of Italy?", target="Rome", reward=math.nan,
               parts={"x": math.nan}),
        answer(12, "Lyon", prompt_id="france", prompt="Capital of France?", target="Paris", sample=1),
        Probe(12, "magnitude", "norm", "abc@12", (ProbeValue(1.5, 10, tensor="all", low=1.0, null=0.0),), "base"),
        Attack(12, "empty", "nothing", "resists", 4, 0.25, 0.0, 0.5,
               examples=(AttackExample("france", "Capital?", "", 0.0, 1.0, False),)),
    ]  # fmt: skip
