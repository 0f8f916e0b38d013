"""Answers of one model to a test split, with rewards and costs, as the published classification of alignment writes
them: TAG_points.jsonl, TAG_Rs.npy, TAG_Cs.npy, TAG_labels.npy and TAG_summary.json, or as many of them as there are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.importing.files import File
from runs.importing.hyperparameters import method_of_name
from runs.importing.numbers import real
from runs.importing.readers import safety_scores
from runs.importing.readers.npy import BadArray, read
from runs.importing.readers.safety_scores import Scored, check, metric, quadrants, scores
from runs.importing.records import STEP, Entry, ImportedRun, ImportReport
from runs.importing.text import Line, lines
from workers.analysis.answer_texts import TextCounts
from workers.analysis.quadrants import QUADRANTS
from workers.config.shallow_json import loads
from workers.executors.states import State
from workers.records import Metric, Response, categories_of

KIND = "scored answers"
NAMED = re.compile(r"(.*)_(points|Rs|Cs|labels|summary)\.(?:jsonl|npy|json)", re.DOTALL)
AFTER = re.compile(r"(?:iter|step|checkpoint)[-_]?(\d{1,12})(?!\d)|^(?:es|grpo)[-_](\d{1,12})$", re.IGNORECASE)
"""Matches the step in a checkpoint's path, or in a name such as ES-500."""
CLAIMED = {
    "R_mean": "reward/mean",
    "R_std": "reward/std",
    "C_mean": "cost/mean",
    "C_std": "cost/std",
    "num_points": "eval/n",
}
TOLD = ("reward_model", "cost_model", "dataset_split", "used_vllm", "policy_vllm_ckpt")
Arrays = Mapping[str, NDArray[Any]]


@dataclass
class Rows:
    """Counts of the rows that the files of a model hold, of which some may not be readable as answers.

    `there`: the least number of rows, readable or not. `ends_early`: the last row of the points is cut off.
    """

    there: int = 0
    ends_early: bool = False
    arrays: dict[str, int] = field(default_factory=dict)


def tag_of(file: File) -> tuple[str, str]:
    """(the model's tag, which of its files this is: points, Rs, Cs, labels or summary); empty where no name says so."""
    match = NAMED.fullmatch(PurePosixPath(file.name).name)
    return (match[1], match[2]) if match else ("", "")


def is_points(line: bytes) -> bool:
    """True for the first line of a file that is a scored answer; of one that goes on for too long, what it begins with
    must do."""
    keys = ("prompt", "response", "reward", "cost") if line.rstrip().endswith(b"}") else ("prompt", "response")
    return line.startswith(b"{") and all(re.search(rf'"{key}"\s*:'.encode(), line) for key in keys)


def is_summary(value: Any) -> bool:
    """True for the JSON of a summary."""
    return isinstance(value, dict) and isinstance(value.get("counts"), dict) and {"R_mean", "C_mean"} <= value.keys()


def entries(files: Sequence[File], told: ImportReport) -> Iterator[Entry]:
    """The answers, in the order of the file, and what they come to."""
    tag, _ = tag_of(files[0])
    parts = {tag_of(file)[1] or "points": file for file in files}
    summary = _summary(parts.get("summary"), told)
    rows = Rows()
    held = _arrays(parts, rows, told)
    found = ImportedRun(0, KIND, name=tag or PurePosixPath(files[0].name).stem, state=State.SUCCEEDED)
    found.method = method_of_name(found.name).get("method", "")
    found.settings = {
        key: summary[key] for key in TOLD if isinstance(summary.get(key), str | bool) and summary[key] != ""
    }
    step = _step(found, summary)
    scored, texts = list[Scored](), TextCounts()
    for answer in _answers(parts.get("points"), held, step, rows, told):
        scored.append((answer.reward, answer.parts["cost"]))
        if "no_text" not in answer.parts:
            texts.add(answer.text, answer.prompt or "")
        yield Entry(found, answer)
    if parts.keys() & {"points", "Rs", "Cs"}:
        claimed = max([*rows.arrays.values(), _count(summary.get("num_points"))])
        ends_early = rows.ends_early or told.is_cut
        whole = max(claimed, rows.there) if claimed or not ends_early else 0
        found.check_whole(len(scored), whole, is_cut=ends_early or not scored)
    values = {**metric(step, scored).values, **texts.values()} if scored else _claimed(summary)
    if scored:
        _check(summary, held, scored, values, told)
    if values:
        yield Entry(found, Metric(step, values))


