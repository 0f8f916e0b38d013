"""Runs one training or evaluation: reads run.json, loads the model, calls the engine, writes records into a directory.

    python -m workers.train run.json --out DIR [--epoch N] [--resume CHECKPOINT] [--code FINGERPRINT]

Exit codes: 0 done; 75 stopped by SIGTERM or SIGUSR1, a checkpoint saved if there was anything to save, start it again
to continue; 74 the disk is full; 1 failed, the last record gives the reason; 2 the config or the checkpoint cannot be
used, every problem is named on stderr. The same command on the same DIR resumes from the latest checkpoint there.
Relative paths in run.json are taken from where the command is run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workers import code, tasks
from workers.attempt import DISK_FULL, RUN_CONFIG, drop_output_if_full, is_disk_full, write_whole
from workers.checkpoint_folders import hold, is_address, root_of
from workers.client import environment, push_records, record_usage
from workers.client.metric_copies import copy_metrics
from workers.config import ConfigError, Problem, RunConfig
from workers.config.cache import share_compiled_code
from workers.config.resources import connect, locate
from workers.engines.not_resumable import NotResumable
from workers.engines.stop import Interrupted, Stop
from workers.gpus.context import begin_context
from workers.gpus.device_numbers import number_devices
from workers.records import Alert, RecordWriter, SilentWriter, Status, next_epoch
from workers.scorer.client import ScorerFailed
from workers.trainer_processes import Control, PeerLost, check_server, supervise, threads_of, trainer_python

if TYPE_CHECKING:
    from workers.engines.context import Context

DONE, FAILED, BAD_CONFIG, STOPPED = 0, 1, 2, 75


class OtherCode(Exception):
    """The code here is not the code that the run was launched with."""


def main(argv: Sequence[str] | None = None, control: Control | None = None) -> int:
    """Run the command line. Return the exit code. `control`: this is one of several processes of the training."""
    stop = _stop_on_signals()
    arguments = _parser().parse_args(argv)
    try:
        # Before anything heavy is imported, so that a mistake in the config is reported immediately.
        config = connect(RunConfig.read(arguments.config))
        python = trainer_python(config)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG
    if config.uses_vllm:
        os.environ.update(number_devices())
    if control is None and (config.processes > 1 or python != sys.executable):
        return _supervise(config, arguments, python, stop)
    epoch = next_epoch(arguments.out) if arguments.epoch is None else arguments.epoch
    try:
        records = _open_records(arguments.out, epoch, control)
    except FileExistsError:
        print(f"epoch {epoch} already exists in {arguments.out}; leave out --epoch to use the next", file=sys.stderr)
        return BAD_CONFIG
    except OSError as error:
        print(
            f"{arguments.out} cannot be written: {error.strerror}; give a writable folder with --out", file=sys.stderr
        )
        return DISK_FULL if is_disk_full(error) else FAILED
    pushing = (
        contextlib.nullcontext()
        if isinstance(records, SilentWriter)
        else push_records(config.tracking, arguments.out, epoch)
    )
    try:
        if not isinstance(records, SilentWriter):
            _keep_config(arguments)
        with records, pushing:
            return _run_and_report(config, records, stop, arguments, control)
    except OSError as error:
        if not is_disk_full(error):
            raise
        # Not even the last record could be written.
        return DISK_FULL


def _keep_config(arguments: argparse.Namespace) -> None:
    """Copy the config into the folder of the records, unless it is there: the folder then holds all that an import, an
    evaluation or a replay of the run needs. Raise OSError."""
    copy = arguments.out / RUN_CONFIG
    if not copy.exists():
        write_whole(copy, arguments.config.read_text(encoding="utf-8"))


def _supervise(config: RunConfig, arguments: argparse.Namespace, python: str, stop: Stop) -> int:
    """Run the training in processes of its own. Return the exit code."""
    epoch = next_epoch(arguments.out) if arguments.epoch is None else arguments.epoch
    argv = [str(arguments.config), "--out", str(arguments.out), "--epoch", str(epoch), "--code", arguments.code]
    argv += ["--other-code", arguments.other_code]
    argv += ["--resume", str(arguments.resume)] if arguments.resume is not None else []
    try:
        check_server(config)
        arguments.out.mkdir(parents=True, exist_ok=True)
        return supervise(config, argv, arguments.out.resolve(), python, stop.is_set)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG


def _open_records(directory: Path, epoch: int, control: Control | None) -> RecordWriter:
    """Return the writer of this process: of several, only the first records anything. Raise OSError."""
    if control is None:
        return RecordWriter(directory, epoch)
    records = RecordWriter(directory, epoch) if control.number == 0 else SilentWriter(directory, epoch)

    def give_up(reason: str) -> None:
        if control.begin_end():
            _record_failure(records, reason, FAILED)
            records.close()
            control.report(FAILED, reason)
            os._exit(FAILED)

    control.listen(give_up)
    return records


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.train", description="Run one training.")
    parser.add_argument("config", type=Path, help="config of the run, a JSON file")
    parser.add_argument("--out", type=Path, required=True, help="directory for records and checkpoints")
    parser.add_argument("--epoch", type=int, help="number of this start within the attempt; default: the next one")
    parser.add_argument("--resume", type=Path, help="checkpoint to resume from; default: the latest under --out")
    parser.add_argument("--code", default="", help="expected fingerprint of the code, as printed by workers.code")
    parser.add_argument(
        "--other-code", choices=("warn", "refuse"), default="warn", help="action if the fingerprint differs"
    )
    return parser


def _stop_on_signals() -> Stop:
    """Return a stop that is set once the scheduler wants the job to end; the engine then saves."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, stop.set)
    return stop


