"""A kind of ES noise: a random sign for every weight."""

from benchmarks.change_cost.recipe import Create, Edit, Recipe

TEST = '''"""Rademacher noise, whose elements are 1 or -1: drawn, trained, rebuilt, planned, offered and documented."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from runs.launching.config_form import LaunchForm
from tests.workers.engines.es.checkpoints import checkpoint, files
from tests.workers.engines.es.runs import run
from tests.workers.memory_plan.sizes import QWEN2_1_5B, sizes_of
from workers.config import ConfigError, EsConfig, RunConfig
from workers.engines.es.noise import make_noise
from workers.engines.es.rebuild import rebuild
from workers.memory_plan import plan_memory
from workers.models import Loaded
from workers.models.save import weights_sha256
from workers.probes.geometry.nulls import Null
from workers.probes.geometry.random_walk import RandomWalk

PAGE = Path(__file__).parents[4] / "docs" / "config.md"


def test_rademacher_noise_is_signs() -> None:
    noise = make_noise("rademacher").draw([7, -7, 8], "w", torch.zeros(40, 50))

    assert torch.equal(noise.abs(), torch.ones(3, 40, 50))
    assert torch.equal(noise[0], -noise[1]) and abs(float((noise[0] * noise[2]).mean())) < 0.1


def test_rademacher_run_is_rebuilt_to_the_bit(micro: Loaded, tmp_path: Path) -> None:
    run(micro, tmp_path / "run", noise="rademacher", iterations=3)
    rebuild(tmp_path / "run", 3, tmp_path / "rebuilt", from_base=True)

    assert files(tmp_path / "rebuilt") == files(checkpoint(tmp_path / "run", 3))
    assert weights_sha256(tmp_path / "rebuilt") != weights_sha256(micro.path)


def test_rademacher_walk_has_its_own_null() -> None:
    walk = RandomWalk(make_noise("rademacher"), {"w": 1.0}, 1.0, 1.0)

    assert walk.tensor_null("w", (3, 4)) == Null(math.sqrt(12), math.sqrt(12), math.sqrt(12))


def test_rademacher_noise_is_refused_with_vllm() -> None:
    with pytest.raises(ConfigError, match="must be full or low_rank or correlated with es.backend vllm, not "):
        RunConfig.from_json({"method": "es", "es": {"noise": "rademacher", "backend": "vllm"}})


def test_rademacher_noise_is_planned_as_full_noise() -> None:
    full = EsConfig(max_new_tokens=64, prompts=20)
    plans = [
        plan_memory(sizes_of(QWEN2_1_5B), es, prompts=20, longest_prompt=64, card=80 * 10**9, members=30)
        for es in (full, replace(full, noise="rademacher"))
    ]

    assert plans[0] == plans[1]


def test_rademacher_noise_is_offered_and_documented() -> None:
    form = LaunchForm()

    assert 'value="rademacher"' in str(form["es.noise"])
    assert "rademacher: a random sign" in form.fields["es.noise"].help_text
    assert "rademacher: a random sign" in PAGE.read_text(encoding="utf-8")
'''

RECIPE = Recipe(
    title="an ES noise kind",
    name="rademacher",
    before="13 files",
    goal=5,
    steps=(
        Edit(
            "workers/config/es_noise.py",
            '    "correlated": NoiseFacts(),\n',
            '    "correlated": NoiseFacts(),\n    "rademacher": NoiseFacts(back_ends=("native", "transformers")),\n',
        ),
        Edit(
            "workers/config/es.py",
            "first code.\"\"\"\n    rank:",
            "first code.\n    rademacher: a random sign for every weight.\"\"\"\n    rank:",
        ),
        Edit(
            "workers/engines/es/noise.py",
            "NOISE_TYPES: Mapping[NoiseName, type[Noise]] = {cls.kind: cls for cls in (Noise, CorrelatedNoise, "
            "LowRankNoise)}\n",
            '''class RademacherNoise(Noise):
    """A random sign for every element."""

    kind = "rademacher"
    has_kernels = False

    def draw(self, seeds: Sequence[int], name: str, like: Tensor) -> Tensor:
        return super().draw(seeds, name, like).sign_()

    def square_variance(self, shape: Sequence[int]) -> float:
        return 0.0


NOISE_TYPES: Mapping[NoiseName, type[Noise]] = {
    cls.kind: cls for cls in (Noise, CorrelatedNoise, LowRankNoise, RademacherNoise)
}
''',
        ),
        Create("tests/workers/engines/es/test_rademacher_noise.py", TEST),
    ),
    tests=(
        "tests/workers/engines/es/test_rademacher_noise.py", "tests/workers/engines/es/test_noise.py",
        "tests/workers/config/test_reference.py",
    ),
    regenerate=(
        ("sh", "-c", ".venv/bin/python -B -m workers.config > docs/config.md"),
        ("sh", "-c", ".venv/bin/python -B -m runs.translation > marked.py && mv marked.py runs/translation/marked.py"),
    ),
)  # fmt: skip
