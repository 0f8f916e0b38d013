"""Read one model's answers to a test split, with rewards and costs, as the published classification of alignment writes
them: TAG_points.jsonl, TAG_Rs.npy, TAG_Cs.npy, TAG_labels.npy and TAG_summary.json, or any of these files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runs.importing.files import File
from runs.importing.hyperparameters import method_from_name
from runs.importing.numbers import json_number
from runs.importing.readers import safety_scores
from runs.importing.readers.npy import BadArray, read_array
from runs.importing.readers.safety_scores import Scored, check, metric, quadrants, scores
from runs.importing.records import STEP, Entry, ImportedRun, ImportReport
from runs.importing.text import Line, lines
from workers.analysis.answer_texts import TextCounts
from workers.analysis.quadrants import QUADRANTS
from workers.config.shallow_json import loads
from workers.executors.states import State
from workers.records import Metric, Response, categories_of

KIND = "scored answers"
NAMED = re.compile(r"\A(.*)_(points|Rs|Cs|labels|summary)\.(?:jsonl|npy|json)", re.DOTALL)
AFTER = re.compile(r"(?:iter|step|checkpoint)[-_]?(\d{1,12})(?!\d)|^(?:es|grpo)[-_](\d{1,12})$", re.IGNORECASE)
"""Matches the step in a checkpoint's path, or in a name such as ES-500."""
STATED_KEYS = {
    "R_mean": "reward/mean",
    "R_std": "reward/std",
    "C_mean": "cost/mean",
    "C_std": "cost/std",
    "num_points": "eval/n",
}
SUMMARY_SETTINGS = ("reward_model", "cost_model", "dataset_split", "used_vllm", "policy_vllm_ckpt")
Arrays = Mapping[str, NDArray[Any]]


@dataclass
class Rows:
    """Counts of the rows in the files of a model, of which some may not be readable as answers.

    `count`: the least number of rows, readable or not. `ends_early`: the last row of the points is cut off.
    """

    count: int = 0
    ends_early: bool = False
    arrays: dict[str, int] = field(default_factory=dict)


def tag_of(file: File) -> tuple[str, str]:
    """Return (tag of the model, part: points, Rs, Cs, labels or summary); two empty texts for any other file name."""
    match = NAMED.fullmatch(PurePosixPath(file.name).name)
    return (match[1], match[2]) if match else ("", "")


def is_points(line: bytes) -> bool:
    """Return whether the first line of a file is a scored answer. If the line is cut off, only prompt and response are
    required."""
    keys = ("prompt", "response", "reward", "cost") if line.rstrip().endswith(b"}") else ("prompt", "response")
    return line.startswith(b"{") and all(re.search(rf'"{key}"\s*:'.encode(), line) for key in keys)


def is_summary(value: Any) -> bool:
    """Return whether this is the JSON of a summary."""
    return isinstance(value, dict) and isinstance(value.get("counts"), dict) and {"R_mean", "C_mean"} <= value.keys()


def entries(files: Sequence[File], report: ImportReport) -> Iterator[Entry]:
    """Yield the answers, in the order of the file, and then their means and shares."""
    tag, _ = tag_of(files[0])
    parts = {tag_of(file)[1] or "points": file for file in files}
    summary = _summary(parts.get("summary"), report)
    rows = Rows()
    arrays = _arrays(parts, rows, report)
    run = ImportedRun(0, KIND, name=tag or PurePosixPath(files[0].name).stem, state=State.SUCCEEDED)
    run.method = method_from_name(run.name).get("method", "")
    run.settings = {
        key: summary[key] for key in SUMMARY_SETTINGS if isinstance(summary.get(key), str | bool) and summary[key] != ""
    }
    step = _step(run, summary)
    scored, texts = list[Scored](), TextCounts()
    for answer in _answers(parts.get("points"), arrays, step, rows, report):
        scored.append((answer.reward, answer.parts["cost"]))
        if "no_text" not in answer.parts:
            texts.add(answer.text, answer.prompt or "")
        yield Entry(run, answer)
    if parts.keys() & {"points", "Rs", "Cs"}:
        claimed = max([*rows.arrays.values(), _count(summary.get("num_points"))])
        ends_early = rows.ends_early or report.is_cut
        whole = max(claimed, rows.count) if claimed or not ends_early else 0
        run.check_whole(len(scored), whole, is_cut=ends_early or not scored)
    values = {**metric(step, scored).values, **texts.values()} if scored else _stated_means(summary)
    if scored:
        _check(summary, arrays, scored, values, report)
    if values:
        yield Entry(run, Metric(step, values))