def _run_and_report(
    config: RunConfig, records: RecordWriter, stop: Stop, arguments: argparse.Namespace, control: Control | None
) -> int:
    """Train, evaluate or probe, and turn each way to end into a record and an exit code."""
    code, reason = _run(config, records, stop, arguments, control)
    if control is not None and not control.begin_end():
        # Another thread is ending this process.
        threading.Event().wait()
    if reason:
        code = _record_failure(records, reason, code)
    if control is not None:
        control.report(code, reason)
    return code


def _run(
    config: RunConfig, records: RecordWriter, stop: Stop, arguments: argparse.Namespace, control: Control | None
) -> tuple[int, str]:
    """Run the config. Return the exit code, and the reason of a failure or ""."""
    try:
        _record_environment(records, arguments.code, arguments.other_code)
        records.write(Status("loading", "importing the libraries"))
        usage = (
            contextlib.nullcontext()
            if isinstance(records, SilentWriter)
            else record_usage(records, config.tracking.system_seconds)
        )
        # The sampler stops before the end of training is recorded, which is the last record.
        with copy_metrics(config, records, arguments.resume), usage:
            stopped = _train(config, records, stop, arguments.resume)
    except Interrupted:
        records.write(Status("saving", "stopped before there was anything to save; the run can be restarted"))
        return STOPPED, ""
    except (ConfigError, NotResumable, OtherCode) as error:
        print(error, file=sys.stderr)
        return BAD_CONFIG, str(error)
    except PeerLost as error:
        return FAILED, (control and control.lost_reason()) or str(error)
    except (Exception, KeyboardInterrupt) as error:
        is_full = is_disk_full(error)
        with contextlib.suppress(OSError):
            traceback.print_exc()
        if is_full:
            return DISK_FULL, _disk_full(arguments.out, error)
        # An error in a call that all processes share may only be the consequence of another's end.
        is_first = control is not None and control.number == 0
        lost = control.lost_reason() if control and is_first and isinstance(error, RuntimeError) else ""
        return FAILED, lost or _describe_error(error)
    records.write(Status("saving", stopped) if stopped else Status("done", progress=1.0))
    return STOPPED if stopped else DONE, ""


def _record_environment(records: RecordWriter, pinned: str, other_code: str) -> None:
    """Record the environment, and if the code is the pinned one. Raise OtherCode if other code is refused."""
    current = code.fingerprint()
    records.write(environment(current))
    if pinned in ("", current):
        return
    message = f"this is not the code that the run was launched with: that was {pinned[:12]}, here lies {current[:12]}"
    if other_code == "refuse":
        raise OtherCode(f"{message}; put it back, or set other_code to warn in the cluster's config")
    records.write(Alert("warning", message))


