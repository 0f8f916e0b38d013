"""The context of an engine: config, model, task and evaluator of its run, and the one way to write records."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from workers import models
from workers.attempt import is_disk_full
from workers.checkpoint_folders import EVALUATION_DUE
from workers.config import RunConfig
from workers.engines.not_resumable import NotResumable
from workers.engines.stop import Stop
from workers.evaluation import Evaluation, EvaluationDecoder, Evaluator
from workers.models import Loaded, PromptFormat
from workers.models.save import put_in_place
from workers.records import Alert, Checkpoint, Metric, RecordWriter, Status
from workers.tasks import Task
from workers.tasks.protocols import WaitingTask


class Stopped(Exception):
    """The run was asked to stop, has saved a checkpoint and can be resumed from it."""


@dataclass
class Context:
    """One training as its engine sees it. The engine trains `loaded`; the evaluator has its own copy.

    `prompts` makes every prompt of training. Creation raises ConfigError if the model cannot be prompted as the config
    requires.
    """

    config: RunConfig
    directory: Path
    records: RecordWriter
    loaded: Loaded
    task: Task
    evaluator: Evaluator
    stop: Stop = field(default_factory=Stop)
    resume: Path | None = None
    prompts: PromptFormat = field(init=False)
    _evaluation_due: bool = field(default=False, init=False)
    _is_waiting: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.prompts = PromptFormat.from_config(self.config, self.loaded.tokenizer)
        if isinstance(self.task, WaitingTask):
            self.task.waits_by(self.wait)

    def status(self, phase: str, message: str = "", progress: float | None = None) -> None:
        """Record the run's phase: loading, training, evaluating, waiting, saving, done or failed."""
        with self.stop.uninterruptible():
            self.records.write(Status(phase, message, progress))
        self._is_waiting = phase == "waiting"

    def wait(self, seconds: float, reason: str) -> None:
        """Wait for another program and record the reason; the first wait in a row also writes an alert. Raise
        Interrupted."""
        self.stop.check()
        if not self._is_waiting:
            with self.stop.uninterruptible():
                self.alert("warning", f"waiting: {reason}")
        self.status("waiting", reason)
        self.stop.sleep(seconds)

    def alert(self, level: str, message: str, step: int | None = None) -> None:
        """Record something that a user should know. `level` is info, warning or error."""
        self.records.write(Alert(level, message, step))

    def metric(self, step: int, values: Mapping[str, float], axes: Mapping[str, float]) -> None:
        """Record values measured at `step`; `axes` are the cumulative tokens, samples and gpu_seconds of training."""
        self.records.write(Metric(step, dict(values), dict(axes)))

    def log(self, step: int, reward: float, seconds: float) -> None:
        """Print one line for users. `reward` is the training stream's mean, not the evaluator's."""
        print(f"step {step}/{self.config.steps}  train reward {reward:.4g}  {seconds:.2f} s", flush=True)

    def due(self, step: int) -> bool:
        """Return whether the plan has an evaluation after `step` updates: before any, after the last, and every n."""
        every = self.config.evaluation.every
        return step in (0, self.config.steps) or (every > 0 and step % every == 0)

    def is_evaluation_due(self) -> bool:
        """Return whether the checkpoint to resume from was saved without its step's evaluation, which was cut short."""
        return self.resume is not None and (self.resume / EVALUATION_DUE).exists()

    @property
    def owes_evaluation(self) -> bool:
        """Return whether an evaluation was cut short, so that the next checkpoint notes that it is due."""
        return self._evaluation_due

    def evaluate(
        self,
        step: int,
        model: nn.Module | None,
        axes: Mapping[str, float],
        decoder: EvaluationDecoder | None = None,
    ) -> Evaluation:
        """Evaluate the centre weights on the held-out prompts; record the values and, if the plan says so, the
        responses. `model` and `decoder` are those of `Evaluator.run`.

        Raise Interrupted if the run is asked to stop; the next checkpoint then notes that the evaluation is due.
        """
        self.status("evaluating", f"after step {step}", self._share(step))
        self._evaluation_due = True
        with self.stop.interruptible():
            evaluation = self.evaluator.run(model, step, decoder)
        self._evaluation_due = False
        self.metric(step, evaluation.values, axes)
        for response in evaluation.responses if self.config.evaluation.responses else ():
            self.records.write(response)
        return evaluation

    def checkpoint(self, step: int, model: Any, more: Callable[[Path], None] | None = None) -> Path:
        """Save a Hugging Face folder `checkpoints/step-000020` and record it.

        `more` writes what else a resume needs into the folder before it gets its name, so a folder so named is whole.
        """
        self.status("saving", f"after step {step}", self._share(step))
        final = self.directory / "checkpoints" / f"step-{step:06d}"
        for leftover in final.parent.glob(".*step-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        size, sha256 = write_checkpoint(final, model, self.loaded.tokenizer, self._add_due_mark(more))
        self.records.write(Checkpoint(step, str(final.relative_to(self.directory)), size, sha256))
        return final

    def _add_due_mark(self, more: Callable[[Path], None] | None) -> Callable[[Path], None]:
        def write(folder: Path) -> None:
            if more is not None:
                more(folder)
            if self._evaluation_due:
                (folder / EVALUATION_DUE).touch()

        return write

    def _share(self, step: int) -> float:
        return step / self.config.steps


def write_checkpoint(final: Path, model: Any, tokenizer: Any, more: Callable[[Path], None]) -> tuple[int, str]:
    """Write a Hugging Face folder with what `more` adds to it; it is whole under its name, or missing.

    Return (bytes of the Hugging Face files, sha256 of the weights). Raise OSError.
    """
    partial = final.with_name(f".{final.name}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        size, sha256 = models.save(model, tokenizer, partial)
        more(partial)
        put_in_place(partial, final)
    except BaseException as error:
        is_full = isinstance(error, Exception) and not is_disk_full(error) and _has_no_room(final.parent)
        # A disk that is full must not stay full of files that will never be complete.
        shutil.rmtree(partial, ignore_errors=True)
        if is_full:
            # torch does not report why it could not write.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(final)) from error
        raise
    return size, sha256


def _has_no_room(folder: Path) -> bool:
    return folder.exists() and shutil.disk_usage(folder).free == 0


def step_of(checkpoint: Path) -> int:
    """Return the step in a name: `…/step-000020` -> 20. Raise NotResumable for a folder of another name."""
    name, _, number = checkpoint.name.partition("-")
    if name != "step" or not number.isdigit():
        raise NotResumable(f"{checkpoint} is not a checkpoint of a run: its name should look like step-000020")
    return int(number)


def latest_checkpoint(directory: Path) -> Path | None:
    """Return the checkpoint of the highest step in an attempt's directory; None if there is none yet."""
    return max((p for p in directory.glob("checkpoints/step-*") if p.is_dir()), key=step_of, default=None)


def is_complete(checkpoint: Path, steps: int) -> bool:
    """Return whether a run of so many steps has nothing left to do. Raise NotResumable as `step_of` does."""
    return step_of(checkpoint) >= steps and not (checkpoint / EVALUATION_DUE).exists()
