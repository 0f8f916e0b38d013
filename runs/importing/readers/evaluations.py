"""Read the JSON of an evaluation of checkpoints: rewards, KL and every answer of each seed. Each seed is a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from runs.importing import vocabulary
from runs.importing.hyperparameters import canonical_name, seed_of, settings_from_name
from runs.importing.numbers import json_number
from runs.importing.readers.log_responses import answer, curves_of
from runs.importing.readers.timestamps import parse_timestamp
from runs.importing.records import STEP, Entry, ImportedRun, ImportReport
from runs.ingest import MAX_KEY
from runs.ingest.storable import storable
from workers.executors.states import State
from workers.records import Metric, Record, Response, categories_of

KIND = "evaluation"
STEP_NAMES = ("step", "iteration", "global_step", "checkpoint_step")
KEYS_BY_PATH = {
    "reward/mean": ("reward/mean",), "reward/std": ("reward/std",), "reward/min": ("reward/min",),
    "reward/max": ("reward/max",), "kl/mean_per_token": ("kl", "kl/k3"), "answer_tokens/mean_per_sample":
    ("response/tokens_mean",),
}  # fmt: skip
"""Path of a seed's number in the file -> our keys. The KL is the k3 estimate, in nats per token."""
EVALUATION_SETTINGS = {
    "max_new_tokens": "evaluation.max_new_tokens", "temperature": "evaluation.temperature",
    "num_samples": "evaluation.samples", "eval_seed": "evaluation.seed", "top_p": "evaluation_top_p",
    "do_sample": "evaluation_do_sample",
}  # fmt: skip
"""Names of settings of the evaluation -> the names here, which differ from those of the training."""
BASE_WORDS = frozenset({"base", "baseline", "pretrained", "untrained"})
BASE_NOTE = "It evaluates the model before training: its numbers are saved at step 0."
MAX_LABEL_LENGTH = 100
LISTS = ("completions", "per_sample_means")


def is_evaluation(value: Any) -> bool:
    """Return whether this is the JSON of an evaluation."""
    return isinstance(value, dict) and isinstance(value.get("seed_results"), dict)


