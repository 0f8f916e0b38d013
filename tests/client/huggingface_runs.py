"""Trainings as users start them: programs that report offline, and the records that they leave."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.guides.blocks import ROOT, read_blocks
from tests.waiting import PATIENCE_SECONDS
from workers.models.resolve import resolve

GUIDE = ROOT / "docs/guides/report-from-trl.md"


@dataclass(frozen=True)
class Start:
    """One start of a run: its folder, the request for the server, its records in order, and its end if it has one."""

    folder: Path
    meta: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]
    end: Mapping[str, Any] = field(default_factory=dict)

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [record for record in self.records if record["kind"] == kind]

    def metrics(self, key: str) -> dict[int, float]:
        """Return the values of a metric by step."""
        return {record["step"]: record["values"][key] for record in self.of("metric") if key in record["values"]}


def read_starts(folder: Path) -> list[Start]:
    """Return all starts of runs that were written below this folder, in order of time."""
    starts = []
    for meta in folder.glob("*/*/meta.json"):
        lines = (meta.parent / "records.0.jsonl").read_text(encoding="utf-8").splitlines()
        end = meta.parent / "end.json"
        starts.append(
            Start(
                meta.parent,
                json.loads(meta.read_text(encoding="utf-8"))["request"],
                [json.loads(line) for line in lines],
                json.loads(end.read_text(encoding="utf-8")) if end.exists() else {},
            )
        )
    return sorted(starts, key=lambda start: float(start.records[0]["t"]))


def guide_block(text: str) -> str:
    """Return the block of code of the guide that contains this text."""
    (block,) = [block for block in read_blocks(GUIDE) if text in block.text]
    return block.text


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a training that reports offline, unless the variables say otherwise."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ESWEB_")}
    cache = {name: os.environ[name] for name in ("ESWEB_CACHE",) if name in os.environ}
    silent = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    return inherited | cache | silent | {"HF_HUB_OFFLINE": "1", "ESWEB_MODE": "offline"} | variables


def write_script(folder: Path, script: str) -> Path:
    """Save a script next to the micro model, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "micro").exists():
        (folder / "micro").symlink_to(resolve("micro"))
    path = folder / "train.py"
    path.write_text(script, encoding="utf-8")
    return path


def run_script(folder: Path, **variables: str) -> int:
    """Run the saved script to its end, write its output to `output` in the folder, and return its exit code."""
    with (folder / "output").open("ab") as output:
        argv = [sys.executable, "train.py"]
        process = subprocess.Popen(argv, cwd=folder, env=environment(**variables), stdout=output, stderr=output)
        return process.wait(PATIENCE_SECONDS)


def run_here(folder: Path, **variables: str) -> None:
    """Run the saved script in this process, which has imported what a process of its own takes ten seconds for."""
    with pytest.MonkeyPatch.context() as patches, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [name for name in os.environ if name.startswith("ESWEB_")]:
            patches.delenv(name)
        for name, value in environment(**variables).items():
            patches.setenv(name, value)
        patches.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patches.chdir(folder)
        runpy.run_path("train.py", run_name="__main__")
