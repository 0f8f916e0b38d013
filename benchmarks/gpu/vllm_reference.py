"""Measure vLLM as published ES codes use it: one engine in this process, member after member.

    python3 -m benchmarks.gpu.vllm_reference FOLDER [--members 5]

Of each member: noise is added to every parameter in place, one generator a tensor; all prompts are answered; the noise
is subtracted again. Prints one line of JSON: seconds a member with detokenising, as these codes do, and without.
FOLDER holds a config and a tokenizer, whose weights vLLM draws itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ |= {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "1",
    "HF_HUB_OFFLINE": "1",
}

import torch
from vllm import LLM, SamplingParams

from benchmarks.gpu.workload import LONGEST, PROMPT_TOKENS, SIGMA, Workload, draw_workload, length_reward


def main() -> int:
    """Measure both ways. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--members", type=int, default=5)
    options = parser.parse_args()
    began = time.perf_counter()
    vocabulary = json.loads((options.folder / "config.json").read_text())["vocab_size"]
    engine = LLM(
        model=str(options.folder),
        load_format="dummy",
        dtype="bfloat16",
        max_model_len=PROMPT_TOKENS + LONGEST + 8,
        gpu_memory_utilization=0.8,
        enable_prefix_caching=False,
        seed=0,
    )
    measured: dict[str, Any] = {"start": time.perf_counter() - began}
    for name, detokenize in (("detokenising", True), ("token_ids", False)):
        seconds = [_measure(engine, draw_workload(vocabulary), seed, detokenize) for seed in range(options.members + 1)]
        # The first member warms the engine up.
        measured[name] = {"median": statistics.median(seconds[1:]), "all": seconds}
    print(f"VLLM {json.dumps(measured)}", flush=True)
    return 0


def _measure(engine: LLM, workload: Workload, seed: int, detokenize: bool) -> float:
    """Return the seconds of one member."""
    params = [
        SamplingParams(temperature=0.0, max_tokens=length, ignore_eos=True, detokenize=detokenize)
        for length in workload.lengths
    ]
    inputs = [{"prompt_token_ids": ids} for ids in workload.prompts]
    torch.cuda.synchronize()
    began = time.perf_counter()
    engine.apply_model(lambda model: _perturb(model, seed, SIGMA))
    outputs = engine.generate(inputs, params, use_tqdm=False)
    engine.apply_model(lambda model: _perturb(model, seed, -SIGMA))
    rewards = [length_reward(output.outputs[0].text) for output in outputs]
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    if sum(len(output.outputs[0].token_ids) for output in outputs) != workload.tokens or len(rewards) != len(inputs):
        raise RuntimeError("vLLM's answers have other lengths than were asked of it")
    return seconds


def _perturb(model: torch.nn.Module, seed: int, scale: float) -> None:
    generator = torch.Generator(device="cuda")
    for number, parameter in enumerate(model.parameters()):
        generator.manual_seed(1000 * seed + number)
        noise = torch.randn(parameter.shape, generator=generator, device="cuda", dtype=parameter.dtype)
        parameter.data.add_(noise, alpha=scale)


if __name__ == "__main__":
    sys.exit(main())
