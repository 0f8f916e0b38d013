"""Read the JSON lines that trainers append while they run: `logging.jsonl` of ms-swift, `trainer_log.jsonl` of
LLaMA-Factory.

Sources of the formats: `add_train_message` in `swift/trainers/callback.py` of modelscope/ms-swift; `LogCallback` in
`src/llamafactory/train/callbacks.py` of hiyouga/LLaMA-Factory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from runs.importing import vocabulary
from runs.importing.durations import parse_duration
from runs.importing.hyperparameters import seed_of, settings_from_name
from runs.importing.numbers import parse_number
from runs.importing.readers.table_records import parse_object
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.steps import PROGRESS_NAMES, StatedStep, stated_step
from runs.importing.text import BOM, Line, lines
from workers.executors.states import State
from workers.records import Metric

KIND = "trainer log"
SWIFT_STEP, LLAMA_FACTORY_STEP, ELAPSED = "global_step/max_steps", "current_steps", "elapsed_time"
RENAMED = {"lr": "learning_rate"}
SYSTEM_KEYS = {
    "memory(GiB)": "system/gpu_reserved_gib", "vram_reserved": "system/gpu_reserved_gib",
    "vram_allocated": "system/gpu_allocated_gib",
}  # fmt: skip
SUMMARY, HISTORY = "train_runtime", "log_history"
"""Keys of the lines that only a training that has ended writes; the one with a history repeats all of its lines."""
NO_STEP = f"states no step; read as one are {SWIFT_STEP} and {LLAMA_FACTORY_STEP}"
NO_OBJECT = "is not a JSON object, or is cut off: omitted"


@dataclass
class Progress:
    """Statements of the lines of a trainer's log so far. `seconds` are those since its first process began."""

    step: StatedStep | None = None
    epoch: int = 0
    seconds: float = 0.0
    base: float = 0.0
    elapsed: float = 0.0
    has_ended: bool = False
    keys: set[str] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Return whether the training has ended by itself."""
        return self.has_ended or (self.step is not None and 0 < self.step.total <= self.step.step)

    def has_ended_before(self, step: StatedStep) -> bool:
        """Return whether this step, which is lower, is that of another training in the same file."""
        return self.step is not None and step.step < self.step.step and self.is_over

    def advance(self, step: StatedStep, cells: Mapping[str, Any]) -> None:
        """Go to the step of a line. A step that goes back is that of a process that was started again."""
        if self.step is not None and step.step < self.step.step:
            self.epoch += 1
        elapsed = parse_duration(cells.get(ELAPSED))
        if elapsed is not None:
            self.base = self.seconds if elapsed < self.elapsed else self.base
            self.elapsed, self.seconds = elapsed, self.base + elapsed
        self.step = step
        self.has_ended |= SUMMARY in cells
        # LLaMA-Factory has no GRPO: its `reward` is that of PPO.
        self.keys |= set() if LLAMA_FACTORY_STEP in cells else cells.keys()


def is_trainer_log(first: bytes) -> bool:
    """Return whether a file with this first line is a trainer's log: JSON with a step of a total, and a time."""
    text = first.removeprefix(BOM).strip()
    if not text.startswith(b"{") or not any(f'"{key}"'.encode() in text for key in (SWIFT_STEP, ELAPSED)):
        return False
    cells = parse_object(text.decode("utf-8", errors="replace"))
    stated = stated_step(cells)
    return stated is not None and (SWIFT_STEP in cells or (ELAPSED in cells and stated[1].total > 0))


def entries(file: BinaryIO, name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the numbers of each line, at its step."""
    run, progress = _new_run(0, name), Progress()
    for line in lines(file, report):
        if not line.text.strip():
            continue
        cells = parse_object(line.text)
        if HISTORY in cells:
            progress.has_ended = True
        elif not cells:
            report.add_line_remark(line.number, NO_OBJECT)
        elif (stated := stated_step(cells)) is None:
            report.add_line_remark(line.number, NO_STEP)
        else:
            if progress.has_ended_before(stated[1]):
                yield _end(run, progress)
                run, progress = _new_run(run.part + 1, name), Progress()
            progress.advance(stated[1], cells)
            if values := _values(line, cells, report):
                yield Entry(run, Metric(stated[1].step, values, _axes(cells)), progress.seconds, progress.epoch)
    if progress.step is not None:
        yield _end(run, progress)


def _new_run(part: int, name: str) -> ImportedRun:
    settings = settings_from_name(name)
    return ImportedRun(part, KIND, settings=settings, seed=seed_of(settings))


def _end(run: ImportedRun, progress: Progress) -> Entry:
    """Set what is known only after the last line of a run, and return the entry of its end."""
    last = progress.step or StatedStep(0)
    run.method = "grpo" if vocabulary.is_grpo(progress.keys) else str(run.settings.get("method") or "")
    run.settings |= {"steps": last.total} if last.total else {}
    run.seconds = progress.seconds
    of_total = f" of {last.total}" if last.total else ""
    run.state = State.SUCCEEDED if progress.is_over else State.UNKNOWN
    if not progress.is_over:
        run.reason = f"It ends at step {last.step}{of_total} and does not state how the run ended"
    return Entry(run)


def _values(line: Line, cells: Mapping[str, Any], report: ImportReport) -> dict[str, float]:
    numbers, system = dict[str, float](), dict[str, float]()
    for key, cell in cells.items():
        if key.lower() in PROGRESS_NAMES or cell is None:
            continue
        number = float(cell) if isinstance(cell, bool) else parse_number(str(cell))
        if number is None or isinstance(cell, list | dict):
            report.refuse_cell(line.number, key, str(cell))
        elif key in SYSTEM_KEYS:
            system[SYSTEM_KEYS[key]] = number
        else:
            numbers[RENAMED.get(key, key)] = number
    renamed = vocabulary.rename_keys(numbers) | system
    return {key: value for key, value in renamed.items() if vocabulary.is_usable(key)}


def _axes(cells: Mapping[str, Any]) -> dict[str, float]:
    tokens = parse_number(str(cells.get("num_tokens")))
    return {} if tokens is None else {"tokens": tokens}
