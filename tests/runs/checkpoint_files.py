"""Checkpoints on disk without a trainer, and the files of a tar archive."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from asgiref.sync import async_to_sync
from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import StreamingHttpResponse

from runs.models import Run, checkpoint_folder
from tests.runs.full_runs import record
from workers.records import Checkpoint

WEIGHTS = b"weights" * 1000


def save(run: Run, step: int, weights: bytes = WEIGHTS) -> Path:
    """Save a checkpoint of the run's newest attempt, on disk and in the database."""
    attempt = run.newest_attempt()
    assert attempt is not None
    folder = checkpoint_folder(attempt.directory, step)
    fill(folder, weights)
    record(run, [Checkpoint(step, f"checkpoints/{folder.name}", len(weights) + 2, "ab" * 32)])
    return folder


def fill(folder: Path, weights: bytes = WEIGHTS) -> None:
    """Something like a Hugging Face folder."""
    (folder / "adapter").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "adapter" / "model.safetensors").write_bytes(weights)


def close(answer: StreamingHttpResponse) -> None:
    """Ends a response as a server does, but for the connection to the database, which is the test's."""
    request_finished.disconnect(close_old_connections)
    answer.close()
    request_finished.connect(close_old_connections)


def unpack_reply(answer: StreamingHttpResponse) -> dict[str, bytes]:
    """Return name -> contents of a sent download, after checking its announced length."""

    async def read() -> bytes:
        return b"".join([piece async for piece in answer])

    data = async_to_sync(read)()
    close(answer)
    assert len(data) == int(answer["Content-Length"])
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar.getmembers()}  # type: ignore[union-attr]