def _record_failure(records: RecordWriter, reason: str, code: int) -> int:
    """Record the reason; if the disk takes no record, print it on stderr, which is the log, if possible."""
    try:
        records.write(Status("failed", reason))
    except OSError as error:
        with contextlib.suppress(OSError):
            print(f"{reason}\n(the last record could not be written: {error.strerror})", file=sys.stderr)
    return code


def _train(config: RunConfig, records: RecordWriter, stop: Stop, resume: Path | None) -> str:
    """Train. Return "" at the end, or the point of a requested stop. An attempt that is complete does nothing."""
    config = locate(config)
    if config.scorer is not None:
        return _serve(config, records, stop)
    if config.audit is not None:
        return _audit(config, records, stop)
    if not config.is_training:
        return _examine(config, records, stop)
    with stop.interruptible():
        _set_up_torch(config)
        context = _load_context(_with_model(config, records, stop), records, stop, resume)
        if context is None:
            return ""
        from workers.engines import engine
        from workers.engines.context import Stopped

        train = engine(config.method)
    try:
        train(context)
    except Stopped as stopped:
        return f"{stopped}; the checkpoint is saved and the run can resume from it"
    return ""


def _examine(config: RunConfig, records: RecordWriter, stop: Stop) -> str:
    """Evaluate or probe without training. Return "" at the end, or the point of a requested stop."""
    with stop.interruptible():
        if config.probe is not None:
            from workers.probes.probe_run import probe as examine
        elif config.evaluate is not None:
            from workers.probes.evaluate import evaluate as examine
        else:
            raise ValueError(f"method {config.method} has no program")

        _set_up_torch(config)
        config = _with_model(config, records, stop)
    try:
        examine(config, records, stop, _progress(records, stop))
    except Interrupted:
        return "stopped on request; a restart continues after what is complete"
    return ""


def _audit(config: RunConfig, records: RecordWriter, stop: Stop) -> str:
    """Audit the task's reward, without torch unless it asks the model. Return as `_examine` does."""
    from workers.reward_audit.audit_run import audit

    if config.needs_torch:
        with stop.interruptible():
            _set_up_torch(config)
    try:
        audit(config, records, stop, _progress(records, stop))
    except Interrupted:
        return "stopped on request; a restart begins again"
    return ""


def _set_up_torch(config: RunConfig) -> None:
    """Set threads and seeds. Imported here, because torch takes seconds, which a mistake in the config should not wait
    for."""
    share_compiled_code()
    # Other processes use other GPUs, and engines elsewhere their own.
    if config.model.device != "cpu" and config.processes == 1 and not config.is_answered_elsewhere:
        begin_context()
    import torch
    from transformers.utils import logging

    from workers import models

    logging.disable_progress_bar()
    models.keep_freed_memory()
    models.limit_gpu_memory(config.model, config.compute)
    torch.set_num_threads(threads_of(config))
    torch.manual_seed(config.seed)
    random.seed(config.seed)


def _serve(config: RunConfig, records: RecordWriter, stop: Stop) -> str:
    """Serve a scorer until a stop is requested; it has nothing to save."""
    with stop.interruptible():
        try:
            from workers.scorer.run import ScorerRun
        except ModuleNotFoundError as error:
            needs = f"is scorer, which needs {error.name}: install it here with requirements/install.sh train scorer"
            raise ConfigError([Problem("method", needs)]) from error
        running = ScorerRun(config, records)
    running.serve(stop.is_set)
    return "stopped on request after it had answered the started requests; it can be restarted"


