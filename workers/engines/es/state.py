"""How far an ES run has come, as a small file in its checkpoints."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from workers.engines.constraint import multiplier_of
from workers.engines.es.lineage import Origin
from workers.engines.es.noise import VERSION
from workers.engines.resuming import NotResumable
from workers.tasks.safety import Multiplier

FILE = "es-state.json"


@dataclass
class State:
    """The origin of a run and the lineage of its weights; updates made; tokens generated, answers scored and
    GPU-seconds spent in training; is the last iteration dead; the λ of a task with a cost; rows of a batch."""

    origin: Origin
    lineage: str
    step: int = 0
    tokens: int = 0
    samples: int = 0
    gpu_seconds: float = 0.0
    dead: bool = False
    multiplier: Multiplier | None = None
    rows: int = 0
    """0 in checkpoints that were saved before the number was stored."""

    @classmethod
    def first(cls, origin: Origin) -> State:
        """Before any update."""
        return cls(origin, origin.lineage())

    @property
    def axes(self) -> dict[str, float]:
        """Return how far the run has come, for the x axes of its curves."""
        return {"tokens": float(self.tokens), "samples": float(self.samples), "gpu_seconds": self.gpu_seconds}

    def save(self, folder: Path) -> None:
        """Writes the file into a checkpoint's folder, after all others: it names what lies beside the weights."""
        data = {"noise_version": VERSION, "beside": _beside(folder), **asdict(self)}
        (folder / FILE).write_text(json.dumps(data, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> State:
        """Reads it back. Raises NotResumable: without it a run could not go on as it would have."""
        data = _read(folder)
        if (found := data.pop("noise_version", None)) != VERSION:
            raise NotResumable(f"{folder} was saved with noise version {found}; this code makes version {VERSION}")
        if data.pop("beside", None) != _beside(folder):
            raise NotResumable(f"{folder} is damaged: its float32 master or adapter is not what its {FILE} names")
        multiplier = multiplier_of(data.pop("multiplier", None))
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
        raise NotResumable(f"{folder / FILE} is damaged: it holds no object")
    return data


def _beside(folder: Path) -> dict[str, str]:
    """sha256 of the tensors in folders of the checkpoint: the float32 master or the adapter, where there is one."""
    return {file.relative_to(folder).as_posix(): _sha256(file) for file in sorted(folder.glob("*/*.safetensors"))}


def _sha256(file: Path) -> str:
    with file.open("rb") as tensors:
        return hashlib.file_digest(tensors, "sha256").hexdigest()
