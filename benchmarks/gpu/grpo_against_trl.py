"""Measure GRPO on one GPU against plain TRL: step time and peak memory, both runs on the same machine in turns.

    python -m benchmarks.gpu.grpo_against_trl MODEL_FOLDER [--vllm] [--rounds 2]

Plain TRL is GRPOTrainer on a float32 master with bfloat16 autocast, as its examples have it. Both generate 60
completions of at most 128 tokens a step. Of each run the first two steps, in which kernels are planned, are not
counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

GRPO = {
    "max_steps": 10, "learning_rate": 1e-6, "num_generations": 30, "per_device_train_batch_size": 30,
    "gradient_accumulation_steps": 2, "max_completion_length": 128, "temperature": 0.7, "beta": 0.02,
    "loss_type": "grpo",
}  # fmt: skip
VLLM = {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.3}
WARM_UP = 2
GOAL_PERCENT = 2.0
PROMPT = "Question: What is the capital of country {number}?\nAnswer:"


def main() -> int:
    """Run the command line. Return 0 if the goal is reached, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.grpo_against_trl", description=__doc__)
    parser.add_argument("model", type=Path, help="folder of a model, such as one of 1.5 billion random weights")
    parser.add_argument("--vllm", action="store_true", help="generate with vLLM in the trainer's process")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each")
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plain is not None:
        options.plain.write_text(json.dumps(run_plain(options.model, vllm=options.vllm)), encoding="utf-8")
        return 0
    plain: list[tuple[float, float]] = []
    ours: list[tuple[float, float]] = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            plain += measure_plain(options.model, Path(folder), vllm=options.vllm)
            ours += measure_ours(options.model, Path(folder), vllm=options.vllm)
    return report(plain, ours)


def report(plain: list[tuple[float, float]], ours: list[tuple[float, float]]) -> int:
    """Print medians of step times and peaks, each with n, and how far ours exceed plain TRL's."""
    worst = -100.0
    for i, (name, unit) in enumerate((("step time", "s"), ("peak memory", "GB"))):
        ours_value, plain_value = (median(step[i] for step in steps) for steps in (ours, plain))
        over = 100 * (ours_value / plain_value - 1)
        worst = max(worst, over)
        print(
            f"{name}: ours {ours_value:.3f} {unit}, plain TRL {plain_value:.3f} {unit}: {over:+.1f} % (n = {len(ours)})"
        )
    print(f"goal: at most {GOAL_PERCENT} % over: {'reached' if worst <= GOAL_PERCENT else 'missed'}")
    return 0 if worst <= GOAL_PERCENT else 1


def measure_ours(model: Path, folder: Path, *, vllm: bool) -> list[tuple[float, float]]:
    """Return seconds and peak in GB of each step that counts, of a run of this project."""
    config: dict[str, Any] = {
        "method": "grpo",
        "model": {"path": str(model), "device": "cuda"},
        "grpo": GRPO | {"save_steps": 0, "completions_every": 2} | ({"vllm": {}} if vllm else {}),
        "evaluation": {"every": 0, "prompts": 8, "samples": 1},
        "compute": {"gpus": 1, "cores": 8},
    }
    path = folder / "run.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "workers.train", str(path), "--out", str(folder / "out")], check=True)
    lines = (folder / "out" / "records.0.jsonl").read_text(encoding="utf-8").splitlines()
    values = [record["values"] for record in map(json.loads, lines) if record["kind"] == "metric"]
    steps = [(v["time/step_seconds"], v["memory/step_peak_gb"]) for v in values if "time/step_seconds" in v]
    return steps[WARM_UP:]


def measure_plain(model: Path, folder: Path, *, vllm: bool) -> list[tuple[float, float]]:
    """Return the same of plain TRL, in a process of its own."""
    path = folder / "plain.json"
    command = [sys.executable, "-m", __spec__.name, str(model), "--plain", str(path), *(["--vllm"] if vllm else [])]
    subprocess.run(command, check=True)
    return [(seconds, peak) for seconds, peak in json.loads(path.read_text(encoding="utf-8"))][WARM_UP:]


def run_plain(model_folder: Path, *, vllm: bool) -> list[tuple[float, float]]:
    """Train with TRL alone. Return seconds and peak of torch's allocator in GB of each step."""
    import torch
    import trl
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

    class Clock(TrainerCallback):  # type: ignore[misc]
        steps: list[tuple[float, float]] = []  # noqa: RUF012

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            torch.cuda.reset_peak_memory_stats()
            self.began = time.perf_counter()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.steps.append((time.perf_counter() - self.began, torch.cuda.max_memory_allocated() / 1e9))

    arguments = trl.GRPOConfig(
        output_dir=tempfile.mkdtemp(), bf16=True, save_strategy="no", report_to=[], disable_tqdm=True, logging_steps=1,
        activation_checkpointing=False, lr_scheduler_type="constant", dataloader_pin_memory=False,
        **GRPO, **(VLLM if vllm else {}),
    )  # fmt: skip
    trl.GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32),
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": PROMPT.format(number=i)} for i in range(2 * arguments.max_steps)]),
        processing_class=AutoTokenizer.from_pretrained(model_folder, padding_side="left"),
        reward_funcs=lambda completions, **_: [-abs(len(text) - 20.0) for text in completions],
        callbacks=[Clock()],
    ).train()
    return Clock.steps


if __name__ == "__main__":
    sys.exit(main())
