"""A whole training with the real vLLM as the generator, on GPUs or on a CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workers.engines.es.vllm.engines import PLUGIN, PYTHON, save_wide_model
from tests.workers.engines.grpo.test_processes import GRPO, config_file, values
from workers.models import Loaded
from workers.preflight.vllm_interpreter import VLLM_VARIABLES

pytestmark = pytest.mark.skipif(not PYTHON, reason="ESWEB_VLLM_PYTHON names no interpreter of an environment with vLLM")
VLLM = {"gpu_memory_utilization": 0.1, "max_model_length": 256}
STEPS = 4


@pytest.fixture(scope="module")
def model(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_wide_model(micro, tmp_path_factory.mktemp("model"))


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Return a folder with the plugin of vLLM that leaves the weights as they are on a CPU."""
    metadata = tmp_path / "plugin" / "esweb_vllm_test-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata.parent / "esweb_vllm_test.py").write_text(PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: esweb-vllm-test\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[vllm.general_plugins]\nesweb = esweb_vllm_test:keep_weights\n")
    return metadata.parent


def train(model: Path, plugin: Path, folder: Path, processes: int, **grpo: Any) -> Path:
    """Train to the end, and return the folder of the records."""
    settings = GRPO | {
        "max_steps": STEPS, "num_iterations": 1, "per_device_train_batch_size": 16, "processes_per_node": processes,
        "vllm": VLLM,
    }  # fmt: skip
    sections = {
        "model": {"path": str(model), "device": "auto" if torch.cuda.is_available() else "cpu"},
        "compute": {"cores": 2, "gpus": processes},
    }
    config = config_file(folder, settings | grpo, **sections)
    path = os.pathsep.join(filter(None, (str(plugin), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-m", "workers.train", str(config), "--out", str(folder / "out")],
        env=os.environ | {"PYTHONPATH": path, "VLLM_CPU_KVCACHE_SPACE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.mark.parametrize(
    "processes",
    [
        1,
        pytest.param(
            2, marks=pytest.mark.skipif(torch.cuda.device_count() == 1, reason="this machine has one GPU alone")
        ),
    ],
)
def test_vllm_generates_with_the_weights_of_each_step(
    model: Path, plugin: Path, tmp_path: Path, processes: int
) -> None:
    out = train(model, plugin, tmp_path, processes)
    from_base, from_trainer = (values(out, f"train/{name}") for name in ("kl/k3", "sampling/kl_k3"))
    assert list(from_trainer) == [1, 2, 3, 4]
    assert set(values(out, "train/sampling/unscored_tokens").values()) == {0.0}
    # The policy has left the base model. So would vLLM's from the trainer's, if it had not got the weights.
    assert from_base[STEPS] > 0.05
    assert max(from_trainer.values()) < 0.01


def test_vllm_does_not_report_its_use() -> None:
    def is_reported(variables: Mapping[str, str]) -> bool:
        program = "from vllm.usage.usage_lib import is_usage_stats_enabled; print(is_usage_stats_enabled())"
        inherited = {name: value for name, value in os.environ.items() if name not in VLLM_VARIABLES}
        done = subprocess.run(
            [PYTHON, "-c", program], env=inherited | dict(variables), capture_output=True, text=True, check=True
        )
        return done.stdout.split()[-1] == "True"

    assert is_reported({})
    assert not is_reported(VLLM_VARIABLES)
