"""Engines are killed and frozen between random messages, and every run ends with the bits of one engine.

`make soak PART=engines` continues until its time is over, and trains the tiny model too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import soak_plugin
from tests.workers.engines.es.engine_faults import FREEZE, KILL, inject, random_faults
from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import run
from workers.config import ModelConfig
from workers.models import Loaded, load

SEED, ROUNDS = soak_plugin.seed(131), 1
FAULTS, MESSAGES = 3, 16
"""Faults in a run, and the messages from which they are sampled: even a run without answers has as many."""
SOAK_FAULTS, SOAK_MESSAGES = 40, 300
"""Most of them kills: to notice that an engine hangs takes far longer than that it is dead."""
IN_PAIRS: dict[str, Any] = {"rows": 8, "hash_every": 2, "checkpoint_every": 3, "iterations": 5}
KINDS: tuple[dict[str, Any], ...] = (
    {"noise": "low_rank"},
    {"noise": "full"},
    {"lora": {"rank": 2}},
    {"noise": "correlated", "antithetic": True},
)


@dataclass
class ReferenceRuns:
    """Runs with one engine, to which all others must be equal."""

    model: Loaded
    folder: Path
    digests: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def result_of(self, options: dict[str, Any]) -> tuple[str, bytes]:
        """Return the digest and the replay log of a run with these options."""
        key = repr(options)
        if key not in self.digests:
            directory = self.folder / f"straight-{len(self.digests)}"
            weights = digest(run(self.model, directory, **options))
            self.digests[key] = weights, (directory / "replay.jsonl").read_bytes()
        return self.digests[key]


def test_random_engine_faults_leave_weights_unchanged(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_soak, sent = soak_plugin.SECONDS > 0, 0
    models = [micro, load(ModelConfig(path="tiny", device="cpu"))] if is_soak else [micro]
    straight = [ReferenceRuns(model, tmp_path / str(number)) for number, model in enumerate(models)]
    for number in soak_plugin.rounds(ROUNDS, "runs"):
        draw = random.Random(f"{SEED}-{number}")
        reference = draw.choice(straight)
        engines = draw.choice((2, 3)) if is_soak else 2
        options = IN_PAIRS | draw.choice(KINDS) | ({"iterations": 15} if is_soak else {})
        seed = draw.randrange(2**32)
        faults = random_faults(seed, FAULTS, MESSAGES)
        if is_soak:
            faults = random_faults(seed, SOAK_FAULTS, SOAK_MESSAGES, (KILL, KILL, KILL, FREEZE))
        directory = tmp_path / f"round-{number}"
        with monkeypatch.context() as patch:
            inject(patch, faults)
            weights = digest(run(reference.model, directory, engines=engines, **options))
        note = f"round {number} of seed {SEED}: {engines} engines, {options}, {faults.sent}"
        assert (weights, (directory / "replay.jsonl").read_bytes()) == reference.result_of(options), note
        sent += len(faults.sent)
        assert is_soak or len(faults.sent) == FAULTS, note
        soak_plugin.count(len(faults.sent), "kills and freezes")
    assert sent
