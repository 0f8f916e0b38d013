"""Evaluations for tests of detectors: made up, and the published conciseness seeds where they are present."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workers.analysis.detectors import Detection, EvaluatedResponse, Evaluation, Peer, detect

DEMO = Path(__file__).with_name("demo_evaluations.json")
"""Step 0 and the last step of each run of `make demo`, greedy responses, from the database of a finished demo."""
PUBLISHED = Path(__file__).resolve().parents[4] / "shared" / "data" / "conciseness"
TOKEN_LIMIT = 128


def responses(texts: Sequence[str], reward: float = 0.0, target: str = "", **fields: Any) -> list[EvaluatedResponse]:
    """Return one greedy response for each text, to prompts of their own."""
    return [
        EvaluatedResponse(i, f"What is the answer to question {i}?", text, reward, target, **fields)
        for i, text in enumerate(texts)
    ]


def evaluation(texts: Sequence[str] = (), step: int = 10, **values: Any) -> Evaluation:
    """Return an evaluation of these texts; `reward`, `accuracy`, `safe` and `kl` are its numbers."""
    keys = {"reward": "reward/mean", "accuracy": "accuracy/contains", "safe": "safety/safe_ratio", "kl": "kl"}
    numbers = {keys[name]: value for name, value in values.items() if name in keys}
    others = {name: value for name, value in values.items() if name not in keys}
    return Evaluation(step, responses(texts), numbers, **others)


def published_evaluations(folder: Path) -> Iterator[tuple[str, Evaluation]]:
    """Yield (name, evaluation) of each seed in the evaluation files of a folder."""
    for file in sorted(folder.glob("*_evals/*alpha*.json")) + sorted(folder.glob("*_evals/*beta*.json")):
        for seed, result in json.loads(file.read_text())["seed_results"].items():
            method = "ES" if "alpha" in file.name else "GRPO"
            setting = file.stem.removeprefix("temp_0.7_").replace("_", " ")
            yield f"{method} {setting} seed {seed}", _published(result)


def published_detections(seeds: Mapping[str, Evaluation], name: str, *, alone: bool) -> list[Detection]:
    """Return the detections of a seed, alone or with the other seeds as the other runs of one experiment."""
    peers = [] if alone else [Peer(other, seeds[other].values) for other in seeds if other != name]
    return detect(seeds[name], None, peers)


def demo_detections() -> dict[str, tuple[Evaluation, Evaluation, list[Detection]]]:
    """Return run -> (evaluation before training, last evaluation, detections) of the recorded demonstration."""
    runs = json.loads(DEMO.read_text(encoding="utf-8"))
    detected = {}
    for run in runs:
        others = [other for other in runs if other["experiment"] == run["experiment"] and other is not run]
        peers = [Peer(other["run"], other["after"]["values"]) for other in others]
        before, after = (_recorded(run[when], run["token_limit"]) for when in ("before", "after"))
        detected[run["run"]] = before, after, detect(after, before, peers)
    return detected


def _recorded(evaluated: dict[str, Any], token_limit: int) -> Evaluation:
    read = [
        EvaluatedResponse(
            i, prompt, text, reward, target, 0, tokens, {} if contains is None else {"contains": contains}
        )
        for i, (prompt, target, text, reward, tokens, contains) in enumerate(evaluated["responses"])
    ]  # fmt: skip
    return Evaluation(evaluated["step"], read, evaluated["values"], token_limit=token_limit)


def _published(result: dict[str, Any]) -> Evaluation:
    read = [
        EvaluatedResponse(
            1000 * i + completion["sample_idx"], question["question"], completion["completion"], completion["reward"],
            question["target_answer"], completion["sample_idx"] + 1, completion["num_tokens"],
            parts={"kl_per_token": completion["mean_per_token_kl"]},
        )
        for i, question in enumerate(result["completions"])
        for completion in question["completions"]
    ]  # fmt: skip
    right = sum(response.contains_target for response in read) / len(read)
    numbers = {
        "reward/mean": result["reward"]["mean"],
        "kl": result["kl"]["mean_per_token"],
        "accuracy/contains": right,
    }
    return Evaluation(1, read, numbers, token_limit=TOKEN_LIMIT)
