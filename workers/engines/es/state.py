"""How far an ES run has come, as a small file in its checkpoints."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from workers.engines.es.noise import VERSION
from workers.engines.es.trained import NotResumable

FILE = "es-state.json"


@dataclass
class State:
    """Updates made; tokens generated, answers scored and GPU-seconds spent in training; is the last iteration dead;
    and the scales of the tensors' noise, which belong to the weights that the run began with."""

    step: int = 0
    tokens: int = 0
    samples: int = 0
    gpu_seconds: float = 0.0
    dead: bool = False
    scales: dict[str, float] = field(default_factory=dict)

    @property
    def axes(self) -> dict[str, float]:
        """How far the run has come, for the x axes of its curves."""
        return {"tokens": float(self.tokens), "samples": float(self.samples), "gpu_seconds": self.gpu_seconds}

    def save(self, folder: Path) -> None:
        """Writes the file into a checkpoint's folder."""
        text = json.dumps({"noise_version": VERSION, **asdict(self)}, indent=1)
        (folder / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> State:
        """Reads it back. Raises NotResumable: without it a run could not go on as it would have."""
        try:
            data = json.loads((folder / FILE).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise NotResumable(
                f"{folder} has no {FILE}, so it was not saved by an ES run; "
                "to start a new run from its weights, give it as model.path"
            ) from error
        if (found := data.pop("noise_version")) != VERSION:
            raise NotResumable(f"{folder} was saved with noise version {found}; this code makes version {VERSION}")
        return cls(**data)
