"""The process that runs the user's code: requests in and answers out, one JSON object a line.

    {"load": {"path", "folders", "options"}}    {"examples": {"train": [[id, messages, target, categories], …], …}}
                                                or {"problem": sentence, "at": "path" or "options"}
    {"score": [[split, number, completion], …]} a line each: {"reward", "parts"} or {"failure", "details"}; none after a
                                                failure, so that it can be tried again before the others

What the user's code prints goes to the log, that is standard error, whatever prints it. The process ends with the
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

from workers.tasks.own.contract import SPLITS, Unfit, built, examples_of, score_of
from workers.tasks.own.module import NoSuchTask, load

WORKERS = Path(__file__).parents[2]
SENTENCE, TRACEBACK = 500, 16_000
"""Characters of an exception's message, and of a traceback, that are passed on."""
FIRST_TO_GO = b"1000"


def main() -> None:
    """Serves until the requests end."""
    _end_with_the_trainer(int(sys.argv[1]))
    requests, replies = _own_pipes()
    faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
    _go_first_where_memory_ends()
    answer, task, examples = _loaded(json.loads(requests.readline())["load"])
    _say(replies, answer)
    for line in requests:
        for answer in _scored(task, examples, json.loads(line)["score"]):
            _say(replies, answer)
    # Threads of the user's must not keep the process.
    os._exit(0)


def _say(replies: TextIO, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer) + "\n")
    # At once, since the trainer measures each reward by when its answer comes.
    replies.flush()


def _end_with_the_trainer(life: int) -> None:
    """`life` is the read end of a pipe whose other end the trainer holds, and nobody else."""
    if os.fork():
        os.close(life)
        return
    for standard in (0, 1, 2):
        os.close(standard)
    os.read(life, 1)
    os.killpg(0, signal.SIGKILL)


def _own_pipes() -> tuple[TextIO, TextIO]:
    """Requests and replies on descriptors that nobody else knows; input is empty from here, and output is the log."""
    requests, replies = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, replies


def _go_first_where_memory_ends() -> None:
    """The kernel then kills this process before the trainer, and the run can say what happened. Linux only."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(FIRST_TO_GO)


def _loaded(body: dict[str, Any]) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """(the answer, the user's task, what its `examples` gave by split)."""
    path, at = body["path"], "path"
    try:
        attribute = load(path, [Path(folder) for folder in body["folders"]])
        at = "options"
        task = built(attribute, body["options"], path)
        at = "path"
        given = {split: task.examples(split) for split in SPLITS}
        examples = {split: examples_of(given[split], split) for split in SPLITS}
    except (NoSuchTask, Unfit) as error:
        return {"problem": str(error), "at": "path"}, None, {}
    except BaseException as error:
        # Whatever it is, SystemExit and KeyboardInterrupt too: it is the user's and ends nothing here.
        print(_details(error), file=sys.stderr)
        return {"problem": f"{path} cannot be used: {_reason(error)}", "at": at}, None, {}
    rows = {split: [[e.id, e.messages, e.target, e.categories] for e in examples[split]] for split in SPLITS}
    return {"examples": rows}, task, given


def _scored(task: Any, examples: dict[str, Any], asked: list[tuple[str, int, str]]) -> Iterator[dict[str, Any]]:
    for split, number, completion in asked:
        try:
            score = score_of(task.score(examples[split][number], completion))
        except BaseException as error:
            yield {"failure": _reason(error), "details": _details(error)}
            return
        yield {"reward": score.reward, "parts": score.parts}


def _reason(error: BaseException) -> str:
    """What was raised, and the last line of the user's that it passed."""
    steps = [s for s in traceback.extract_tb(error.__traceback__) if WORKERS not in Path(s.filename).parents]
    place = f" ({Path(steps[-1].filename).name}, line {steps[-1].lineno}, in {steps[-1].name})" if steps else ""
    said = "".join(traceback.format_exception_only(error)).strip()
    return (said if len(said) <= SENTENCE else said[:SENTENCE] + "…") + place


def _details(error: BaseException) -> str:
    """The traceback, from where our code calls the user's."""
    theirs = error.__traceback__
    while theirs is not None and WORKERS in Path(theirs.tb_frame.f_code.co_filename).parents:
        theirs = theirs.tb_next
    return "".join(traceback.format_exception(type(error), error, theirs))[-TRACEBACK:]


if __name__ == "__main__":
    main()
