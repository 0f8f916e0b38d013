"""Engines of the real vLLM for tests, on a model that vLLM can run on a CPU as well."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from workers.config import ModelConfig, RunConfig
from workers.engine_nodes.links import EngineCommand
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group import EngineProcess, EngineSetup
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.es.trainable import make_trainable
from workers.engines.es.vllm.setup import VllmSetup
from workers.models import Loaded, load

PROGRAM = "workers.engines.es.vllm.program"
PYTHON = os.environ.get("ESWEB_VLLM_PYTHON", "")
PROMPTS = [[5, 6, 7, 8], [100, 101, 102], [44] * 9, [300, 301, 302, 303, 304]]
NEW_TOKENS = 12
ES = {"sigma": 0.02, "alpha": 0.1, "anchor_decay": 0.5, "max_new_tokens": NEW_TOKENS, "population": 4}
PLUGIN = """
from vllm import _custom_ops

def keep_weights():
    # On a CPU, vLLM would pack the weights for oneDNN, away from its parameters.
    _custom_ops._supports_onednn = False
"""


def save_wide_model(micro: Loaded, folder: Path, **changes: Any) -> Path:
    """Save a random model like micro, with heads that are wide enough for vLLM's attention on a CPU."""
    shape = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "initializer_range": 0.15}
    config = copy.deepcopy(AutoConfig.from_pretrained(micro.path))
    for name, value in (shape | changes).items():
        setattr(config, name, value)
    torch.manual_seed(0)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    micro.tokenizer.save_pretrained(folder)
    return folder


def load_on_cpu(folder: Path, dtype: Any = "float32") -> Loaded:
    return load(ModelConfig(path=str(folder), device="cpu", dtype=dtype))


def our_backend(folder: Path, dtype: str = "float32") -> DecoderBackEnd:
    """Return the project's own back end for the same run."""
    loaded, es = load_on_cpu(folder, dtype), RunConfig.from_json({"method": "es", "es": ES}).es_section()
    weights = make_trainable(loaded, None, 0, anchored=True)
    perturbation = Perturbation.from_config(es, scales_of(weights.master, es.layer_scale))
    return DecoderBackEnd(loaded, weights, perturbation, es, rows=16)


def engine_setup(folder: Path, directory: Path, **vllm: Any) -> EngineSetup:
    """Return the setup of an engine that trains the model in this folder. `vllm` changes its own settings."""
    loaded = load_on_cpu(folder)
    names = tuple(name for name, _ in loaded.model.named_parameters())
    settings = {
        "names": names, "dtype": "float32", "ends": (loaded.tokenizer.eos_token_id,), "context_tokens": 64, "rows": 8,
        "kv_cache_bytes": 1 << 26, "master_on_host": False, "tensor_parallel": 1,
    }  # fmt: skip
    config = RunConfig.from_json({"method": "es", "es": ES, "model": {"path": str(folder)}}).to_json()
    config = {key: value for key, value in config.items() if key in ("method", "seed", "es", "model")}
    scales = dict.fromkeys(names, 1.0)
    return EngineSetup(
        config, BatchPlan.of_rows(16, 4), scales, "origin", directory / "replay.jsonl", 1, VllmSetup(**settings | vllm)
    )


@contextmanager
def real_engine(directory: Path, setup: EngineSetup, checkpoint: Path | None = None) -> Iterator[EngineProcess]:
    """Start an engine in vLLM's environment, and end it after the block."""
    package = directory / "plugin"
    metadata = package / "esweb_vllm_test-1.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (package / "esweb_vllm_test.py").write_text(PLUGIN)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: esweb-vllm-test\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[vllm.general_plugins]\nesweb = esweb_vllm_test:keep_weights\n")
    process = EngineProcess.here(EngineCommand(PYTHON, PROGRAM, {"PYTHONPATH": str(package)}))
    try:
        process.start(setup, checkpoint)
        yield process
    finally:
        process.kill()
