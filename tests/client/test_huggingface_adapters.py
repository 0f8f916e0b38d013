"""The adapters of docs/guides/report-from-trl.md for verl and OpenRLHF, with the calls that those programs make.

Neither program can be installed here. The classes below have the signatures of their sources, at the commits that the
guide names.
"""

from __future__ import annotations

import itertools
import json
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.client.huggingface_runs import Start, guide_block, read_starts


class Tracking:
    """verl's loggers by name: it hands them the metrics of each step, and finishes them at its end."""

    def __init__(self, project_name: str, experiment_name: str, default_backend: Any = "console", config: Any = None):
        assert set(default_backend) <= {"console", "file"}
        self.logger: dict[str, Any] = {}

    def log(self, data: dict[str, Any], step: int, backend: Any = None) -> None:
        for name, logger in self.logger.items():
            if backend is None or name in backend:
                logger.log(data=data, step=step)

    def finish(self, exit_code: int = 0) -> None:
        self.logger.pop("console", None)


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make runs report offline into a folder."""
    monkeypatch.setenv("ESWEB_MODE", "offline")
    monkeypatch.setenv("ESWEB_DIR", str(tmp_path / "spools"))
    return tmp_path / "spools"


def add_module(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """Make `import a.b.c` work, with this content in the last module."""
    parts = name.split(".")
    modules = [ModuleType(".".join(parts[: i + 1])) for i in range(len(parts))]
    for parent, child in itertools.pairwise(modules):
        setattr(parent, child.__name__.rpartition(".")[2], child)
    vars(modules[-1]).update(content)
    for module in modules:
        monkeypatch.setitem(sys.modules, module.__name__, module)


def run_module(folder: Path, text: str) -> dict[str, Any]:
    """Save the guide's module that contains this text, run it, and return its names."""
    (folder / "adapter.py").write_text(guide_block(text), encoding="utf-8")
    return runpy.run_path(str(folder / "adapter.py"))


def namespace_to_dict(args: SimpleNamespace) -> dict[str, Any]:
    return {k: namespace_to_dict(v) if isinstance(v, SimpleNamespace) else v for k, v in vars(args).items()}


def only_start(folder: Path) -> Start:
    (start,) = read_starts(folder)
    return start


def test_verl_adapter_reports_metrics_and_rollouts(
    spools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_module(monkeypatch, "verl.utils.tracking", Tracking=type("Tracking", (Tracking,), {}))
    run_module(tmp_path, "class EswebBackend")
    tracking: Any = sys.modules["verl.utils.tracking"]
    rollouts = tmp_path / "rollouts"
    rollouts.mkdir()
    config = {"trainer": {"rollout_data_dir": str(rollouts)}, "algorithm": {"adv_estimator": "grpo"}}
    logger = tracking.Tracking(
        project_name="gsm8k", experiment_name="qwen", default_backend=["console", "esweb"], config=config
    )
    for step in (1, 2):
        rows = [{"input": "1 + 1?", "output": text, "score": 0.5, "step": step} for text in ("2", "two")]
        (rollouts / f"{step}.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
        logger.log(data={"critic/score/mean": 0.5 * step, "training/global_step": step}, step=step)
    logger.finish()
    start = only_start(spools)
    assert start.metrics("critic/score/mean") == {1: 0.5, 2: 1.0}
    assert [(r["step"], r["sample"], r["text"]) for r in start.of("response")] == [
        (1, 0, "2"), (1, 1, "two"), (2, 0, "2"), (2, 1, "two"),
    ]  # fmt: skip
    assert (start.meta["project"], start.meta["name"], start.meta["method"]) == ("gsm8k", "qwen", "grpo")
    assert start.end["state"] == "succeeded"


def test_verl_without_the_backend_opens_no_run(spools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_module(monkeypatch, "verl.utils.tracking", Tracking=type("Tracking", (Tracking,), {}))
    run_module(tmp_path, "class EswebBackend")
    tracking: Any = sys.modules["verl.utils.tracking"]
    logger = tracking.Tracking("gsm8k", "qwen", ["console"], None)
    logger.log(data={"critic/score/mean": 0.5}, step=1)
    logger.finish()
    assert read_starts(spools) == []


def test_openrlhf_adapter_reports_training_and_evaluation(
    spools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_module(monkeypatch, "openrlhf.utils.config", to_dict=namespace_to_dict)
    names = run_module(tmp_path, "class EswebLogger")
    wandb = SimpleNamespace(key="k-secret", org=None, project="rlhf", group="ppo", run_name="llama")
    args = SimpleNamespace(logger=SimpleNamespace(wandb=wandb, logging_steps=1), actor=SimpleNamespace(lr=1e-6))
    logger = names["EswebLogger"](args)
    logger.log_train(1, {"policy_loss": 0.25, "kl": None, "generated_samples": ["1 + 1? 2", 0.75]})
    logger.log_eval(1, {"eval_gsm8k_pass1": 0.5})
    logger.close()
    start = only_start(spools)
    assert start.metrics("train/policy_loss") == {1: 0.25}
    assert start.metrics("eval/eval_gsm8k_pass1") == {1: 0.5}
    assert [(r["step"], r["text"], r["reward"]) for r in start.of("response")] == [(1, "1 + 1? 2", 0.75)]
    assert (start.meta["project"], start.meta["name"], start.meta["group"]) == ("rlhf", "llama", "ppo")
    assert not [path for path in start.folder.iterdir() if "k-secret" in path.read_text()]
    assert start.end["state"] == "succeeded"
