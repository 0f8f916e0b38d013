"""Measure seconds and memory of the audit for shared noise on weights of the shapes of Qwen2.5-1.5B, in bfloat16.

    python -m benchmarks.noise_audit

The weights are random: a base, and tuned ones that add noise whose generator is seeded for each tensor, with the same
seed (shared) or another (independent). The audit runs as its command line in a process of its own. Peak memory is the
resident set, which counts pages of the memory-mapped files, 6 GB of weights, although the system may drop them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from benchmarks import results

GOAL_SECONDS, GOAL_GIGABYTES = 60, 8
EXIT_CODES = {"shared": 3, "independent": 0}
LAYERS, HIDDEN, INNER, KEY_VALUES, VOCABULARY = 28, 1536, 8960, 256, 151_936
LAYER = {
    "input_layernorm.weight": (HIDDEN,),
    "mlp.down_proj.weight": (HIDDEN, INNER),
    "mlp.gate_proj.weight": (INNER, HIDDEN),
    "mlp.up_proj.weight": (INNER, HIDDEN),
    "post_attention_layernorm.weight": (HIDDEN,),
    "self_attn.k_proj.bias": (KEY_VALUES,),
    "self_attn.k_proj.weight": (KEY_VALUES, HIDDEN),
    "self_attn.o_proj.weight": (HIDDEN, HIDDEN),
    "self_attn.q_proj.bias": (HIDDEN,),
    "self_attn.q_proj.weight": (HIDDEN, HIDDEN),
    "self_attn.v_proj.bias": (KEY_VALUES,),
    "self_attn.v_proj.weight": (KEY_VALUES, HIDDEN),
}
OUTSIDE = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN), "model.norm.weight": (HIDDEN,)}


def files() -> Iterator[dict[str, tuple[int, ...]]]:
    """Yield name -> shape of the tensors of each file."""
    yield dict(OUTSIDE)
    for layer in range(LAYERS):
        yield {f"model.layers.{layer}.{name}": shape for name, shape in LAYER.items()}


def write(root: Path) -> None:
    """Write the folders base, shared and independent."""
    generator = torch.Generator()
    for folder in ("base", *EXIT_CODES):
        (root / folder).mkdir()
    seed = 0
    for number, shapes in enumerate(files()):
        folders: dict[str, dict[str, Tensor]] = {folder: {} for folder in ("base", *EXIT_CODES)}
        for name, shape in shapes.items():
            seed += 1
            base = torch.randn(shape, generator=generator.manual_seed(10**6 + seed)).mul_(0.02)
            folders["base"][name] = base.bfloat16()
            for kind, noise_seed in (("shared", 0), ("independent", seed)):
                noise = torch.randn(shape, generator=generator.manual_seed(noise_seed))
                folders[kind][name] = noise.mul_(0.005).add_(base).bfloat16()
        for folder, tensors in folders.items():
            save_file(tensors, root / folder / f"model-{number:05}.safetensors")


def measure(root: Path, kind: str) -> None:
    """Audit one kind of weights in a process of its own, and record seconds, peak memory and verdict."""
    command = [sys.executable, "-m", "workers.probes.audit", str(root / "base"), str(root / kind)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    conclusion = output.splitlines()[-1] if output else "no output"
    print(conclusion, flush=True)
    verdict = conclusion.removeprefix("verdict: ").partition(":")[0]
    is_right = process.returncode == EXIT_CODES[kind]
    results.at_most(f"audit of 1.5 B parameters, {kind} noise, seconds", seconds, GOAL_SECONDS, "s")
    results.at_most(
        f"audit of 1.5 B parameters, {kind} noise, peak memory", usage.ru_maxrss / 2**20, GOAL_GIGABYTES, "GiB"
    )
    outcome = results.Status.MET if is_right else results.Status.MISSED
    results.record(results.Result(f"audit of 1.5 B parameters, {kind} noise", verdict, outcome, kind))


def main() -> int:
    """Measure, record, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="esweb-bench-audit-") as folder:
        write(Path(folder))
        for kind in EXIT_CODES:
            measure(Path(folder), kind)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
