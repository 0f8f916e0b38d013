"""Rewards that raise, hang, exit, print or die: retried once in a fresh process, then reported to the run."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cases import each_case
from tests.waiting import PATIENCE_SECONDS
from tests.workers.attempts import STAYS_SECONDS
from tests.workers.tasks.own.clock import passing_the_limit
from tests.workers.tasks.own.files import HANDS, own, refusal, write
from workers.oom_kills import RecentOomKills
from workers.tasks import RewardFailed, Score, score_safely
from workers.tasks.own import OwnTask, process
from workers.tasks.own import task as own_task
from workers.tasks.own.process import Child

LIMIT = 0.05
"""Seconds for a reward that hangs, where the clock is the machine's own."""
HANGS = f"time.sleep({STAYS_SECONDS})"
TOO_LONG = f"took longer than {PATIENCE_SECONDS:g} s, the limit that task.reward_seconds sets"


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a process of a busy machine enough time to report where it hangs, and to end."""
    monkeypatch.setattr(process, "TRACEBACK_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(process, "CLOSED_SECONDS", PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnTask]:
    """Yield a task that executes the completion. All tests here share it: each leaves it ready for use."""
    folder = tmp_path_factory.mktemp("allowed")
    write(folder, HANDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ESWEB_TASK_PATHS", str(folder))
        task = own()
        yield task
        task.close()


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return code with which a reward lets the trainer's clock pass its limit."""
    return passing_the_limit(tmp_path / "late", monkeypatch)


def rewards(task: OwnTask, *completions: str) -> list[float]:
    (example,) = task.examples("train")
    return [score.reward for score in score_safely(task, [(example, c) for c in completions])]


def failure(task: OwnTask, completion: str) -> RewardFailed:
    with pytest.raises(RewardFailed) as failed:
        rewards(task, "", completion, "")
    return failed.value


@each_case(
    ("completion", "reason", "details"),
    [
        ("raise ValueError('no reward')", "ValueError: no reward", 'File "<string>", line 1'),
        ("sys.exit('bye')", "SystemExit: bye", "in score"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "in score"),
        ("raise ValueError('y' * 10**7)", "ValueError: yyy", "yyy"),
        ("def f(): f()\nf()", "RecursionError", "repeated"),
        ("[0] * 2**62", "MemoryError", "in score"),
        ("os.write(2, b'last words')\nos.kill(os.getpid(), 9)", "was killed by SIGKILL", "last words"),
    ],
)
def test_reward_that_fails_twice_reports_reason_and_line(
    hands: OwnTask, completion: str, reason: str, details: str
) -> None:
    check_failure(hands, completion, reason, details)


def test_reward_that_the_kernel_killed_names_the_kernels_count(hands: OwnTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecentOomKills, "count", lambda self: 1)
    reason = "was killed by SIGKILL for lack of memory: oom_kill of its control group rose by 1"
    check_failure(hands, "os.kill(os.getpid(), 9)", reason, "")


