"""Runs one training: reads run.json, loads the model, hands over to the engine, writes records into a directory.

    python -m workers.train run.json --out DIR [--epoch N] [--resume CHECKPOINT] [--code FINGERPRINT]

Exit codes: 0 done; 75 stopped by SIGTERM or SIGUSR1, a checkpoint saved where there was anything to save, start it
again to go on; 74 the disk is full; 1 failed, the last record says why; 2 the config or the checkpoint cannot be used,
every problem is named on stderr. The same command on the same DIR goes on from the latest checkpoint there. Relative
paths in run.json are taken from where the command is run.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workers import code, tasks
from workers.attempt import DISK_FULL, drop_output_if_full, is_disk_full
from workers.client import environment, pushing, sampling
from workers.config import ConfigError, Problem, RunConfig
from workers.config.resources import connect, locate
from workers.engines.resuming import NotResumable
from workers.engines.stopping import Interrupted, Stop
from workers.records import Alert, RecordWriter, Status, next_epoch
from workers.scorer.client import ScorerFailed

if TYPE_CHECKING:
    from workers.engines.context import Context

DONE, FAILED, BAD_CONFIG, STOPPED = 0, 1, 2, 75


class OtherCode(Exception):
    """The code here is not what the run was launched with."""


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    stop = _stop_on_signals()
    arguments = _parser().parse_args(argv)
    try:
        # Before anything heavy is imported: a mistake in the config is said at once.
        config = connect(RunConfig.read(arguments.config))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG
    epoch = next_epoch(arguments.out) if arguments.epoch is None else arguments.epoch
    try:
        records = RecordWriter(arguments.out, epoch)
    except FileExistsError:
        print(
            f"epoch {epoch} is written already in {arguments.out}; leave --epoch out to take the next", file=sys.stderr
        )
        return BAD_CONFIG
    except OSError as error:
        print(f"{arguments.out} cannot be written: {error.strerror}; give --out a folder that can", file=sys.stderr)
        return DISK_FULL if is_disk_full(error) else FAILED
    try:
        with records, pushing(config.tracking, arguments.out, epoch):
            return _reported(config, records, stop, arguments)
    except OSError as error:
        if not is_disk_full(error):
            raise
        # Not even the last record could be written.
        return DISK_FULL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.train", description="Runs one training.")
    parser.add_argument("config", type=Path, help="the run's config, a JSON file")
    parser.add_argument("--out", type=Path, required=True, help="directory for records and checkpoints")
    parser.add_argument("--epoch", type=int, help="number of this start within the attempt; default: the next free one")
    parser.add_argument("--resume", type=Path, help="checkpoint to go on from; default: the latest under --out")
    parser.add_argument("--code", default="", help="fingerprint of the code that is to run, as workers.code prints it")
    parser.add_argument("--other-code", choices=("warn", "refuse"), default="warn", help="what to do where it differs")
    return parser


def _stop_on_signals() -> Stop:
    """Set once the scheduler wants the job to end; the engine then saves."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, stop.set)
    return stop


def _reported(config: RunConfig, records: RecordWriter, stop: Stop, arguments: argparse.Namespace) -> int:
    """Trains, and turns each way to end into a record and an exit code."""
    try:
        _introduce(records, arguments.code, arguments.other_code)
        records.write(Status("loading", "importing the libraries"))
        # Its end is waited for before how training ended is recorded: that is the last record.
        with sampling(records, config.tracking.system_seconds):
            stopped = _train(config, records, stop, arguments.resume)
    except Interrupted:
        records.write(Status("saving", "stopped before there was anything to save; the run can be started again"))
        return STOPPED
    except (ConfigError, NotResumable, OtherCode) as error:
        print(error, file=sys.stderr)
        return _failed(records, str(error), BAD_CONFIG)
    except (Exception, KeyboardInterrupt) as error:
        is_full = is_disk_full(error)
        with contextlib.suppress(OSError):
            traceback.print_exc()
        why = _disk_full(arguments.out, error) if is_full else _sentence(error)
        return _failed(records, why, DISK_FULL if is_full else FAILED)
    if stopped:
        records.write(Status("saving", stopped))
        return STOPPED
    records.write(Status("done", progress=1.0))
    return DONE


