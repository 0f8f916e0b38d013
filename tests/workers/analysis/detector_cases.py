"""Evaluations for tests of detectors: made up, the recorded demonstration, and the published runs where present."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.analysis.detectors import Detection, EvaluatedResponse, Evaluation, detect
from workers.analysis.right import right_of

DEMO = Path(__file__).with_name("demo_evaluations.json")
"""Step 0 and the last step of each run of `make demo`, all responses, from the records of its trainings."""
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
PUBLISHED, SMOLLM2 = SHARED / "conciseness", SHARED / "smollm2"
TOKEN_LIMIT = 128
TASK = "conciseness"


def responses(
    texts: Sequence[str], reward: float = 0.0, target: str = "", first: int = 0, **fields: Any
) -> list[EvaluatedResponse]:
    """Return one greedy response for each text, to prompts of their own, numbered from `first`."""
    return [
        EvaluatedResponse(i, f"What is the answer to question {i}?", text, reward, target, **fields)
        for i, text in enumerate(texts, first)
    ]


def judged(
    right: Sequence[bool | None], text: str = "The answer is a river.", **fields: Any
) -> list[EvaluatedResponse]:
    """Return one greedy response for each verdict, to prompts of their own."""
    return [
        EvaluatedResponse(i, f"What is the answer to question {i}?", f"{text} {i}", 0.0, is_right=verdict, **fields)
        for i, verdict in enumerate(right)
    ]


def evaluation(
    read: Sequence[EvaluatedResponse | str] = (), step: int = 10, reward: float = 0.0, **others: Any
) -> Evaluation:
    """Return an evaluation of these responses with this reward, or of greedy ones with these texts; `kl` is one of its
    numbers."""
    texts = [item for item in read if isinstance(item, str)]
    values = {"reward/mean": reward} | ({"kl": others.pop("kl")} if "kl" in others else {})
    given = [replace(item, reward=reward) for item in read if isinstance(item, EvaluatedResponse)]
    return Evaluation(step, given or responses(texts, reward), values, **others)


def published_evaluations(folder: Path) -> Iterator[tuple[str, Evaluation]]:
    """Yield (name, evaluation) of each seed in the evaluation files of a folder."""
    for file in sorted(folder.glob("*_evals/*alpha*.json")) + sorted(folder.glob("*_evals/*beta*.json")):
        for seed, result in json.loads(file.read_text())["seed_results"].items():
            method = "ES" if "alpha" in file.name else "GRPO"
            setting = file.stem.removeprefix("temp_0.7_").replace("_", " ")
            yield f"{method} {setting} seed {seed}", _published(result)


def demo_detections() -> dict[str, tuple[Evaluation, Evaluation, list[Detection]]]:
    """Return run -> (evaluation before training, last evaluation, detections) of the recorded demonstration."""
    runs = json.loads(DEMO.read_text(encoding="utf-8"))
    detected = {}
    for run in runs:
        before, after = (_recorded(run[when], run["token_limit"]) for when in ("before", "after"))
        detected[run["run"]] = before, after, detect(after, before, number=run["number"])
    return detected


def training_evaluations(folder: Path) -> list[Evaluation]:
    """Return the evaluations of a run's folder, ascending, as `workers.train` records them."""
    config = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    method = config[config["method"]]
    limit = method.get("max_new_tokens") or method.get("max_completion_length")
    values: dict[int, dict[str, float]] = defaultdict(dict)
    read: dict[int, list[EvaluatedResponse]] = defaultdict(list)
    for line in (folder / "records.0.jsonl").read_text(encoding="utf-8").splitlines():
        if '"kl"' not in line or '"split":"train"' in line:
            # Most lines are members of a population, and samples of training.
            continue
        entry = json.loads(line)
        if entry["kind"] == "metric":
            values[entry["step"]] |= {
                key: entry["values"][key] for key in ("reward/mean", "kl") if key in entry["values"]
            }
        elif entry["kind"] == "response" and entry["split"] == "eval":
            read[entry["step"]].append(_response(len(read[entry["step"]]), entry))
    model = config["model"]["path"]
    return [Evaluation(step, read[step], values[step], token_limit=limit, model=model) for step in sorted(read)]


def _response(key: int, entry: Mapping[str, Any]) -> EvaluatedResponse:
    text, target, prompt, parts = entry["text"], entry["target"], entry["prompt"], entry["parts"]
    return EvaluatedResponse(
        key, prompt, text, entry["reward"], target, entry["sample"], entry["tokens"], parts, entry["kl"],
        right_of(TASK, parts, text, target, prompt),
    )  # fmt: skip


def _recorded(evaluated: dict[str, Any], token_limit: int) -> Evaluation:
    read = [
        EvaluatedResponse(
            i, prompt, text, reward, target, sample, tokens, parts, kl, right_of(TASK, parts, text, target, prompt)
        )
        for i, (prompt, target, text, reward, tokens, sample, parts, kl) in enumerate(evaluated["responses"])
    ]  # fmt: skip
    return Evaluation(evaluated["step"], read, evaluated["values"], token_limit=token_limit, model="tiny")


def _published(result: dict[str, Any]) -> Evaluation:
    read = [
        EvaluatedResponse(
            1000 * i + completion["sample_idx"], question["question"], completion["completion"], completion["reward"],
            question["target_answer"], completion["sample_idx"] + 1, completion["num_tokens"],
            parts={"kl_per_token": completion["mean_per_token_kl"]},
            is_right=right_of(TASK, {}, completion["completion"], question["target_answer"], question["question"]),
        )
        for i, question in enumerate(result["completions"])
        for completion in question["completions"]
    ]  # fmt: skip
    numbers = {"reward/mean": result["reward"]["mean"], "kl": result["kl"]["mean_per_token"]}
    return Evaluation(1, read, numbers, token_limit=TOKEN_LIMIT)
