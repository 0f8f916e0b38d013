"""JSON of an evaluation of checkpoints: for each seed its rewards, its KL, and every answer. A run a seed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from runs.importing import vocabulary
from runs.importing.hyperparameters import canonical, of_name, seed_of
from runs.importing.numbers import real
from runs.importing.readers.log_responses import answer, curves_of
from runs.importing.readers.timestamps import moment
from runs.importing.records import STEP, Entry, ImportedRun, ImportReport
from runs.ingest.storable import storable
from workers.executors.states import State
from workers.records import Metric, Record, Response, categories_of

KIND = "evaluation"
STEP_NAMES = ("step", "iteration", "global_step", "checkpoint_step")
OURS = {
    "reward/mean": ("reward/mean",), "reward/std": ("reward/std",), "reward/min": ("reward/min",),
    "reward/max": ("reward/max",), "kl/mean_per_token": ("kl", "kl/k3"), "answer_tokens/mean_per_sample":
    ("response/tokens_mean",),
}  # fmt: skip
"""Numbers of a seed, by their path in the file. Their KL is the k3 estimate, in nats per token."""
ASKED = {
    "max_new_tokens": "evaluation.max_new_tokens", "temperature": "evaluation.temperature",
    "num_samples": "evaluation.samples", "eval_seed": "evaluation.seed", "top_p": "evaluation_top_p",
    "do_sample": "evaluation_do_sample",
}  # fmt: skip
"""Settings of the evaluation, which are not those of the training."""
BASE_WORDS = frozenset({"base", "baseline", "pretrained", "untrained"})
BASE_NOTE = "It evaluates the model before training: its numbers stand at step 0."
LISTS = ("completions", "per_sample_means")


def is_one(value: Any) -> bool:
    """True for the JSON of an evaluation."""
    return isinstance(value, dict) and isinstance(value.get("seed_results"), dict)


def entries(document: Mapping[str, Any], name: str, told: ImportReport) -> Iterator[Entry]:
    """The records of each seed, in the order of the file."""
    settings = _of_name(name) | _settings(document)
    method = vocabulary.slug(str(settings.get("method") or document.get("algorithm") or ""))[:20]
    is_base = _is_base(settings, method, name)
    for part, (seed, result) in enumerate(document["seed_results"].items()):
        found = ImportedRun(part, KIND, settings=settings | {"seed": _seed_named(seed)}, suffix=", evaluated")
        found.method = "" if is_base else method
        found.seed, found.started_at = seed_of(found.settings), moment(document.get("timestamp"))
        found.job_id = _job_id(document.get("slurm"))
        yield from _seed(found, seed, result, document, told, is_base=is_base)
    _check_seeds(document, told)
    _check_aggregate(document, told)


def _of_name(name: str) -> dict[str, Any]:
    """Return what the file's name says of the run; its temperature is that of the evaluation."""
    said = of_name(name)
    return {ASKED["temperature"] if key == "temperature" else key: value for key, value in said.items()}


def _is_base(settings: Mapping[str, Any], method: str, name: str) -> bool:
    """Return whether the evaluated model is the one before training: it is named so, and no hyperparameter is told."""
    words = {method, *re.split(r"[^a-z]+", PurePosixPath(name).stem.lower())}
    return not BASE_WORDS.isdisjoint(words) and not settings.keys() & {"alpha", "sigma", "beta", "learning_rate"}


def _seed(
    found: ImportedRun, seed: str, result: Any, document: Mapping[str, Any], told: ImportReport, *, is_base: bool
) -> Iterator[Entry]:
    if not isinstance(result, dict) or _error(result):
        why = _error(result) if isinstance(result, dict) else f"it is {type(result).__name__} and no object"
        found.state, found.reason = State.FAILED, f"Its evaluation failed: {why}"[:1000]
        told.remark(f"seed {seed}", f"was not evaluated: {why}"[:500])
        yield Entry(found)
        return
    step, is_said = _step(result, document)
    found.state = State.SUCCEEDED
    if not is_said:
        step = 0 if is_base else step
        found.note = (
            BASE_NOTE if is_base else f"The file does not say after which step: its numbers stand at step {step}."
        )
    answers = list(_answers(result, step, bool(found.settings.get("evaluation_do_sample", True)), f"seed {seed}", told))
    values = _values(result, answers)
    _check_whole(found, len(answers), seed, document, told)
    if not values and not answers:
        told.remark(f"seed {seed}", "holds no number and no answer")
        return
    records: list[Record] = [Metric(step, values), *answers]
    yield from (Entry(found, record) for record in records)


