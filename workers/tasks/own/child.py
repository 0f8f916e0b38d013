"""The process that runs the user's code: it reads requests and writes replies, one JSON object a line.

    {"load": {"path", "folders", "options"}}    {"examples": {"train": [[id, messages, target, categories], …], …}}
                                                or {"problem": sentence, "at": "path" or "options"}
    {"score": [[split, number, completion], …]} a line each: {"reward", "parts"} or {"failure", "details"}; none after a
                                                failure, so that it can be tried again before the others

Output of the user's code goes to the log, that is standard error, from whatever prints it. The process ends with the
trainer, however that ends and whatever the user's code is doing: a second process waits for the other end of a pipe to
close and kills both.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from workers.tasks.own.contract import SPLITS, InvalidTask, build_task, parse_examples, parse_score
from workers.tasks.own.module import NoSuchTask, load

WORKERS = Path(__file__).parents[2]
SENTENCE, TRACEBACK = 500, 16_000
"""Characters of an exception's message, and of a traceback, that are passed on."""
OOM_SCORE = b"1000"


def main() -> None:
    """Serve until the requests end."""
    _die_with_trainer(int(sys.argv[1]))
    requests, replies = _own_pipes()
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    _prefer_as_oom_victim()
    answer, task, examples = _load_task(json.loads(requests.readline())["load"])
    _send_reply(replies, answer)
    for line in requests:
        for answer in _score(task, examples, json.loads(line)["score"]):
            _send_reply(replies, answer)
    # The user's threads must not keep the process alive.
    os._exit(0)


def _send_reply(replies: TextIO, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer) + "\n")
    # Flushed immediately, since the trainer measures each reward by the arrival of its reply.
    replies.flush()


def _die_with_trainer(lifeline: int) -> None:
    """Kill this process with the trainer. `lifeline` is the read end of a pipe whose other end only the trainer
    holds."""
    if os.fork():
        os.close(lifeline)
        return
    for standard in (0, 1, 2):
        os.close(standard)
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def _own_pipes() -> tuple[TextIO, TextIO]:
    """Return requests and replies on private descriptors. Standard input is empty from here on, and output is the
    log."""
    requests, replies = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, replies


def _prefer_as_oom_victim() -> None:
    """Make the kernel kill this process before the trainer, so that the run can report the reason. Linux only."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(OOM_SCORE)


def _load_task(body: dict[str, Any]) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """Return (the reply, the user's task, the result of its `examples` by split)."""
    path, at = body["path"], "path"
    try:
        attribute = load(path, [Path(folder) for folder in body["folders"]])
        at = "options"
        task = build_task(attribute, body["options"], path)
        at = "path"
        raw_examples = {split: task.examples(split) for split in SPLITS}
        examples = {split: parse_examples(raw_examples[split], split) for split in SPLITS}
    except (NoSuchTask, InvalidTask) as error:
        return {"problem": str(error), "at": "path"}, None, {}
    except BaseException as error:
        # Any error, SystemExit and KeyboardInterrupt too, is the user's and ends nothing here.
        print(_details(error), file=sys.stderr)
        return {"problem": f"{path} cannot be used: {_reason(error)}", "at": at}, None, {}
    rows = {split: [[e.id, e.messages, e.target, e.categories] for e in examples[split]] for split in SPLITS}
    return {"examples": rows}, task, raw_examples


def _score(task: Any, examples: dict[str, Any], requests: list[tuple[str, int, str]]) -> Iterator[dict[str, Any]]:
    for split, number, completion in requests:
        try:
            score = parse_score(task.score(examples[split][number], completion))
        except BaseException as error:
            yield {"failure": _reason(error), "details": _details(error)}
            return
        yield {"reward": score.reward, "parts": score.parts}


def _reason(error: BaseException) -> str:
    """Return the exception's text, and the last line of the user's code that it passed."""
    steps = [s for s in traceback.extract_tb(error.__traceback__) if WORKERS not in Path(s.filename).parents]
    location = f" ({Path(steps[-1].filename).name}, line {steps[-1].lineno}, in {steps[-1].name})" if steps else ""
    message = "".join(traceback.format_exception_only(error)).strip()
    return (message if len(message) <= SENTENCE else message[:SENTENCE] + "…") + location


def _details(error: BaseException) -> str:
    """Return the traceback, from the frame in which our code calls the user's."""
    user_traceback = error.__traceback__
    while user_traceback is not None and WORKERS in Path(user_traceback.tb_frame.f_code.co_filename).parents:
        user_traceback = user_traceback.tb_next
    return "".join(traceback.format_exception(type(error), error, user_traceback))[-TRACEBACK:]


if __name__ == "__main__":
    main()
