"""Measure GRPO against plain TRL: step time and peak memory, runs of both on the same GPUs of one machine, in turns.

    python -m benchmarks.gpu.grpo_against_trl MODEL_FOLDER [--gpus 2] [--sharding fsdp] [--vllm] [--rounds 2]

`plain_trl.py` is the other side. Both get the same prompts in the same order. On several GPUs, `accelerate launch`
starts plain TRL with the file that this project writes, so that both are distributed equally. Each step has 60
completions of at most 128 tokens on each GPU. Peaks are those of torch's allocator on the first GPU, which with
`--vllm` holds vLLM too.

Of each run the first two steps are not counted. The host decides the speed of generation, and other programs on it
only ever add time. So of each step, the fastest of all rounds counts. The figure is the median over the steps.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workers.config import RunConfig
from workers.trainer_processes import trainer_python
from workers.trainer_processes.accelerate_config import accelerate_yaml

GRPO = {
    "learning_rate": 1e-6, "num_generations": 30, "per_device_train_batch_size": 30, "gradient_accumulation_steps": 2,
    "max_completion_length": 128, "temperature": 0.7, "beta": 0.02, "loss_type": "grpo", "save_steps": 0,
    "completions_every": 2,
}  # fmt: skip
VLLM = {"gpu_memory_utilization": 0.2, "max_model_length": 512}
WARM_UP = 2
GOAL_PERCENT = 2.0
Steps = NDArray[np.float64]
"""Seconds and peak in GB of each step that counts: [rounds, steps, 2], or [steps, 2] of one run."""


def main() -> int:
    """Run the command line. Return 0 if the goal is reached, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.grpo_against_trl", description=__doc__)
    parser.add_argument("model", type=Path, help="folder of a model, such as one of 1.5 billion random weights")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs, with one process on each")
    parser.add_argument("--sharding", choices=("none", "fsdp"), default="none", help="grpo.sharding, on several GPUs")
    parser.add_argument("--vllm", action="store_true", help="generate with vLLM in the trainer's processes")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each")
    parser.add_argument("--steps", type=int, default=8, help="steps of each run, two of which do not count")
    options = parser.parse_args()
    config = config_of(options.model, options.steps, options.gpus, options.sharding, vllm=options.vllm)
    plain: list[Steps] = []
    ours: list[Steps] = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run.json"
            run.write_text(json.dumps(config.to_json()), encoding="utf-8")
            plain.append(describe("plain TRL", measure_plain(config, run)))
            ours.append(describe("ours", measure_ours(run)))
    return report(np.stack(plain), np.stack(ours))


def config_of(model: Path, steps: int, gpus: int, sharding: str, *, vllm: bool) -> RunConfig:
    """Return the config of the run. Raise ConfigError."""
    settings: dict[str, Any] = {"max_steps": steps, "sharding": sharding, "vllm": VLLM if vllm else None}
    return RunConfig.from_json(
        {
            "method": "grpo",
            "model": {"path": str(model), "device": "cuda"},
            "grpo": GRPO | settings,
            "evaluation": {"every": 0, "prompts": 8, "samples": 1},
            "compute": {"gpus": gpus, "cores": 8 * gpus},
        }
    )


def measure_plain(config: RunConfig, run: Path) -> Steps:
    """Return the steps of plain TRL [steps, 2]."""
    results = run.with_name("plain.json")
    program = ["-m", "benchmarks.gpu.plain_trl", str(run), str(results)]
    if config.processes > 1:
        settings = run.with_name("accelerate.yaml")
        settings.write_text(accelerate_yaml(config), encoding="utf-8")
        program = ["-m", "accelerate.commands.launch", "--config_file", str(settings), *program]
    # Both have the same threads.
    environment = os.environ | {"OMP_NUM_THREADS": str(config.compute.cores // config.processes)}
    subprocess.run([trainer_python(config), *program], env=environment, check=True)
    return np.array(json.loads(results.read_text(encoding="utf-8")))[WARM_UP:]


def measure_ours(run: Path) -> Steps:
    """Return the steps of a run of this project [steps, 2]."""
    out = run.with_name("out")
    subprocess.run([sys.executable, "-m", "workers.train", str(run), "--out", str(out)], check=True)
    return read_steps(out)


def read_steps(out: Path) -> Steps:
    """Return the steps that count [steps, 2] from the records of a run in the folder `out`."""
    lines = (out / "records.0.jsonl").read_text(encoding="utf-8").splitlines()
    values = [record["values"] for record in map(json.loads, lines) if record["kind"] == "metric"]
    return np.array(
        [(v["time/step_seconds"], v["memory/step_peak_gb"]) for v in values if "time/step_seconds" in v][WARM_UP:]
    )


def describe(name: str, steps: Steps) -> Steps:
    """Print the steps of a run, and return them."""
    print(f"{name}: {', '.join(f'{s:.2f}' for s in steps[:, 0])} s, {steps[:, 1].max():.1f} GB", flush=True)
    return steps


def report(plain: Steps, ours: Steps) -> int:
    """Print step time and peak of each, and how far ours exceed plain TRL's. Return 0 if that is within the goal."""
    rounds, steps, _ = plain.shape
    times = [float(np.median(runs[..., 0].min(axis=0))) for runs in (plain, ours)]
    peaks = [float(runs[..., 1].max()) for runs in (plain, ours)]
    worst = -100.0
    for name, unit, (of_plain, of_ours) in (("step time", "s", times), ("peak memory", "GB", peaks)):
        over = 100 * (of_ours / of_plain - 1)
        worst = max(worst, over)
        print(f"{name}: ours {of_ours:.3f} {unit}, plain TRL {of_plain:.3f} {unit}: {over:+.1f} %")
    print(f"{rounds} rounds of {steps} steps; goal: at most {GOAL_PERCENT} % over:", end=" ")
    print("reached" if worst <= GOAL_PERCENT else "missed")
    return 0 if worst <= GOAL_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main())
