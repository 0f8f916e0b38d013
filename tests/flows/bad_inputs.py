"""Forty inputs that cannot work, and the message for each.

    python -m tests.flows.bad_inputs     prints the table

A config that is wrong in itself is refused alike by command line, API and form. A problem that only the node can detect
ends the training, with a message.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE_SECONDS
from workers.attempt import DISK_FULL
from workers.config import preset
from workers.records import Status, read

TASK = """
import os, sys, time

class Task:
    def examples(self, split):
        return [{"prompt": f"What is {n}?", "n": n} for n in range(3)]

    def score(self, example, completion):
        if completion:
            WHAT
        return 1.0
"""
"""A task whose reward does WHAT, for every response but the empty one that it is tested with."""


@dataclass(frozen=True)
class BadConfig:
    """A change of the preset es-micro's config, the key to be blamed and fragments of the message."""

    name: str
    change: Mapping[str, Any]
    path: str
    fragments: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """Return the whole config."""
        return apply_change(json.loads(json.dumps(preset("es-micro").config)), self.change)


@dataclass(frozen=True)
class BadNode:
    """A config that is valid and cannot work on its node."""

    name: str
    change: Mapping[str, Any]
    fragments: tuple[str, ...]
    code: int = 1
    prepare: Callable[[Path], object] = lambda folder: None
    """A function that creates files in the folder where the training is started; its output goes to `out` there."""
    reward: str = ""
    arguments: tuple[str, ...] = ()
    """Further arguments of the command line."""
    small_disk: str = ""
    """Mount options of a file system to write to."""