def _check_seeds(document: Mapping[str, Any], told: ImportReport) -> None:
    config = document.get("config")
    asked = config.get("seeds_requested") if isinstance(config, dict) else None
    there = {_seed_named(seed) for seed in document["seed_results"]}
    missing = [str(seed) for seed in asked if _whole(seed) not in there] if isinstance(asked, list) else []
    if missing:
        told.remark("", f"seeds {', '.join(missing[:20])} were asked for and are not in the file")


def _check_whole(found: ImportedRun, count: int, seed: str, document: Mapping[str, Any], told: ImportReport) -> None:
    """Make the run partial if its file holds fewer answers than there were: their means are not those of all."""
    results = document["seed_results"]
    is_last = told.is_cut and seed == next(reversed(results)) and list(document)[-1] == "seed_results"
    whole = max(_expected(results[seed]), 0 if is_last else _listed(results[seed]))
    if not _expected(results[seed]):
        siblings = [one for name, one in results.items() if name != seed and isinstance(one, dict)]
        whole = max([whole, *(_expected(one) or _listed(one) for one in siblings)])
    holds_answers = count > 0 or is_last or _listed(results[seed]) > 0
    if holds_answers and found.check_whole(count, whole, is_cut=is_last):
        told.remark(f"seed {seed}", f"is partial: {found.reason}")


