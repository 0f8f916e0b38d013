"""Measure an evaluation on one card: 32 greedy responses of 32 tokens by a model of 135 M parameters, with its KL.

    python3 -m benchmarks.gpu.evaluation

The first evaluation compiles kernels that are not in the cache folder, and captures the steps. Weights are random, so
that no token ends a response early. The program also checks that the responses do not depend on the other prompts, and
that those in float32 are those of the decoder without captured steps, which is the peer.
"""

from __future__ import annotations

import copy
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import torch

from benchmarks import results
from benchmarks.gpu.qwen import QwenSizes, load_random, write_folder
from workers import tasks
from workers.config import EvaluationConfig
from workers.config.cache import share_compiled_code
from workers.config.tasks import TaskConfig
from workers.evaluation import Evaluator
from workers.models import Loaded
from workers.models.decoder import Decoder, evaluating_decoder

SIZES = QwenSizes(576, 1536, 9, 3, 49_152, is_tied=True, layers=30)
PROMPTS, TOKENS, REPEATS = 32, 32, 9
FIRST_GOAL, GOAL = 2.0, 0.35
"""Seconds."""


def main() -> int:
    """Measure everything. Return the exit code."""
    share_compiled_code()
    device = torch.device("cuda")
    print(f"card: {torch.cuda.get_device_name()}; torch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        write_folder(SIZES, Path(name))
        loaded = load_random(SIZES, Path(name), device)
        task = tasks.make(TaskConfig())
        evaluator = Evaluator(loaded, task, EvaluationConfig(prompts=PROMPTS, samples=0), TOKENS)
        captured = evaluating_decoder(loaded.model, loaded.tokenizer)
        evaluate = partial(_seconds, evaluator, loaded)
        first, later = evaluate(captured), [evaluate(captured) for _ in range(REPEATS)]
        _check(loaded)
        eager = Decoder(loaded.model, loaded.tokenizer)
        peer = [evaluate(eager) for _ in range(REPEATS)]
    results.at_most("first evaluation", first, FIRST_GOAL, "s")
    results.at_most("later evaluation, median", median(later), GOAL, "s")
    ratio = median(peer) / median(later)
    results.without_goal("later evaluation", median(later), "s", ratio=ratio, peer="the decoder without captured steps")
    return results.exit_code()


def _check(loaded: Loaded) -> None:
    """Raise RuntimeError if other prompts change a response, or captured steps one in float32."""
    prompts = [[3 + (7919 * row + 13 * at) % 40_000 for at in range(12 + row)] for row in range(PROMPTS)]
    exact = replace(loaded, model=copy.deepcopy(loaded.model).float(), dtype=torch.float32)
    for decoder in (
        evaluating_decoder(loaded.model, loaded.tokenizer),
        evaluating_decoder(exact.model, loaded.tokenizer),
    ):
        together = _tokens(decoder, prompts)
        if _tokens(decoder, prompts[::-1])[::-1] != together or _tokens(decoder, prompts[5:7]) != together[5:7]:
            raise RuntimeError("a response depends on the other prompts")
    if _tokens(Decoder(exact.model, loaded.tokenizer), prompts) != together:
        raise RuntimeError("responses in float32 differ from those without captured steps")


def _tokens(decoder: Decoder, prompts: Sequence[list[int]]) -> list[list[int]]:
    return [completion.tokens for completion in decoder.greedy(prompts, TOKENS)]


def _seconds(evaluator: Evaluator, loaded: Loaded, decoder: Decoder) -> float:
    """Return the seconds of an evaluation with this decoder."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    evaluator.run(loaded.model, 0, decoder)
    torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