def _load_context(config: RunConfig, records: RecordWriter, stop: Stop, resume: Path | None) -> Context | None:
    """Return all that the engine needs; None if the run is complete. It changes nothing and can be cut short
    anywhere."""
    from workers import models
    from workers.engines.context import Context, is_complete, latest_checkpoint
    from workers.evaluation import Evaluator

    say = _progress(records, stop)
    if config.processes > 1:
        from workers.engines.grpo.process_group import join_processes

        join_processes(lambda: models.resolve(config.model.path, say))
    if resume is not None:
        typed, resume = resume, resume.parent.resolve() / resume.name
        if not resume.is_dir() and not _is_replayed(config, resume):
            raise NotResumable(
                f"--resume {typed}: the folder does not exist; leave it out to resume from the latest in --out"
            )
    resume = resume or latest_checkpoint(records.directory.resolve())
    if resume is not None and is_complete(resume, config.steps):
        return None
    if resume is not None and _is_replayed(config, resume):
        resume = _provide(resume, say)
    task = tasks.make(config.task)
    say(f"loading the model {config.model.path}", None)
    loaded = models.load(
        config.model, say, needs_transformers=config.needs_transformers, on_host=config.is_answered_elsewhere
    )
    prompts = models.PromptFormat.from_config(config, loaded.tokenizer)
    evaluator = Evaluator(loaded, task, config.evaluation, config.max_new_tokens, prompts)
    return Context(config, records.directory, records, loaded, task, evaluator, stop, resume)


def _with_model(config: RunConfig, records: RecordWriter, stop: Stop) -> RunConfig:
    """Return the config with the folder of the checkpoint that model.path names, if it is the address of one: it may
    have been deleted, and is rebuilt then. Raise ConfigError."""
    folder = Path(config.model.path)
    if not is_address(folder) or not root_of(folder).is_dir():
        return config
    hold(folder)
    if not folder.is_dir():
        try:
            folder = _provide(folder, _progress(records, stop))
        except NotResumable as error:
            raise ConfigError([Problem("model.path", f"names the checkpoint {folder}, and {error}")]) from error
    return replace(config, model=replace(config.model, path=str(folder)))


def _is_replayed(config: RunConfig, checkpoint: Path) -> bool:
    """Return whether a training resumes from the address of a checkpoint that a replay log may rebuild."""
    return config.es is not None and is_address(checkpoint) and root_of(checkpoint).is_dir()


def _provide(checkpoint: Path, say: Callable[[str, float | None], None]) -> Path:
    """Return a folder with the checkpoint of this address, rebuilt if necessary. Raise NotResumable."""
    from workers.engines.es.rebuild import provide
    from workers.engines.es.replay_history import CannotReplay

    message = f"rebuilding {checkpoint.name} of {root_of(checkpoint).name} from its replay log"
    try:
        return provide(checkpoint, progress=lambda done, total: say(message, done / total))
    except CannotReplay as error:
        raise NotResumable(f"it is not on disk and cannot be rebuilt: {error}") from error


def _progress(records: RecordWriter, stop: Stop) -> Callable[[str, float | None], None]:
    """Return a function that records every step of building a model, and logs every tenth of it."""
    logged: set[int] = set()

    def report(message: str, share: float | None) -> None:
        with stop.uninterruptible():
            records.write(Status("loading", message, share))
            if share is not None and int(share * 10) not in logged:
                logged.add(int(share * 10))
                print(f"{message} ({share:.0%})", flush=True)

    return report


def _disk_full(folder: Path, error: BaseException) -> str:
    path = (isinstance(error, OSError) and error.filename) or folder.resolve()
    return f"disk full: {path} cannot be written; free space, then resume the run ({type(error).__name__}: {error})"


def _describe_error(error: BaseException) -> str:
    """Describe the error in a sentence for the run's page; the traceback is in the log."""
    if isinstance(error, tasks.RewardFailed):
        return f"the reward of the prompt {error.prompt!r} ({error.example_id}) failed twice: {error.reason}"
    if reason := _memory_reason(error):
        return reason
    if isinstance(error, ScorerFailed):
        return f"{error}; once it does, the run can resume from its last checkpoint"
    return f"{type(error).__name__}: {error}"


def _memory_reason(error: BaseException) -> str:
    """Return a sentence if the run exceeded its share of a GPU; else an empty text. Without torch, it did not."""
    if "torch" not in sys.modules:
        return ""
    from workers.models import exceeded_reason

    return exceeded_reason(error)


if __name__ == "__main__":
    ended = main()
    drop_output_if_full()
    sys.exit(ended)