def _answers(points: File | None, held: Arrays, step: int, rows: Rows, told: ImportReport) -> Iterator[Response]:
    if points is not None:
        with points.open() as opened:
            said = (line for line in lines(opened, told) if line.text.strip())
            for row, line in enumerate(said):
                rows.there = row + 1
                if (made := _answer(line, row, step, told)) is not None:
                    yield made
                else:
                    rows.ends_early = not line.is_whole
    elif "Rs" in held and "Cs" in held:
        rows.there = len(held["Rs"])
        for row, (reward, cost) in enumerate(zip(held["Rs"].tolist(), held["Cs"].tolist(), strict=False)):
            if np.isfinite(reward) and np.isfinite(cost):
                yield safety_scores.answer(step, row, (reward, cost))
            else:
                told.remark(f"row {row}", "has no reward and cost that are finite numbers: left out")
    elif held:
        told.remark("", f"holds {' and '.join(held)} alone: an answer takes Rs and Cs, or a line of points")


def _answer(line: Line, row: int, step: int, told: ImportReport) -> Response | None:
    try:
        said = loads(line.text)
    except ValueError as error:
        told.at_line(line.number, f"is no JSON: {error}"[:200])
        return None
    measured = scores(said) if isinstance(said, dict) else None
    if measured is None or not isinstance(said.get("prompt"), str) or not isinstance(said.get("response"), str):
        told.at_line(line.number, "must hold a prompt and a response, and a reward and a cost that are finite numbers")
        return None
    prompt, text = said["prompt"], said["response"]
    return safety_scores.answer(step, row, measured, prompt, text, categories=categories_of(said))


def _arrays(parts: Mapping[str, File], rows: Rows, told: ImportReport) -> dict[str, NDArray[Any]]:
    """Return those that can be read, if all of them have as many rows, and note how many each has."""
    held: dict[str, NDArray[Any]] = {}
    for name in ("Rs", "Cs", "labels"):
        if name in parts:
            try:
                array = read(parts[name])
            except BadArray as error:
                told.remark(parts[name].name, str(error))
                continue
            if (array.dtype.kind == "U") == (name == "labels"):
                held[name] = array
            else:
                told.remark(parts[name].name, f"holds {array.dtype}, not {'labels' if name == 'labels' else 'numbers'}")
    rows.arrays = {name: len(array) for name, array in held.items()}
    if len(set(rows.arrays.values())) > 1:
        told.remark("", f"its arrays have different numbers of rows: {rows.arrays}: none was kept")
        return {}
    return held


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else 0


def _summary(file: File | None, told: ImportReport) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        value = loads(file.head(file.size))
    except ValueError as error:
        told.remark(file.name, f"is no JSON: {error}"[:200])
        return {}
    return value if isinstance(value, dict) else {}


def _step(found: ImportedRun, summary: Mapping[str, Any]) -> int:
    places = (str(summary.get("policy_vllm_ckpt", "")), found.name)
    match = next((match for place in places if (match := AFTER.search(place))), None)
    if match is None:
        found.note = f"The files do not say after which step it was: its answers stand at step {STEP}."
        return STEP
    return int(match[1] or match[2])


def _claimed(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return the means that a summary states of answers that are not in the files."""
    said = {key: real(summary.get(name)) for name, key in CLAIMED.items()}
    shares = summary.get("percents")
    if isinstance(shares, dict):
        said |= {f"safety/quadrant/{name}": _share(shares.get(name)) for name in QUADRANTS}
    said["safety/safe_ratio"] = _share(summary.get("safe_ratio"))
    return {key: value for key, value in said.items() if value is not None}


def _share(percent: Any) -> float | None:
    value = real(percent)
    return None if value is None else value / 100


def _check(
    summary: Mapping[str, Any],
    held: Arrays,
    scored: Sequence[Scored],
    ours: Mapping[str, float],
    told: ImportReport,
) -> None:
    """Compare the files of the model with one another, and report facts and disagreements."""
    if summary:
        check("its summary", _claimed(summary), ours, told)
        counts = quadrants(scored)
        if any(summary["counts"].get(name) != n for name, n in counts.items()):
            told.disagreements.append(f"its summary: the counts are {summary['counts']}; its answers give {counts}")
        else:
            told.facts.append(f"its quadrants are {', '.join(f'{name} {n}' for name, n in counts.items())}")
    for name, column in zip(("Rs", "Cs"), np.array(scored).T, strict=True):
        array = held.get(name, column)
        # Rows that were left out are named already.
        is_other = not np.allclose(array, column) if len(array) == len(column) else not told.remarks
        if is_other:
            told.disagreements.append(f"its {name} are not those of its answers, which are kept")
    if len(held.get("labels", ())) == len(scored):
        labels = safety_scores.labels(scored)
        wrong = int((held["labels"] != labels).sum())
        if wrong:
            told.disagreements.append(f"{wrong} of its {len(labels)} labels are not the quadrants of their answers")