def _introduce(records: RecordWriter, pinned: str, other_code: str) -> None:
    """Records what this runs on, and whether it is the code that was pinned. Raises OtherCode where that is refused."""
    here = code.fingerprint()
    records.write(environment(here))
    if pinned in ("", here):
        return
    said = f"this is not the code that the run was launched with: that was {pinned[:12]}, here lies {here[:12]}"
    if other_code == "refuse":
        raise OtherCode(f"{said}; put it back, or set other_code to warn in the cluster's config")
    records.write(Alert("warning", said))


def _failed(records: RecordWriter, why: str, code: int) -> int:
    """Leaves the reason in the records; where the disk takes none, on stderr, which is the log, if it takes that."""
    try:
        records.write(Status("failed", why))
    except OSError as error:
        with contextlib.suppress(OSError):
            print(f"{why}\n(the last record could not be written: {error.strerror})", file=sys.stderr)
    return code


def _train(config: RunConfig, records: RecordWriter, stop: Stop, resume: Path | None) -> str:
    """Returns "" at the end, or where it stopped when asked to. An attempt that is complete does nothing."""
    config = locate(config)
    if config.scorer is not None:
        return _served(config, records, stop)
    with stop.cuts():
        context = _loaded(config, records, stop, resume)
        if context is None:
            return ""
        from workers.engines import engine
        from workers.engines.context import Stopped

        train = engine("es" if config.es else "grpo")
    try:
        train(context)
    except Stopped as stopped:
        return f"{stopped}; the checkpoint is saved and the run can go on from it"
    return ""


def _served(config: RunConfig, records: RecordWriter, stop: Stop) -> str:
    """A scorer serves until it is asked to stop; it has nothing to save."""
    with stop.cuts():
        try:
            from workers.scorer.running import Running
        except ModuleNotFoundError as error:
            needs = f"is scorer, which needs {error.name}: install it here with requirements/install.sh train scorer"
            raise ConfigError([Problem("method", needs)]) from error
        running = Running(config, records)
    running.serve(stop.is_set)
    return "told to end; what was begun is answered, and it can be started again"


def _loaded(config: RunConfig, records: RecordWriter, stop: Stop, resume: Path | None) -> Context | None:
    """All that the engine needs; None where the run is complete. Nothing is changed: it can be cut short anywhere."""
    # Here and not above, because they take seconds and a mistake in the config should not.
    import torch
    from transformers.utils import logging

    from workers import models
    from workers.engines.context import Context, is_complete, latest_checkpoint
    from workers.evaluation import Evaluator

    logging.disable_progress_bar()
    models.keep_freed_memory()
    torch.set_num_threads(config.compute.cores)
    torch.manual_seed(config.seed)
    random.seed(config.seed)
    if resume is not None and not resume.is_dir():
        raise NotResumable(
            f"--resume {resume}: there is no such folder; leave it out to go on from the latest in --out"
        )
    resume = resume or latest_checkpoint(records.directory)
    if resume is not None and is_complete(resume, config.steps):
        return None
    task = tasks.make(config.task)
    say = _progress(records, stop)
    say(f"loading the model {config.model.path}", None)
    loaded = models.load(config.model, say, needs_transformers=config.needs_transformers)
    prompts = models.PromptFormat.of(config, loaded.tokenizer)
    evaluator = Evaluator(loaded, task, config.evaluation, config.max_new_tokens, prompts)
    return Context(config, records.directory, records, loaded, task, evaluator, stop, resume)


def _progress(records: RecordWriter, stop: Stop) -> Callable[[str, float | None], None]:
    """Every step of making a model as a record, every tenth of it in the log."""
    said: set[int] = set()

    def say(message: str, share: float | None) -> None:
        with stop.waits():
            records.write(Status("loading", message, share))
            if share is not None and int(share * 10) not in said:
                said.add(int(share * 10))
                print(f"{message} ({share:.0%})", flush=True)

    return say


def _disk_full(folder: Path, error: BaseException) -> str:
    where = (isinstance(error, OSError) and error.filename) or folder.resolve()
    return f"disk full: {where} takes no more; make room, then resume the run ({type(error).__name__}: {error})"


def _sentence(error: BaseException) -> str:
    """Say in a sentence for the run's page what went wrong; the traceback is in the log."""
    if isinstance(error, tasks.RewardFailed):
        return f"the reward of the prompt {error.prompt!r} ({error.example_id}) failed twice: {error.reason}"
    if isinstance(error, ScorerFailed):
        return f"{error}; once it does, the run can go on from its last checkpoint"
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    ended = main()
    drop_output_if_full()
    sys.exit(ended)