def _answers(points: File | None, arrays: Arrays, step: int, rows: Rows, report: ImportReport) -> Iterator[Response]:
    if points is not None:
        with points.open() as opened:
            filled_lines = (line for line in lines(opened, report) if line.text.strip())
            for row, line in enumerate(filled_lines):
                rows.count = row + 1
                if (response := _answer(line, row, step, report)) is not None:
                    yield response
                else:
                    rows.ends_early = not line.is_whole
    elif "Rs" in arrays and "Cs" in arrays:
        rows.count = len(arrays["Rs"])
        for row, (reward, cost) in enumerate(zip(arrays["Rs"].tolist(), arrays["Cs"].tolist(), strict=False)):
            if np.isfinite(reward) and np.isfinite(cost):
                yield safety_scores.answer(step, row, (reward, cost))
            else:
                report.add_remark(f"row {row}", "has no finite reward and cost: omitted")
    elif arrays:
        report.add_remark("", f"contains only {' and '.join(arrays)}: a response needs Rs and Cs, or a line of points")


def _answer(line: Line, row: int, step: int, report: ImportReport) -> Response | None:
    try:
        row_data = loads(line.text)
    except ValueError as error:
        report.add_line_remark(line.number, f"is not JSON: {error}"[:200])
        return None
    measured = scores(row_data) if isinstance(row_data, dict) else None
    if measured is None or not isinstance(row_data.get("prompt"), str) or not isinstance(row_data.get("response"), str):
        report.add_line_remark(line.number, "must contain a prompt and a response, and a finite reward and cost")
        return None
    prompt, text = row_data["prompt"], row_data["response"]
    return safety_scores.answer(step, row, measured, prompt, text, categories=categories_of(row_data))


def _arrays(parts: Mapping[str, File], rows: Rows, report: ImportReport) -> dict[str, NDArray[Any]]:
    """Return the readable arrays, if all have the same number of rows; else none. Store the counts in `rows`."""
    arrays: dict[str, NDArray[Any]] = {}
    for name in ("Rs", "Cs", "labels"):
        if name in parts:
            try:
                array = read_array(parts[name])
            except BadArray as error:
                report.add_remark(parts[name].name, str(error))
                continue
            if (array.dtype.kind == "U") == (name == "labels"):
                arrays[name] = array
            else:
                report.add_remark(
                    parts[name].name, f"holds {array.dtype}, not {'labels' if name == 'labels' else 'numbers'}"
                )
    rows.arrays = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.arrays.values())) > 1:
        report.add_remark("", f"its arrays have different numbers of rows ({rows.arrays}): none was saved")
        return {}
    return arrays


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else 0


def _summary(file: File | None, report: ImportReport) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        value = loads(file.head(file.size))
    except ValueError as error:
        report.add_remark(file.name, f"is not JSON: {error}"[:200])
        return {}
    return value if isinstance(value, dict) else {}


def _step(run: ImportedRun, summary: Mapping[str, Any]) -> int:
    names = (str(summary.get("policy_vllm_ckpt", "")), run.name)
    match = next((match for name in names if (match := AFTER.search(name))), None)
    if match is None:
        run.note = f"The files do not state a step: its responses are saved at step {STEP}."
        return STEP
    return int(match[1] or match[2])


def _stated_means(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return the means and shares that a summary states."""
    means = {key: json_number(summary.get(name)) for name, key in STATED_KEYS.items()}
    shares = summary.get("percents")
    if isinstance(shares, dict):
        means |= {f"safety/quadrant/{name}": _share(shares.get(name)) for name in QUADRANTS}
    means["safety/safe_ratio"] = _share(summary.get("safe_ratio"))
    return {key: value for key, value in means.items() if value is not None}


def _share(percent: Any) -> float | None:
    value = json_number(percent)
    return None if value is None else value / 100


def _check(
    summary: Mapping[str, Any],
    arrays: Arrays,
    scored: Sequence[Scored],
    computed: Mapping[str, float],
    report: ImportReport,
) -> None:
    """Compare the files of the model with one another, and report facts and disagreements."""
    if summary:
        check("its summary", _stated_means(summary), computed, report)
        counts = quadrants(scored)
        if any(summary["counts"].get(name) != n for name, n in counts.items()):
            report.disagreements.append(f"its summary: the counts are {summary['counts']}; its responses give {counts}")
        else:
            report.facts.append(f"its quadrants are {', '.join(f'{name} {n}' for name, n in counts.items())}")
    for name, column in zip(("Rs", "Cs"), np.array(scored).T, strict=True):
        array = arrays.get(name, column)
        # Rows that were left out have a remark already.
        is_other = not np.allclose(array, column) if len(array) == len(column) else not report.remarks
        if is_other:
            report.disagreements.append(f"its {name} differ from those of its responses, which are saved")
    if len(arrays.get("labels", ())) == len(scored):
        labels = safety_scores.labels(scored)
        wrong = int((arrays["labels"] != labels).sum())
        if wrong:
            report.disagreements.append(f"{wrong} of its {len(labels)} labels are not the quadrants of their responses")
