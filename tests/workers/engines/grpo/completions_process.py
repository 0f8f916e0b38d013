"""One of several processes of a training that records its completions: `python -m … OUT`, with torchrun's variables."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch.distributed as dist
from accelerate.utils import gather_object

from tests.workers.engines.grpo.test_completions import ByLength, train
from workers.config import ModelConfig
from workers.models import load

OPTIONS: dict[str, Any] = {
    "per_device_train_batch_size": 6,
    "gradient_accumulation_steps": 2,
    "extra": {"steps_per_generation": 1},
}


def main(out: Path) -> None:
    """Train the micro model, and write the records and TRL's log of this process to OUT/<rank>.json.

    A step has two generations of three groups of four. The second group of each is spread over both processes.
    """
    warnings.simplefilter("ignore")
    rank, world = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE"))
    dist.init_process_group("gloo", init_method=f"file://{out}/rendezvous", rank=rank, world_size=world)
    micro = load(ModelConfig(path="micro", device="cpu"), needs_transformers=True)
    with tempfile.TemporaryDirectory() as folder:
        training = train(micro, Path(folder), rewards=GatheringReward(), **OPTIONS)
    result: dict[str, Any] = {"responses": [asdict(r) for r in training.responses], "logged": training.logged}
    (out / f"{rank}.json").write_text(json.dumps(result))


class GatheringReward(ByLength):
    """A reward function whose first process has the scores of all processes."""

    def __call__(self, completions: Any, completion_ids: Any, **arguments: Any) -> list[float]:
        rewards = super().__call__(completions, completion_ids, **arguments)
        self.scores = gather_object(list(self.scores))
        return rewards


if __name__ == "__main__":
    main(Path(sys.argv[1]))