def test_a_reward_that_closes_its_pipe_and_stays_is_a_failure(hands: OwnTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CLOSED_SECONDS", 0.1)
    check_failure(hands, f"os.closerange(0, 100)\n{HANGS}", "closed its pipe", "")


def test_reward_that_hangs_twice_reports_limit_and_line(hands: OwnTask, late: str) -> None:
    """The reward ignores signals, spins, and has printed much before."""
    deaf = "signal.signal(15, signal.SIG_IGN); signal.signal(2, signal.SIG_IGN); print('x' * 10**7)"
    failed = check_failure(hands, f"{deaf}\ndef score():\n  {late}; any(iter(int, 1))\nscore()", TOO_LONG, "in score")
    assert "; it was at <string>, line 3, in score" in failed.reason


def test_reward_limit_uses_real_clock(hands: OwnTask, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = hands.examples("train")
    with monkeypatch.context() as patch, pytest.raises(RewardFailed, match=f"took longer than {LIMIT:g} s"):
        patch.setattr(hands, "_seconds", LIMIT)
        score_safely(hands, [(example, HANGS)])


def check_failure(hands: OwnTask, completion: str, reason: str, details: str) -> RewardFailed:
    """Check all parts of the failure, and that the run can continue; return the failure."""
    failed = failure(hands, completion)
    assert reason in failed.reason
    assert details in failed.details
    assert failed.prompt == "train"
    assert len(str(failed)) < 40_000
    assert rewards(hands, "", "") == [1.5, 1.5], "and the task can be asked again"
    return failed


def test_single_failure_is_retried(hands: OwnTask, tmp_path: Path, caplog: pytest.LogCaptureFixture, late: str) -> None:
    fails = {"raises": "raise OSError('away')", "hangs": f"{late}; {HANGS}", "ends": "os._exit(1)"}
    once = "if not os.path.exists({0!r}):\n  open({0!r}, 'w')\n  {1}"
    completions = [once.format(str(tmp_path / name), code) for name, code in fails.items()]
    assert rewards(hands, "", *completions, "") == [1.5] * 5
    assert caplog.text.count("retrying once") == 3


def test_each_reward_has_its_own_limit(hands: OwnTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reward takes half of the limit, once its own answer is waited for."""
    marks, turns, answer = tmp_path / "marks", iter(range(4)), Child.answer
    marks.touch()

    def take_turn(child: Child, seconds: float, too_long: str) -> dict[str, Any]:
        (tmp_path / f"turn-{next(turns)}").touch()
        return answer(child, seconds, too_long)

    def monotonic() -> float:
        return time.monotonic() + PATIENCE_SECONDS / 2 * marks.stat().st_size

    assert rewards(hands, "") == [1.5], "the process is there, and takes no turn for being loaded"
    monkeypatch.setattr(Child, "answer", take_turn)
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=monotonic))
    waits = "while not os.path.exists({!r}): time.sleep(0.01)\nopen({!r}, 'a').write('x')"
    completions = [waits.format(str(tmp_path / f"turn-{n}"), str(marks)) for n in range(4)]
    assert rewards(hands, *completions) == [1.5] * 4


def test_answer_during_suspension_counts(
    hands: OwnTask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Slurm may suspend a job for hours while the clock continues."""
    clock, exchange = SimpleNamespace(now=0.0, stride=0.0), Child._exchange

    def monotonic() -> float:
        clock.now += clock.stride
        return clock.now

    def stand_still(child: Child, seconds: float) -> bool:
        is_sent = exchange(child, seconds)
        if is_sent:
            assert select.select([child._answers], [], [], PATIENCE_SECONDS)[0], "the task does not answer"
            clock.stride = 2 * PATIENCE_SECONDS
        return is_sent

    assert rewards(hands, "") == [1.5], "the process is there, and need not be loaded"
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(Child, "_exchange", stand_still)
    assert rewards(hands, "") == [1.5]
    assert "retrying once" not in caplog.text


def test_large_output_is_cut_and_ignored(hands: OwnTask, capfd: pytest.CaptureFixture[str]) -> None:
    assert rewards(hands, "print('x' * 10**7)", "os.system('echo from another program')", "") == [1.5] * 3
    log = capfd.readouterr().err
    assert "has printed 256000 bytes; further output is omitted" in log
    assert len(log) < 300_000
    hands.close()


def test_closed_task_restarts_for_next_reward(hands: OwnTask) -> None:
    hands.close()
    assert rewards(hands, "") == [1.5]


def test_task_output_is_in_trainer_log(hands: OwnTask, capfd: pytest.CaptureFixture[str]) -> None:
    rewards(hands, "print('hello from the task')", "")
    rewards(hands, "")
    assert "hello from the task" in capfd.readouterr().err


def test_task_input_is_empty(hands: OwnTask) -> None:
    assert "EOFError" in failure(hands, "input()").reason


def test_completion_of_a_megabyte_is_scored(folder: Path) -> None:
    write(
        folder,
        "class Task:\n    def examples(self, split): return [{'prompt': split}]\n"
        "    def score(self, example, completion): return len(completion)",
    )
    task = own()
    assert rewards(task, *["x" * 10**6] * 5, "\ud800\x00\n") == [10**6] * 5 + [3]
    task.close()


def test_fast_rewards_are_batched_in_one_process(hands: OwnTask, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, ask = list[str](), Child.ask

    def count(child: Child, kind: str, body: object) -> None:
        requests.append(kind)
        ask(child, kind, body)

    monkeypatch.setattr(Child, "ask", count)
    assert rewards(hands, *(f"# {n}" for n in range(1000))) == [1.5] * 1000
    assert "load" not in requests and len(requests) == -(-1000 // own_task.MAX_BATCH_PAIRS)


def test_a_trial_that_hangs_is_refused_before_the_training(folder: Path, late: str) -> None:
    write(folder, HANDS.replace("if completion:", f"{late}; {HANGS}\n        if completion:"))
    refused = refusal()
    assert f"empty completion: it {TOO_LONG}" in refused
    assert "it was at my_task.py, line 9, in score" in refused


def test_a_module_that_hangs_while_it_is_loaded_is_refused(folder: Path, late: str) -> None:
    write(folder, f"import time\n{late}; {HANGS}\n" + HANDS)
    limit = f"my_task:Task was not loaded within {own_task.LOADING_SECONDS:g} s"
    assert f"{limit}; it was at my_task.py, line 2, in <module>" in refusal()


def test_examples_must_be_the_same_when_the_process_is_started_again(folder: Path) -> None:
    write(
        folder,
        HANDS.replace('"prompt": split', '"prompt": str(os.getpid())'),
    )
    task = own()
    assert "must always be the same" in failure(task, "os._exit(1)").reason
    task.close()


def test_interrupted_request_leaves_no_stale_answer(hands: OwnTask, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = hands.examples("train")
    with monkeypatch.context() as patch:
        patch.setattr(own_task, "Score", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score_safely(hands, [(example, ""), (example, "")])
    assert score_safely(hands, [(example, "")]) == [Score(1.5)]
