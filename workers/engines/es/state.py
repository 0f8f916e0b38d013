"""Progress of an ES run, as a small file in its checkpoints."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from workers.checkpoint_folders import ES_STATE
from workers.engines.constraint import parse_multiplier
from workers.engines.es.lineage import Origin
from workers.engines.es.noise import VERSION
from workers.engines.not_resumable import NotResumable
from workers.tasks.safety import Multiplier

FILE = ES_STATE


@dataclass
class State:
    """Origin of a run and lineage of its weights; updates made; tokens generated, responses scored and GPU-seconds
    spent in training; is the last iteration dead; the λ of a task with a cost; rows of a batch."""

    origin: Origin
    lineage: str
    step: int = 0
    tokens: int = 0
    samples: int = 0
    gpu_seconds: float = 0.0
    dead: bool = False
    multiplier: Multiplier | None = None
    rows: int = 0
    """Rows of a batch; 0 in checkpoints that were saved before the number was stored."""

    @classmethod
    def first(cls, origin: Origin) -> State:
        """Return the state before any update."""
        return cls(origin, origin.lineage())

    @property
    def axes(self) -> dict[str, float]:
        """Return how far the run has come, for the x axes of its curves."""
        return {"tokens": float(self.tokens), "samples": float(self.samples), "gpu_seconds": self.gpu_seconds}

    def save(self, folder: Path) -> None:
        """Write the file into a checkpoint's folder, after all others, since it names the other tensors there."""
        data = {"noise_version": VERSION, "beside": _tensor_hashes(folder), **asdict(self)}
        (folder / FILE).write_text(json.dumps(data, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> State:
        """Read the state. Raise NotResumable: without it a run could not continue as it would have."""
        data = _read(folder)
        if (noise_version := data.pop("noise_version", None)) != VERSION:
            raise NotResumable(
                f"{folder} was saved with noise version {noise_version}; this code makes version {VERSION}"
            )
        if data.pop("beside", None) != _tensor_hashes(folder):
            raise NotResumable(f"{folder} is damaged: its float32 master or adapter is not what its {FILE} names")
        multiplier = parse_multiplier(data.pop("multiplier", None))
        if missing := ({f.name for f in fields(cls)} ^ data.keys() ^ {"multiplier"}) - {"rows"}:
            raise NotResumable(f"{folder / FILE} is of another version of this code: {', '.join(sorted(missing))}")
        return cls(Origin(**data.pop("origin")), **data, multiplier=multiplier)


def _read(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads((folder / FILE).read_bytes())
    except FileNotFoundError as error:
        raise NotResumable(
            f"{folder} has no {FILE}, so it was not saved by an ES run; "
            "to start a new run from its weights, give it as model.path"
        ) from error
    except ValueError as error:
        raise NotResumable(f"{folder / FILE} is damaged: {error}") from error
    if not isinstance(data, dict):
        raise NotResumable(f"{folder / FILE} is damaged: it does not contain an object")
    return data


def _tensor_hashes(folder: Path) -> dict[str, str]:
    """Return the sha256 of the tensors in subfolders of the checkpoint: the float32 master or the adapter, if any."""
    return {file.relative_to(folder).as_posix(): _sha256(file) for file in sorted(folder.glob("*/*.safetensors"))}


def _sha256(file: Path) -> str:
    with file.open("rb") as tensors:
        return hashlib.file_digest(tensors, "sha256").hexdigest()
