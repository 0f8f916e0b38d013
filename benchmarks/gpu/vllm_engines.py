"""ES with several engines of vLLM on one card, compared with vLLM member after member in the same run.

    python3 -m benchmarks.gpu.vllm_engines --vllm PYTHONPATH [--engines 3] [--members 12] [--without-mps]
    python3 -m benchmarks.gpu.vllm_engines --rehearse --python PROGRAM

`--vllm` is the folder that holds vLLM's packages, where this program must not see them; `--python` the interpreter of
the engines, this one by default. They share the card by CUDA's Multi-Process Service, unless `--without-mps` is given.
Engines are those of a run (`es.backend: vllm`), started one after another; each takes the next member when it is free.
A member's seconds hold its noise, its responses, the writing of the centre, and, here, their text and a length reward.
`--rehearse` runs the program with a small model on a CPU, and compares nothing.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer

from benchmarks import results
from benchmarks.gpu.engine_pool import EnginePool, PeakMemory
from benchmarks.gpu.qwen import QWEN_1B, QwenSizes, write_model
from benchmarks.gpu.reference import measure_reference
from benchmarks.gpu.vllm_fixed_lengths import LENGTHS
from benchmarks.gpu.workload import LONGEST, PROMPT_TOKENS, SIGMA, Workload, draw_workload, length_reward
from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group import EngineSetup
from workers.engines.es.vllm.setup import VllmSetup

GOAL = 1.6
"""Times the reference with detokenising. 1.8 would be as fast as three plain engines of vLLM."""
UPDATE_GOAL = 0.3
ITERATIONS = 2
SMALL = QwenSizes(64, 128, 2, 1, 2000, is_tied=True, layers=2)
KV_MARGIN = 1.1
"""Blocks of keys and values are filled in part only."""
KV_ALONE = 4 << 30
"""Bytes of keys and values of an engine on a CPU."""


@dataclass(frozen=True)
class Machine:
    """The device, the model's name and sizes, and the responses of a member."""

    device: str
    model: str
    sizes: QwenSizes
    workload: Workload

    @property
    def kv_cache_bytes(self) -> int:
        """Return the bytes of the keys and values of all responses at once, in 16 bits."""
        if self.device == "cpu":
            return KV_ALONE
        per_token = 2 * 2 * self.sizes.layers * self.sizes.kv_heads * (self.sizes.hidden // self.sizes.heads)
        return int(KV_MARGIN * per_token * len(self.workload.prompts) * (PROMPT_TOKENS + LONGEST))


def main() -> int:
    """Measure the reference and the engines. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vllm", help="folder with vLLM's packages")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the engines")
    parser.add_argument("--engines", type=int, default=3)
    parser.add_argument("--members", type=int, default=12)
    parser.add_argument("--without-mps", action="store_true", help="let the GPU serve one engine at a time")
    parser.add_argument("--rehearse", action="store_true", help="a small model on the CPU")
    options = parser.parse_args()
    machine = _rehearsal() if options.rehearse else Machine("cuda", "1.5B", QWEN_1B, draw_workload(QWEN_1B.vocabulary))
    card = "CPU" if options.rehearse else torch.cuda.get_device_name()
    print(f"{card}; torch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = Path(name) / "model"
        write_model(machine.sizes, folder, torch.device(machine.device))
        _free_memory(machine)
        peer = None if options.rehearse else measure_reference(folder, options.vllm)
        with closing(_start(machine, folder, options)) as pool:
            try:
                _measure(machine, folder, pool, options.members, peer)
            except Exception:
                pool.print_logs()
                raise
    return results.exit_code()


def _rehearsal() -> Machine:
    full = draw_workload(SMALL.vocabulary)
    return Machine("cpu", "small", SMALL, Workload(full.prompts[:6], [min(length, 24) for length in full.lengths[:6]]))


def _free_memory(machine: Machine) -> None:
    """Leave the card to the processes that are measured."""
    gc.collect()
    if machine.device == "cuda":
        torch.cuda.empty_cache()


def _start(machine: Machine, folder: Path, options: argparse.Namespace) -> EnginePool:
    """Return a pool of engines that are not started."""
    names, prompts = machine.sizes.shapes(), machine.workload.prompts
    es = {
        "backend": "vllm", "noise": "full", "population": options.members, "sigma": SIGMA, "max_new_tokens": LONGEST,
        "engines": options.engines,
    }  # fmt: skip
    config = {"method": "es", "seed": 7, "es": es, "model": {"path": str(folder), "device": machine.device}}
    vllm = VllmSetup(
        names=tuple(names), dtype="bfloat16", ends=(), context_tokens=PROMPT_TOKENS + LONGEST + 8, rows=len(prompts),
        kv_cache_bytes=machine.kv_cache_bytes, master_on_host=False, tensor_parallel=1,
    )  # fmt: skip
    scales, plan = dict.fromkeys(names, 1.0), BatchPlan(len(prompts), 1)
    setup = EngineSetup(config, plan, scales, "origin", folder / "replay.jsonl", 4, vllm)
    with_mps = machine.device == "cuda" and options.engines > 1 and not options.without_mps
    return EnginePool(options.engines, setup, folder.parent, options.python, options.vllm, with_mps=with_mps)


def _measure(machine: Machine, folder: Path, pool: EnginePool, members: int, peer: dict[str, Any] | None) -> None:
    """Start the engines, and measure iterations of their members, an update and their hashes."""
    label, workload = f"{machine.model}, full, {pool.count} engines of vLLM", machine.workload
    with PeakMemory(machine.device) as memory:
        starts = pool.start("benchmarks.gpu.vllm_fixed_lengths", {LENGTHS: workload.lengths})
        for number, start in enumerate(starts):
            results.without_goal(f"start of engine {number}", start, "s")
        pool.send_prompts(workload.prompts)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        # The first members of each engine compile what is left.
        seconds = [_iterate(pool, range(1, pool.count + 1), workload, tokenizer)]
        for first in range(1001, 1001 + 1000 * ITERATIONS, 1000):
            seconds.append(_iterate(pool, range(first, first + members), workload, tokenizer))
        update = [pool.update(dict.fromkeys(range(1, members + 1), 1e-6)) for _ in range(2)]
        hashes = pool.weights_hashes()
    a_member = min(seconds[1:]) / members
    print(
        f"{label}: first {seconds[0]:.2f} s for {pool.count} members, iterations of {members} members "
        f"{', '.join(f'{s:.2f}' for s in seconds[1:])} s; {workload.tokens / a_member:.0f} tokens/s; "
        f"{pool.describe_phases()}",
        flush=True,
    )
    if peer is None:
        results.without_goal(label, a_member, "s a member")
    else:
        ratio = peer["detokenising"]["median"] / a_member
        results.times_peer(label, a_member, "s a member", ratio=ratio, goal=GOAL, peer="vLLM, detokenising")
        ids = peer["token_ids"]["median"] / a_member
        results.without_goal(f"{label}, against token ids", a_member, "s a member", ratio=ids, peer="vLLM, token ids")
    results.at_most(f"{label}: update from {members} members", update[-1], UPDATE_GOAL, "s")
    results.at_most(f"{label}: hashes after two updates", len(set(hashes)), 1, "different")
    if machine.device == "cuda":
        results.without_goal(f"{label}: peak memory of the card", memory.peak / 1e9, "GB")


def _iterate(pool: EnginePool, seeds: range, workload: Workload, tokenizer: Any) -> float:
    """Return the seconds until the last member of these seeds has its rewards."""
    began = time.perf_counter()
    rewards: list[list[float]] = []
    for responses in pool.answer(seeds):
        if [len(response.tokens) for response in responses] != workload.lengths:
            raise RuntimeError("an engine's responses have other lengths than the workload")
        texts = tokenizer.batch_decode([response.tokens for response in responses])
        rewards.append([length_reward(text) for text in texts])
    if len(rewards) != len(seeds):
        raise RuntimeError(f"{len(rewards)} of {len(seeds)} members have rewards")
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