def _listed(result: Mapping[str, Any]) -> int:
    """Return how many answers the lists of a seed have, readable or not."""
    asked = result.get("completions")
    lists = [one.get("completions") for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    return sum(len(one) for one in lists if isinstance(one, list))


def _expected(result: Mapping[str, Any]) -> int:
    """Return how many answers a seed says that it has; 0 if it does not say."""
    per_question, questions = _whole(result.get("num_samples_per_question")), _whole(result.get("num_questions"))
    kl = result.get("kl")
    # What stands last may be what was cut.
    measured = kl.get("per_sample_means") if isinstance(kl, dict) and list(result)[-1] != "kl" else None
    said = (_whole(result.get("total_samples")), (per_question or 0) * (questions or 0))
    return max(*(count or 0 for count in said), len(measured) if isinstance(measured, list) else 0)


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    config = document.get("config")
    said = dict(config) if isinstance(config, dict) else {}
    said |= {name: document[name] for name in ("alpha", "sigma", "beta", "algorithm") if name in document}
    kept = {ASKED.get(name, canonical(name)): value for name, value in said.items() if not _is_path(name)}
    return kept | ({"method": kept["algorithm"]} if isinstance(kept.get("algorithm"), str) else {})


def _is_path(name: str) -> bool:
    """Places on somebody's disk say nothing about the recipe, and differ between machines."""
    return canonical(name) != "model" and name.endswith(("_path", "_dir", "_file", "_jsonl"))


def _values(result: Mapping[str, Any], answers: Sequence[Response]) -> dict[str, float]:
    out: dict[str, float] = {}
    for path, value in _leaves(result):
        keys = OURS.get(path, (f"eval/{path}",))
        out |= {key: value for key in keys if vocabulary.is_usable(key)}
    # What the file says of all answers stands before what those that are here give.
    return _of_answers(answers, has_reward="reward/mean" in out) | out if answers else out


def _of_answers(answers: Sequence[Response], *, has_reward: bool) -> dict[str, float]:
    """Return what the answers say by themselves, and their rewards if the file has none."""
    rewards = np.array([one.reward for one in answers])
    # A reward may be infinite; then so is what follows from it.
    with np.errstate(all="ignore"):
        spread = {f"reward/{name}": float(getattr(rewards, name)()) for name in ("mean", "std", "min", "max")}
    return ({} if has_reward else spread) | curves_of(answers)


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number under a seed, by its path; the long lists apart."""
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, f"{prefix}{name}/")
        elif (found := real(inner)) is not None and name not in (*LISTS, *STEP_NAMES):
            yield prefix + name, found


def _answers(
    result: Mapping[str, Any], step: int, is_sampled: bool, place: str, told: ImportReport
) -> Iterator[Response]:
    asked = result.get("completions")
    for i, question in enumerate(asked if isinstance(asked, list) else ()):
        inner = question.get("completions") if isinstance(question, dict) else None
        if not isinstance(inner, list):
            told.remark(f"{place}, question {i}", "holds no list of completions")
            continue
        for j, said in enumerate(inner):
            made = _answer(question, said, step, j + int(is_sampled))
            if made is None:
                told.remark(f"{place}, question {i}, completion {j}", "has no text, or no reward that is a number")
            else:
                yield made


def _answer(question: Mapping[str, Any], said: Any, step: int, sample: int) -> Response | None:
    if not isinstance(said, dict) or not isinstance(said.get("completion"), str):
        return None
    reward, tokens, kl = real(said.get("reward")), said.get("num_tokens"), real(said.get("mean_per_token_kl"))
    if reward is None:
        return None
    prompt = str(question.get("question", question.get("prompt", "")))
    target = str(question.get("target_answer", question.get("target", "")))
    count = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 2**31 else 0
    parts = {} if kl is None else {"kl_per_token": kl}
    made = answer(step, "eval", prompt, target, sample, said["completion"], reward, count, parts)
    return replace(made, categories=categories_of(question))


def _step(result: Mapping[str, Any], document: Mapping[str, Any]) -> tuple[int, bool]:
    """(step, whether the file says so)."""
    config = document.get("config")
    for place in (result, document, config if isinstance(config, dict) else {}):
        for name in STEP_NAMES:
            if (step := _whole(place.get(name))) is not None:
                return step, True
    return STEP, False


def _check_aggregate(document: Mapping[str, Any], told: ImportReport) -> None:
    """Compare the file's own mean over seeds, and the population's standard deviation, with its seeds."""
    aggregate, results = document.get("aggregate"), document["seed_results"].values()
    if not isinstance(aggregate, dict):
        return
    whole = [
        r["reward"] for r in results if isinstance(r, dict) and isinstance(r.get("reward"), dict) and not _error(r)
    ]
    means = [real(reward.get("mean")) for reward in whole]
    known = np.array([mean for mean in means if mean is not None])
    said = real(aggregate.get("reward_mean")), real(aggregate.get("reward_std"))
    if not len(known) or None in said:
        return
    with np.errstate(all="ignore"):
        ours = float(known.mean()), float(known.std())
    if all(math.isclose(a, b or 0.0, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(ours, said, strict=True)):
        told.facts.append(f"its aggregate is that of its {len(known)} seeds: reward {ours[0]:.6g} ± {ours[1]:.6g}")
    else:
        told.disagreements.append(
            f"its aggregate is {said[0]} ± {said[1]}; its {len(known)} seeds give {ours[0]} ± {ours[1]}"
        )


def _error(result: Mapping[str, Any]) -> Any:
    """Return the error of a seed; empty if there was none."""
    return result.get("error") or ("it does not say why" if result.keys() == {"error"} else "")


def _seed_named(name: str) -> int | None:
    """`3`, `seed_3` -> 3."""
    return _whole(name.strip().lower().removeprefix("seed").lstrip(" _-"))


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 18:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else None


def _job_id(slurm: Any) -> str:
    job_id = slurm.get("job_id") if isinstance(slurm, dict) else None
    return storable(str(job_id))[:100] if isinstance(job_id, str | int) else ""
