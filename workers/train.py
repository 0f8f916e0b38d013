"""Runs one training: reads run.json, loads the model, hands over to the engine, writes records into a directory.

    python -m workers.train run.json --out DIR [--epoch N] [--resume CHECKPOINT]

Exit codes: 0 done; 75 stopped by SIGTERM or SIGUSR1 after saving a checkpoint, start it again to go on; 1 failed, the
last record says why; 2 the config cannot be used, every problem is named on stderr. The same command on the same DIR
goes on from the latest checkpoint there. Relative paths in run.json are taken from where the command is run.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from workers import tasks
from workers.client import pushing
from workers.config import ConfigError, RunConfig
from workers.records import RecordWriter, Status, next_epoch

DONE, FAILED, BAD_CONFIG, STOPPED = 0, 1, 2, 75


def main(argv: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    arguments = _parser().parse_args(argv)
    try:
        # Before anything heavy is imported: a mistake in the config is said at once.
        config = RunConfig.read(arguments.config)
    except ConfigError as error:
        return _refuse(error)
    stop = _stop_on_signals()
    epoch = next_epoch(arguments.out) if arguments.epoch is None else arguments.epoch
    try:
        records = RecordWriter(arguments.out, epoch)
    except FileExistsError:
        print(
            f"epoch {epoch} is written already in {arguments.out}; leave --epoch out to take the next", file=sys.stderr
        )
        return BAD_CONFIG
    with records, pushing(config.tracking, arguments.out, epoch):
        return _reported(config, records, stop, arguments.resume)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.train", description="Runs one training.")
    parser.add_argument("config", type=Path, help="the run's config, a JSON file")
    parser.add_argument("--out", type=Path, required=True, help="directory for records and checkpoints")
    parser.add_argument("--epoch", type=int, help="number of this start within the attempt; default: the next free one")
    parser.add_argument("--resume", type=Path, help="checkpoint to go on from; default: the latest under --out")
    return parser


def _stop_on_signals() -> threading.Event:
    """Set once the scheduler wants the job to end; the engine saves at its next step."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _reported(config: RunConfig, records: RecordWriter, stop: threading.Event, resume: Path | None) -> int:
    """Trains, and turns each way to end into a record and an exit code."""
    try:
        records.write(Status("loading", "importing the libraries"))
        stopped = _train(config, records, stop, resume)
    except ConfigError as error:
        records.write(Status("failed", str(error)))
        return _refuse(error)
    except (Exception, KeyboardInterrupt) as error:
        traceback.print_exc()
        records.write(Status("failed", _sentence(error, config)))
        return FAILED
    if stopped:
        records.write(Status("saving", f"{stopped}; the checkpoint is saved and the run can go on from it"))
        return STOPPED
    records.write(Status("done", progress=1.0))
    return DONE


def _train(config: RunConfig, records: RecordWriter, stop: threading.Event, resume: Path | None) -> str:
    """Returns "" at the end, or where it stopped when asked to. An attempt that is complete does nothing."""
    # Here and not above, because they take seconds and a mistake in the config should not.
    import torch
    from transformers.utils import logging

    from workers import models
    from workers.engines import engine
    from workers.engines.context import Context, Stopped, latest_checkpoint, step_of
    from workers.evaluation import Evaluator

    logging.disable_progress_bar()
    torch.set_num_threads(config.compute.cores)
    torch.manual_seed(config.seed)
    random.seed(config.seed)
    resume = resume or latest_checkpoint(records.directory)
    if resume is not None and step_of(resume) >= config.steps:
        return ""
    task = tasks.make(config.task)
    records.write(Status("loading", f"loading the model {config.model.path}"))
    loaded = models.load(config.model, _progress(records))
    evaluator = Evaluator(loaded, task, config.evaluation, config.max_new_tokens)
    context = Context(config, records.directory, records, loaded, task, evaluator, stop, resume)
    try:
        engine(config.method)(context)
    except Stopped as stopped:
        return str(stopped)
    return ""


def _progress(records: RecordWriter) -> Callable[[str, float], None]:
    """Every step of making a model as a record, every tenth of it in the log."""
    said: set[int] = set()

    def say(message: str, share: float) -> None:
        records.write(Status("loading", message, share))
        if int(share * 10) not in said:
            said.add(int(share * 10))
            print(f"{message} ({share:.0%})", flush=True)

    return say


def _refuse(error: ConfigError) -> int:
    print(*error.problems, sep="\n", file=sys.stderr)
    return BAD_CONFIG


def _sentence(error: BaseException, config: RunConfig) -> str:
    """What a person reads on the run's page; the traceback is in the log."""
    if isinstance(error, tasks.RewardFailed):
        task = tasks.make(config.task)
        examples = [*task.examples("train"), *task.examples("eval")]
        prompt = next(e.messages[-1]["content"] for e in examples if e.id == error.example_id)
        return f"the reward of the prompt {prompt!r} ({error.example_id}) failed twice: {error.reason}"
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
