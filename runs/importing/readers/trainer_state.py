"""`trainer_state.json` of TRL and transformers: `log_history`, an entry a log, each with its step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runs.importing import vocabulary
from runs.importing.hyperparameters import of_name, seed_of
from runs.importing.numbers import number
from runs.importing.records import Entry, ImportedRun, ImportReport
from workers.executors.states import State
from workers.records import Metric

KIND = "trainer state"
SETTINGS = {"max_steps": "steps", "train_batch_size": "train_batch_size", "num_train_epochs": "num_train_epochs"}


def is_one(value: Any) -> bool:
    """True for the JSON of a trainer's state."""
    return isinstance(value, dict) and isinstance(value.get("log_history"), list)


def identity(document: Mapping[str, Any]) -> bytes:
    """Return the bytes that identify the run: its history, an entry a line, so that a later state begins with them."""
    return b"".join(json.dumps(entry, sort_keys=True).encode() + b"\n" for entry in document["log_history"])


def entries(document: Mapping[str, Any], name: str, told: ImportReport) -> Iterator[Entry]:
    """The history's numbers, at their steps."""
    history = document["log_history"]
    found = ImportedRun(0, KIND, settings=of_name(name) | _settings(document))
    found.seed = seed_of(found.settings)
    keys = {key for entry in history if isinstance(entry, dict) for key in entry}
    found.method = "grpo" if vocabulary.is_grpo(keys) else str(found.settings.get("method") or "")
    ends = document.get("global_step")
    last, has_ended = (ends if isinstance(ends, int) else 0), any("train_runtime" in _plain(entry) for entry in history)
    epoch, seconds, before = 0, 0.0, -1
    for i, entry in enumerate(history):
        values, step = _values(entry, i, told), _step(entry)
        if step is None or not values:
            told.remark(f"log_history[{i}]", "has no step, or no number: left out")
            continue
        epoch += int(step < before and "train_runtime" not in values)
        before, last = step, max(last, step)
        seconds += max(values.get("step_time", 0.0), 0.0)
        axes = {"tokens": values["num_tokens"]} if "num_tokens" in values else {}
        yield Entry(found, Metric(step, _named(values), axes), seconds, epoch)
    found.seconds = max(seconds, *(float(number(str(_plain(e).get("train_runtime", 0))) or 0) for e in history), 0.0)
    _end(found, last, has_ended, document)
    yield Entry(found)


def _end(found: ImportedRun, last: int, has_ended: bool, document: Mapping[str, Any]) -> None:
    total = document.get("max_steps")
    total = total if isinstance(total, int) and total > 0 else 0
    if has_ended or (total and last >= total):
        found.state = State.SUCCEEDED
    else:
        found.state = State.UNKNOWN
        found.reason = f"This is its state at step {last}{f' of {total}' if total else ''}; how it ended is not told"


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    return {ours: document[name] for name, ours in SETTINGS.items() if isinstance(document.get(name), int | float)}


def _values(entry: Any, i: int, told: ImportReport) -> dict[str, float]:
    out: dict[str, float] = {}
    for key, value in _plain(entry).items():
        found = number(str(value)) if not isinstance(value, bool) else float(value)
        if found is not None and key not in ("step", "global_step"):
            out[key] = found
        elif isinstance(value, list | dict):
            told.remark(f"log_history[{i}]", f"{key} is a {type(value).__name__} and no number")
    return out


def _named(values: Mapping[str, float]) -> dict[str, float]:
    return {key: value for key, value in vocabulary.renamed(values).items() if vocabulary.is_usable(key)}


def _step(entry: Any) -> int | None:
    said = _plain(entry).get("step", _plain(entry).get("global_step"))
    step = None if isinstance(said, bool) else number(str(said))
    return int(step) if step is not None and abs(step) < 2**53 and step == int(step) else None


def _plain(entry: Any) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {}
