"""Runs of the study: read from run folders, packed into one small file, and read back from it.

A packed file is JSON in xz, by columns, which compresses best: the prompts, what is known of each run, and for each
evaluation the texts, tokens and KL of its responses: greedy ones first, then each round of samples, in the order of the
prompts. Whether a response is right is read from its text, so the tasks are those that are answered in free text.
"""

from __future__ import annotations

import json
import lzma
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.analysis.detectors import EvaluatedResponse, Evaluation
from workers.analysis.keys import KL, REWARD
from workers.analysis.right import is_right

SEED = re.compile(r"-seed(\d+)$")


@dataclass(frozen=True)
class StudyRun:
    """A training with its evaluations in the order of steps; the first is the model before training."""

    name: str
    method: str
    seed: int
    task: str
    evaluations: Sequence[Evaluation]

    @property
    def kind(self) -> str:
        """The name without the seed: runs of one kind differ in their seed alone."""
        return SEED.sub("", self.name)

    @property
    def base(self) -> Evaluation:
        return self.evaluations[0]

    @property
    def last(self) -> Evaluation:
        return self.evaluations[-1]


def read_folder(folder: Path) -> StudyRun:
    """Read a run from its folder, which holds run.json and records. Raise ValueError for a run without evaluations."""
    config = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    responses, values = _records(folder)
    task, model = config["task"]["name"], config["model"]["path"]
    options = config[config["method"]]
    limit = options.get("max_new_tokens") or options.get("max_completion_length")
    evaluations = []
    for step in sorted(responses):
        rows = sorted(responses[step], key=lambda row: row["sample"])
        read = [_evaluated(number, row) for number, row in enumerate(rows)]
        evaluations.append(Evaluation(step, read, values[step], token_limit=limit, model=model))
    if not evaluations:
        raise ValueError(f"{folder} has no evaluation with responses")
    return StudyRun(folder.name, config["method"], int(config["seed"]), task, evaluations)


def _records(folder: Path) -> tuple[dict[int, list[dict[str, Any]]], dict[int, dict[str, float]]]:
    """Return step -> responses of held-out prompts, and step -> values of the evaluator, of all attempts."""
    responses: dict[int, list[dict[str, Any]]] = defaultdict(list)
    values: dict[int, dict[str, float]] = defaultdict(dict)
    for file in sorted(folder.glob("records.*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            record: dict[str, Any] = json.loads(line) if line else {"kind": ""}
            if record["kind"] == "response" and record["split"] == "eval":
                responses[record["step"]].append(record)
            elif record["kind"] == "metric" and REWARD in record["values"]:
                values[record["step"]] = {k: v for k, v in record["values"].items() if k in (REWARD, KL)}
    return responses, values


def _evaluated(number: int, row: Mapping[str, Any]) -> EvaluatedResponse:
    right = is_right(row["text"], row["target"], row["prompt"])
    return EvaluatedResponse(
        number, row["prompt"], row["text"], row["reward"], row["target"], row["sample"],
        row["tokens"], row["parts"], row["kl"], right,
    )  # fmt: skip


def pack(runs: Iterable[StudyRun], file: Path) -> None:
    """Write runs that have the same prompts in the same order. Rewards and parts of responses are left out; the KL of a
    response is rounded to 0.1 nats, values of the evaluator to four decimals."""
    studied = list(runs)
    evaluations = [each for run in studied for each in run.evaluations]
    columns = {
        "prompts": [[r.prompt, r.target] for r in studied[0].base.greedy],
        "runs": [_about(run) for run in studied],
        "text": [[r.text for r in each.responses] for each in evaluations],
        "tokens": [[r.tokens for r in each.responses] for each in evaluations],
        "kl": [[None if r.kl is None else round(r.kl, 1) for r in each.responses] for each in evaluations],
    }
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    file.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _about(run: StudyRun) -> dict[str, Any]:
    steps = {each.step: {key: round(value, 4) for key, value in each.values.items()} for each in run.evaluations}
    about = {"run": run.name, "method": run.method, "seed": run.seed, "task": run.task}
    return about | {"model": run.base.model, "limit": run.base.token_limit, "steps": steps}


def unpack(file: Path, names: Container[str] | None = None) -> Iterator[StudyRun]:
    """Yield the runs of a packed file, all or those named. Rewards of single responses are not known there; each has
    its evaluation's mean, which is all that detectors read."""
    columns = json.loads(lzma.decompress(file.read_bytes()))
    responses = zip(columns["text"], columns["tokens"], columns["kl"], strict=True)
    for about in columns["runs"]:
        steps = [(int(step), values, next(responses)) for step, values in about["steps"].items()]
        if names is not None and about["run"] not in names:
            continue
        evaluations = [_unpacked(*each, about, columns["prompts"]) for each in steps]
        yield StudyRun(about["run"], about["method"], about["seed"], about["task"], evaluations)


def _unpacked(
    step: int,
    values: Mapping[str, float],
    columns: tuple[list[str], list[int], list[float | None]],
    about: Mapping[str, Any],
    prompts: Sequence[tuple[str, str]],
) -> Evaluation:
    responses = []
    for number, (text, tokens, kl) in enumerate(zip(*columns, strict=True)):
        sample, place = divmod(number, len(prompts))
        question, target = prompts[place]
        right = is_right(text, target, question)
        responses.append(
            EvaluatedResponse(number, question, text, values[REWARD], target, sample, tokens, {}, kl, right)
        )
    return Evaluation(step, responses, values, token_limit=about["limit"], model=about["model"])