def entries(document: Mapping[str, Any], name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the records of each seed, in the order of the file."""
    settings = _settings_from_name(name) | _settings(document)
    method = vocabulary.slug(str(settings.get("method") or document.get("algorithm") or ""))[:20]
    is_base = _is_base(settings, method, name)
    largest = _largest_counts(document["seed_results"])
    cut_seed = _last_seed(document) if report.is_cut else None
    for part, (seed, result) in enumerate(document["seed_results"].items()):
        run = ImportedRun(part, KIND, settings=settings | {"seed": _parse_seed(seed)}, suffix=", evaluated")
        run.method = "" if is_base else method
        run.seed, run.started_at = seed_of(run.settings), parse_timestamp(document.get("timestamp"))
        run.job_id = _job_id(document.get("slurm"))
        sibling_count = max((count for name, count in largest if name != seed), default=0)
        is_last = seed == cut_seed
        yield from _seed_entries(
            run, seed, result, document, report, is_base=is_base, is_last=is_last, sibling_count=sibling_count
        )
    _check_seeds(document, report)
    _check_aggregate(document, report)


def _settings_from_name(name: str) -> dict[str, Any]:
    """Return the settings that the file's name states; its temperature is that of the evaluation."""
    settings = settings_from_name(name)
    return {
        EVALUATION_SETTINGS["temperature"] if key == "temperature" else key: value for key, value in settings.items()
    }


def _is_base(settings: Mapping[str, Any], method: str, name: str) -> bool:
    """Return whether the model before training is evaluated: a name says so, and no hyperparameter is stated."""
    words = {method, *re.split(r"[^a-z]+", PurePosixPath(name).stem.lower())}
    return not BASE_WORDS.isdisjoint(words) and not settings.keys() & {"alpha", "sigma", "beta", "learning_rate"}


def _seed_entries(
    run: ImportedRun,
    seed: str,
    result: Any,
    document: Mapping[str, Any],
    report: ImportReport,
    *,
    is_base: bool,
    is_last: bool,
    sibling_count: int,
) -> Iterator[Entry]:
    label = f"seed {seed[:MAX_LABEL_LENGTH]}"
    if not isinstance(result, dict) or _error(result):
        error = _error(result) if isinstance(result, dict) else f"it is {type(result).__name__} and not an object"
        run.state, run.reason = State.FAILED, f"Its evaluation failed: {error}"[:1000]
        report.add_remark(label, f"was not evaluated: {error}"[:500])
        yield Entry(run)
        return
    step, is_step_stated = _step(result, document)
    run.state = State.SUCCEEDED
    if not is_step_stated:
        step = 0 if is_base else step
        run.note = BASE_NOTE if is_base else f"The file does not state its step: its numbers are saved at step {step}."
    answers = list(_answers(result, step, bool(run.settings.get("evaluation_do_sample", True)), label, report))
    values = _values(result, answers)
    if _lacks_answers(run, len(answers), result, sibling_count, is_last=is_last):
        report.add_remark(label, f"is partial: {run.reason}")
    if not values and not answers:
        report.add_remark(label, "contains no number and no response")
        return
    records: list[Record] = [Metric(step, values), *answers]
    yield from (Entry(run, record) for record in records)


def _check_seeds(document: Mapping[str, Any], report: ImportReport) -> None:
    config = document.get("config")
    requested = config.get("seeds_requested") if isinstance(config, dict) else None
    present = {_parse_seed(seed) for seed in document["seed_results"]}
    missing = (
        [str(seed) for seed in requested if _whole_number(seed) not in present] if isinstance(requested, list) else []
    )
    if missing:
        report.add_remark("", f"seeds {', '.join(missing[:20])} were requested and are not in the file")


def _largest_counts(results: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (seed, number of answers that it states or lists) of the two seeds with the most answers."""
    counts = {
        seed: _expected_count(result) or _count_listed(result)
        for seed, result in results.items()
        if isinstance(result, dict)
    }
    return nlargest(2, counts.items(), key=lambda item: item[1])


def _last_seed(document: Mapping[str, Any]) -> str | None:
    """Return the seed with which the document ends; None if it ends with something else."""
    results = document["seed_results"]
    return list(results)[-1] if results and list(document)[-1] == "seed_results" else None


def _lacks_answers(
    run: ImportedRun, count: int, result: Mapping[str, Any], sibling_count: int, *, is_last: bool
) -> bool:
    """Make the run partial if its file holds only a part of the answers, and return whether it is partial.

    Means over a part are not those of all. `is_last`: the file breaks off in this seed; `sibling_count`: the largest
    number of answers of another seed.
    """
    expected, listed = _expected_count(result), _count_listed(result)
    whole = max(expected, 0 if is_last else listed, 0 if expected else sibling_count)
    holds_answers = count > 0 or is_last or listed > 0
    return holds_answers and run.check_whole(count, whole, is_cut=is_last)


def _count_listed(result: Mapping[str, Any]) -> int:
    """Return how many answers the lists of a seed have, readable or not."""
    questions = result.get("completions")
    lists = (
        [question.get("completions") for question in questions if isinstance(question, dict)]
        if isinstance(questions, list)
        else []
    )
    return sum(len(completions) for completions in lists if isinstance(completions, list))


def _expected_count(result: Mapping[str, Any]) -> int:
    """Return the number of answers that a seed states; 0 if it states none."""
    per_question, questions = (
        _whole_number(result.get("num_samples_per_question")),
        _whole_number(result.get("num_questions")),
    )
    kl = result.get("kl")
    # The last entry may be the one that was cut off.
    measured = kl.get("per_sample_means") if isinstance(kl, dict) and list(result)[-1] != "kl" else None
    counts = (_whole_number(result.get("total_samples")), (per_question or 0) * (questions or 0))
    return max(*(count or 0 for count in counts), len(measured) if isinstance(measured, list) else 0)


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    config = document.get("config")
    settings = dict(config) if isinstance(config, dict) else {}
    settings |= {name: document[name] for name in ("alpha", "sigma", "beta", "algorithm") if name in document}
    recipe = {
        EVALUATION_SETTINGS.get(name, canonical_name(name)): value
        for name, value in settings.items()
        if not _is_path(name)
    }
    return recipe | ({"method": recipe["algorithm"]} if isinstance(recipe.get("algorithm"), str) else {})


def _is_path(name: str) -> bool:
    """Return whether the setting is a path, which is no part of the recipe and differs between machines."""
    return canonical_name(name) != "model" and name.endswith(("_path", "_dir", "_file", "_jsonl"))


def _values(result: Mapping[str, Any], answers: Sequence[Response]) -> dict[str, float]:
    out: dict[str, float] = {}
    for path, value in _leaves(result):
        keys = KEYS_BY_PATH.get(path, (f"eval/{path}",))
        out |= {key: value for key in keys if vocabulary.is_usable(key)}
    # Values that the file states for all answers take precedence over those of the answers in the file.
    return _answer_values(answers, has_reward="reward/mean" in out) | out if answers else out


def _answer_values(answers: Sequence[Response], *, has_reward: bool) -> dict[str, float]:
    """Return the values that are computed from the answers, with their rewards if the file states none."""
    rewards = np.array([answer.reward for answer in answers])
    # A reward may be infinite; then values that are computed from it are too.
    with np.errstate(all="ignore"):
        spread = {f"reward/{name}": float(getattr(rewards, name)()) for name in ("mean", "std", "min", "max")}
    return ({} if has_reward else spread) | curves_of(answers)


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield (path, number) for every number of a seed, without its long lists."""
    for name, inner in value.items():
        if isinstance(inner, dict) and len(prefix) + len(name) <= MAX_KEY:
            yield from _leaves(inner, f"{prefix}{name}/")
        elif (number := json_number(inner)) is not None and name not in (*LISTS, *STEP_NAMES):
            yield prefix + name, number


def _answers(
    result: Mapping[str, Any], step: int, is_sampled: bool, position: str, report: ImportReport
) -> Iterator[Response]:
    questions = result.get("completions")
    for i, question in enumerate(questions if isinstance(questions, list) else ()):
        inner = question.get("completions") if isinstance(question, dict) else None
        if not isinstance(inner, list):
            report.add_remark(f"{position}, question {i}", "contains no list of completions")
            continue
        for j, completion in enumerate(inner):
            response = _answer(question, completion, step, j + int(is_sampled))
            if response is None:
                report.add_remark(
                    f"{position}, question {i}, completion {j}", "has no text, or no reward that is a number"
                )
            else:
                yield response


def _answer(question: Mapping[str, Any], completion: Any, step: int, sample: int) -> Response | None:
    if not isinstance(completion, dict) or not isinstance(completion.get("completion"), str):
        return None
    reward, tokens, kl = (
        json_number(completion.get("reward")),
        completion.get("num_tokens"),
        json_number(completion.get("mean_per_token_kl")),
    )
    if reward is None:
        return None
    prompt = str(question.get("question", question.get("prompt", "")))
    target = str(question.get("target_answer", question.get("target", "")))
    count = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**31 else 0
    parts = {} if kl is None else {"kl_per_token": kl}
    response = answer(step, "eval", prompt, target, sample, completion["completion"], reward, count, parts)
    return replace(response, categories=categories_of(question))


def _step(result: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[int, bool]:
    """Return (step, whether the file states it)."""
    config = document.get("config")
    for source in (result, document, config if isinstance(config, dict) else {}):
        for name in STEP_NAMES:
            if (step := _whole_number(source.get(name))) is not None:
                return step, True
    return STEP, False


def _check_aggregate(document: Mapping[str, Any], report: ImportReport) -> None:
    """Compare the file's own mean over seeds, and the population's standard deviation, with its seeds."""
    aggregate, results = document.get("aggregate"), document["seed_results"].values()
    if not isinstance(aggregate, dict):
        return
    whole = [
        r["reward"] for r in results if isinstance(r, dict) and isinstance(r.get("reward"), dict) and not _error(r)
    ]
    means = [json_number(reward.get("mean")) for reward in whole]
    seed_means = np.array([mean for mean in means if mean is not None])
    stated = json_number(aggregate.get("reward_mean")), json_number(aggregate.get("reward_std"))
    if not len(seed_means) or None in stated:
        return
    with np.errstate(all="ignore"):
        actual = float(seed_means.mean()), float(seed_means.std())
    if all(math.isclose(a, b or 0.0, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(actual, stated, strict=True)):
        report.facts.append(
            f"its aggregate agrees with its {len(seed_means)} seeds: reward {actual[0]:.6g} ± {actual[1]:.6g}"
        )
    else:
        report.disagreements.append(
            f"its aggregate is {stated[0]} ± {stated[1]}; its {len(seed_means)} seeds give {actual[0]} ± {actual[1]}"
        )


def _error(result: Mapping[str, Any]) -> Any:
    """Return the error of a seed; empty if there was none."""
    return result.get("error") or ("no reason given" if result.keys() == {"error"} else "")


def _parse_seed(name: str) -> int | None:
    """Return the seed in a name: 3 for `3` and `seed_3`; None if there is none."""
    return _whole_number(name.strip().lower().removeprefix("seed").lstrip(" _-"))


def _whole_number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 18:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None


def _job_id(slurm: Any) -> str:
    job_id = slurm.get("job_id") if isinstance(slurm, dict) else None
    return storable(str(job_id))[:100] if isinstance(job_id, str | int) else ""
