"""Read `trainer_state.json` of TRL and transformers: `log_history`, a list of entries, each with its step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runs.importing import vocabulary
from runs.importing.hyperparameters import seed_of, settings_from_name
from runs.importing.numbers import parse_number
from runs.importing.records import Entry, ImportedRun, ImportReport
from workers.executors.states import State
from workers.records import Metric

KIND = "trainer state"
SETTINGS = {"max_steps": "steps", "train_batch_size": "train_batch_size", "num_train_epochs": "num_train_epochs"}


def is_trainer_state(value: Any) -> bool:
    """Return whether this is the JSON of a trainer's state."""
    return isinstance(value, dict) and isinstance(value.get("log_history"), list)


def identity(document: Mapping[str, Any]) -> bytes:
    """Return the bytes that identify the run: its history, one entry per line. A later state begins with them."""
    return b"".join(json.dumps(entry, sort_keys=True).encode() + b"\n" for entry in document["log_history"])


def entries(document: Mapping[str, Any], name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the history's numbers, at their steps."""
    history = document["log_history"]
    run = ImportedRun(0, KIND, settings=settings_from_name(name) | _settings(document))
    run.seed = seed_of(run.settings)
    keys = {key for entry in history if isinstance(entry, dict) for key in entry}
    run.method = "grpo" if vocabulary.is_grpo(keys) else str(run.settings.get("method") or "")
    ends = document.get("global_step")
    last, has_ended = (ends if isinstance(ends, int) else 0), any("train_runtime" in _plain(entry) for entry in history)
    epoch, seconds, before = 0, 0.0, -1
    for i, entry in enumerate(history):
        values, step = _values(entry, i, report), _step(entry)
        if step is None or not values:
            report.add_remark(f"log_history[{i}]", "has no step or no number: omitted")
            continue
        epoch += int(step < before and "train_runtime" not in values)
        before, last = step, max(last, step)
        seconds += max(values.get("step_time", 0.0), 0.0)
        axes = {"tokens": values["num_tokens"]} if "num_tokens" in values else {}
        yield Entry(run, Metric(step, _rename_values(values), axes), seconds, epoch)
    run.seconds = max(
        seconds, *(float(parse_number(str(_plain(e).get("train_runtime", 0))) or 0) for e in history), 0.0
    )
    _end(run, last, has_ended, document)
    if report.is_cut or before < 0:
        run.state = State.UNKNOWN
        run.reason = "The file is cut off" if report.is_cut else "Its log_history holds no number"
    yield Entry(run)


def _end(run: ImportedRun, last: int, has_ended: bool, document: Mapping[str, Any]) -> None:
    total = document.get("max_steps")
    total = total if isinstance(total, int) and total > 0 else 0
    if has_ended or (total and last >= total):
        run.state = State.SUCCEEDED
    else:
        run.state = State.UNKNOWN
        run.reason = (
            f"This is its state at step {last}{f' of {total}' if total else ''}; it does not state how the run ended"
        )


def _settings(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        setting: document[name] for name, setting in SETTINGS.items() if isinstance(document.get(name), int | float)
    }


def _values(entry: Any, i: int, report: ImportReport) -> dict[str, float]:
    out: dict[str, float] = {}
    for key, value in _plain(entry).items():
        number_value = parse_number(str(value)) if not isinstance(value, bool) else float(value)
        if number_value is not None and key not in ("step", "global_step"):
            out[key] = number_value
        elif isinstance(value, list | dict):
            report.add_remark(f"log_history[{i}]", f"{key} is a {type(value).__name__} and not a number")
        elif isinstance(value, str) and number_value is None:
            report.add_remark(f"log_history[{i}]", f"{key} is {value[:80]!r} and not a number")
    return out


def _rename_values(values: Mapping[str, float]) -> dict[str, float]:
    return {key: value for key, value in vocabulary.rename_keys(values).items() if vocabulary.is_usable(key)}


def _step(entry: Any) -> int | None:
    stated_step = _plain(entry).get("step", _plain(entry).get("global_step"))
    step = None if isinstance(stated_step, bool) else parse_number(str(stated_step))
    return int(step) if step is not None and abs(step) < 2**53 and step == int(step) else None


def _plain(entry: Any) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {}