def apply_change(config: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Apply `change` to `config`, section by section, and return it; None removes a key."""
    for key, value in change.items():
        if value is None:
            config.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(config.get(key), dict) and key != "task":
            apply_change(config[key], value)
        else:
            config[key] = value
    return config


CONFIGS = [
    BadConfig("unknown key", {"es": {"popultion": 8}}, "es.popultion", ("did you mean population?",)),
    BadConfig("unknown section", {"optimizer": {}}, "optimizer", ("method", "es", "grpo")),
    BadConfig("unknown method", {"method": "ppo"}, "method", ("es, grpo", "'ppo'")),
    BadConfig("no method", {"method": None}, "method", ("missing",)),
    BadConfig("text for a number", {"es": {"population": "many"}}, "es.population", ("whole number", "'many'")),
    BadConfig("a fraction for a count", {"es": {"population": 3.5}}, "es.population", ("whole number",)),
    BadConfig("a list for a section", {"model": []}, "model", ("object",)),
    BadConfig("σ < 0", {"es": {"sigma": -1}}, "es.sigma", ("above 0", "-1")),
    BadConfig("σ = 0", {"es": {"sigma": 0}}, "es.sigma", ("above 0",)),
    BadConfig("α = 0", {"es": {"alpha": 0}}, "es.alpha", ("above 0",)),
    BadConfig("a population of one", {"es": {"population": 1}}, "es.population", ("at least 2",)),
    BadConfig(
        "odd population, antithetic", {"es": {"population": 7, "antithetic": True}}, "es.population", ("even", "7")
    ),
    BadConfig("unknown noise", {"es": {"noise": "pink"}}, "es.noise", ("full, low_rank, correlated", "'pink'")),
    BadConfig("rank 1000", {"es": {"rank": 1000}}, "es.rank", ("at most 64",)),
    BadConfig("sections of both methods", {"grpo": {}}, "grpo", ("cannot be set in a run with method es",)),
    BadConfig("unknown precision", {"model": {"dtype": "int4"}}, "model.dtype", ("auto, float32", "'int4'")),
    BadConfig("seed −1", {"seed": -1}, "seed", ("at least 0",)),
    BadConfig("unknown task", {"task": {"name": "chess"}}, "task.name", ("choice, safety, own", "'chess'")),
    BadConfig(
        "an option of another task",
        {"task": {"name": "countdown", "options": {"system_prompt": "x"}}},
        "task.options.system_prompt",
        ("train_file",),
    ),
    BadConfig(
        "an own task by a path with ..",
        {"task": {"name": "own", "options": {"path": "../../etc/x:Task"}}},
        "task.options.path",
        ("module:attribute",),
    ),
    BadConfig("no held-out prompts", {"evaluation": {"prompts": 0}}, "evaluation.prompts", ("at least 1",)),
    BadConfig("a newer format", {"schema": 99}, "schema", ("at most 1",)),
    BadConfig("no cores", {"compute": {"cores": 0}}, "compute.cores", ("at least 1",)),
]
SHORT = {"es": {"iterations": 1, "population": 2, "prompts": 2, "max_new_tokens": 4}, "evaluation": {"prompts": 2}}
OWN = {"name": "own", "reward_seconds": 60.0, "options": {"path": "bad_task:Task"}}
IMPATIENT = OWN | {"reward_seconds": 1.0}


def question_file(text: str) -> Callable[[Path], object]:
    """Return a function that writes a file of questions with this text."""
    return lambda folder: (folder / "train.jsonl").write_text(text, encoding="utf-8")


def questions_from(file: str) -> dict[str, Any]:
    """Return a change that trains on a file of the user's."""
    return {"task": {"name": "conciseness", "options": {"train_file": file}}}


def broken_model(folder: Path) -> None:
    """Create a model folder whose config.json is truncated."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"model_type": "qwe', encoding="utf-8")


def model_without_weights(folder: Path) -> None:
    """Create a model folder with a config and nothing else."""
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"model_type": "qwen2"}', encoding="utf-8")


NODES = [
    BadNode("a model that is not there", {"model": {"path": "nowhere"}}, ("model.path", "nowhere", "tiny, micro"), 2),
    BadNode("a torn model folder", {"model": {"path": "./model"}}, ("model.path", "config.json"), 2, broken_model),
    BadNode("a model without weights", {"model": {"path": "./model"}}, ("*.safetensors",), 2, model_without_weights),
    BadNode("a GPU that is not there", {"model": {"device": "cuda"}}, ("model.device", "auto or cpu"), 2),
    BadNode("a file of questions that is not there", questions_from("none.jsonl"), ("task.options", "none.jsonl"), 2),
    BadNode(
        "a line that is not JSON", questions_from("train.jsonl"), ("line 1", "question"), 2, question_file("Hello?\n")
    ),
    BadNode(
        "a line with an unknown key", questions_from("train.jsonl"), ("'prompt'", "question, answer"), 2,
        question_file('{"prompt": "a", "answer": "b"}\n'),
    ),
    BadNode(
        "a file without questions", questions_from("train.jsonl"), ("contains no questions",), 2, question_file("\n")
    ),
    BadNode("adapters on unknown layers", {"es": {"lora": {"targets": ["w1"]}}}, ("es.lora.targets", "q_proj"), 2),
    BadNode("a reward that is NaN", {"task": OWN}, ("What is", "finite"), reward="return float('nan')"),
    BadNode("a reward that raises", {"task": OWN}, ("What is", "ZeroDivisionError", "bad_task.py"), reward="1 / 0"),
    BadNode("a reward that hangs", {"task": IMPATIENT}, ("What is", "longer than 1 s"), reward="time.sleep(60)"),
    BadNode("a reward that kills its process", {"task": OWN}, ("What is", "exited with code 3"), reward="os._exit(3)"),
    BadNode("a reward that prints 10 MB", {"task": OWN}, (), 0, reward="print('x' * 10_000_000)"),
    BadNode("a resume from nowhere", {}, ("--resume none", "does not exist"), 2, arguments=("--resume", "none")),
    BadNode("a full disk", {}, ("No space left on device",), DISK_FULL, small_disk="size=64k"),
    BadNode("a read-only folder", {}, ("Read-only file system", "--out"), small_disk="ro"),
]  # fmt: skip


def write_case(case: BadNode, folder: Path) -> list[str]:
    """Create the case's files in the folder. Return the arguments of the training to be started there."""
    case.prepare(folder)
    config = apply_change(json.loads(json.dumps(preset("es-micro").config)), SHORT)
    (folder / "run.json").write_text(json.dumps(apply_change(config, case.change)), encoding="utf-8")
    (folder / "bad_task.py").write_text(TASK.replace("WHAT", case.reward or "pass"), encoding="utf-8")
    (folder / "disk").mkdir()
    return ["run.json", "--out", "disk/out" if case.small_disk else "out", *case.arguments]


def run_case(case: BadNode, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the case's training as a process in the folder and return its result."""
    arguments = write_case(case, folder)
    disk = small_disk_command(case.small_disk, folder / "disk") if case.small_disk else []
    return subprocess.run(
        [*disk, sys.executable, "-m", "workers.train", *arguments],
        cwd=folder, env=os.environ | {"ESWEB_TASK_PATHS": str(folder), "PYTHONPATH": str(Path.cwd())},
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip


def small_disk_command(options: str, at: Path) -> list[str]:
    """Return the beginning of a command that sees a small file system at this path."""
    script = 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"'
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", options, str(at)]


def main() -> None:
    """Print the message of the command line for each input."""
    for number, config in enumerate(CONFIGS, start=1):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "run.json"
            file.write_text(json.dumps(config.config()), encoding="utf-8")
            command = [sys.executable, "-m", "workers.train", str(file), "--out", f"{folder}/out"]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            print_row(number, config.name, result, Path(folder))
    for number, case in enumerate(NODES, start=len(CONFIGS) + 1):
        with tempfile.TemporaryDirectory() as folder:
            print_row(number, case.name, run_case(case, Path(folder)), Path(folder))


def print_row(number: int, name: str, result: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Print a row of the table."""
    print(f"| {number} | {name} | {result.returncode} | {shown_message(result, folder)} |", flush=True)


def shown_message(result: subprocess.CompletedProcess[str], folder: Path) -> str:
    """Return the message for the user: the last failed status, which the run's page shows, else the printed lines."""
    statuses = [
        line.record.message
        for file in sorted((folder / "out").glob("records.*.jsonl"))
        for line in read(file, limit=1 << 24).lines
        if isinstance(line.record, Status) and line.record.phase == "failed"
    ]
    printed = [line for line in result.stderr.splitlines() if line.strip()]
    message = statuses[-1] if statuses else " / ".join(printed[-2:]) or "(nothing)"
    return message if len(message) < 400 else f"{message[:200]} … ({len(message)} characters)"


if __name__ == "__main__":
    main()
