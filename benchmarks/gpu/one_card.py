"""ES on one card against vLLM, both in one run: 30 members × 200 prompts with low-rank and with full noise.

    python3 -m benchmarks.gpu.one_card [--vllm PYTHONPATH] [--members 30] [--skip 7b,full,…]

`--vllm` is the folder that holds vLLM's packages, where the rest of this program must not see them; without it the
reference is not measured. A member's seconds hold its noise, the reading of prompts, the tail of long answers, their
text and a length reward. Updates are measured apart.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import results
from benchmarks.gpu.qwen import QWEN_1B, QWEN_7B, QwenSizes, load_random, write_folder
from benchmarks.gpu.reference import measure_reference
from benchmarks.gpu.workload import LONGEST, MEMBERS, PROMPT_TOKENS, SIGMA, Workload, draw_workload, length_reward
from workers.config import EsConfig
from workers.engines.es.captured_backend import CapturedBackEnd
from workers.engines.es.captured_plan import batches_of, plan_on_card
from workers.engines.es.noise import make_noise
from workers.engines.es.perturbation import Perturbation, scales_of
from workers.engines.es.trainable import make_trainable
from workers.models.decoder.gpu import Query

FULL_7B_MEMBERS = 6


class FixedLengths(CapturedBackEnd):
    """A back end whose answers have the lengths of the workload."""

    workload: Workload

    def _query(self, member: int, index: int, ids: Sequence[Sequence[int]]) -> Query:
        return Query(member, ids[index], self.workload.lengths[index])


def main() -> int:
    """Measure everything. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vllm", help="folder with vLLM's packages")
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--skip", default="", help="of low,full,7b-low,7b-full")
    options = parser.parse_args()
    skipped = set(filter(None, options.skip.split(",")))
    print(f"card: {torch.cuda.get_device_name()}; torch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for sizes, at in ((QWEN_1B, folder / "1b"), (QWEN_7B, folder / "7b")):
            write_folder(sizes, at)
        peer = measure_reference(folder / "1b", options.vllm)
        for noise, goal in (("low_rank", 8.0), ("full", 2.5)):
            if noise.partition("_")[0] not in skipped:
                _measure(QWEN_1B, folder / "1b", noise, options.members, "1.5B", peer, goal)
        for noise, members in (("low_rank", options.members), ("full", FULL_7B_MEMBERS)):
            if f"7b-{noise.partition('_')[0]}" not in skipped:
                _measure(QWEN_7B, folder / "7b", noise, members, "7B", None, 0.0)
    return results.exit_code()


def _measure(
    sizes: QwenSizes, folder: Path, noise: Any, members: int, name: str, peer: dict[str, Any] | None, goal: float
) -> None:
    """Measure iterations of one model and kind of noise."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    label, device = f"{name}, {noise}", torch.device("cuda")
    began = time.perf_counter()
    es = EsConfig(population=members, sigma=SIGMA, alpha=SIGMA / 2, noise=noise, max_new_tokens=LONGEST)
    with torch.no_grad():
        loaded, workload = load_random(sizes, folder, device), draw_workload(sizes.vocabulary)
        parameters = make_trainable(loaded, None, 0)
        plan = plan_on_card(loaded, es, prompts=len(workload.prompts), longest_prompt=PROMPT_TOKENS)
        perturbation = Perturbation(make_noise(noise), SIGMA, scales_of(parameters.master, False))
        backend = FixedLengths(loaded, parameters, perturbation, es, batches_of(plan))
        backend.workload = workload
        torch.cuda.synchronize()
        print(f"{label}: ready after {time.perf_counter() - began:.1f} s. {plan.describe()}", flush=True)
        seconds = [_iterate(backend, range(first, first + members), workload) for first in (1, 1001, 2001)]
        update = [_timed(lambda: backend.update(dict.fromkeys(range(1, members + 1), 1e-6))) for _ in range(2)]
    a_member, first = min(seconds[1:]) / members, seconds[0]
    tokens = workload.tokens * members / min(seconds[1:])
    phases = ", ".join(f"{phase} {spent:.2f}" for phase, spent in backend.phases.take().items())
    print(
        f"{label}: iterations {', '.join(f'{s:.2f}' for s in seconds)} s; {tokens:.0f} tokens/s; {phases}", flush=True
    )
    if peer is None:
        results.without_goal(label, a_member, "s a member")
    else:
        ratio = peer["detokenising"]["median"] / a_member
        results.times_peer(label, a_member, "s a member", ratio=ratio, goal=goal, peer="vLLM, detokenising")
        ids = peer["token_ids"]["median"] / a_member
        results.without_goal(f"{label}, against token ids", a_member, "s a member", ratio=ids, peer="vLLM, token ids")
    results.at_most(f"{label}: first iteration to a later one", first / min(seconds[1:]), 1.3, "x")
    results.at_most(f"{label}: update from {members} members", update[-1], 0.3, "s")
    peak, planned = torch.cuda.max_memory_allocated(), plan.planned
    apart = 100 * abs(peak / planned - 1)
    results.at_most(f"{label}: {peak / 1e9:.1f} GB at most, {planned / 1e9:.1f} planned", apart, 5, "%")


def _iterate(backend: FixedLengths, seeds: Sequence[int], workload: Workload) -> float:
    """Return the seconds of an iteration's answers and rewards."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    answers = backend.answer(list(seeds), workload.prompts)
    rewards = [[length_reward(answer.text) for answer in of_member] for of_member in answers]
    torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    lengths = [[len(answer.tokens) for answer in of_member] for of_member in answers]
    if lengths != [workload.lengths] * len(seeds) or len(rewards) != len(seeds):
        raise RuntimeError("answers have other lengths than the workload")
    return seconds


def _timed(call: Any) -> float:
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
