"""Rewards that raise, hang, exit, print or die: tried once more in a fresh process, then the run is told why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.tasks.own.files import HANDS, own, refusal, write
from workers.tasks import RewardFailed, Score, score_safely
from workers.tasks.own import Own
from workers.tasks.own import task as own_task

LIMIT, PATIENT = 2.0, 60.0
"""Seconds for a reward that hangs, and for one that does not, however busy the machine is."""


@pytest.fixture
def hands(folder: Path, request: pytest.FixtureRequest) -> Iterator[Own]:
    """A task that does what the completion says; its limit can be chosen."""
    write(folder, HANDS)
    # Its trial is no part of a test: it has the time that it needs.
    task = own(seconds=PATIENT)
    task._seconds = getattr(request, "param", PATIENT)
    yield task
    task.close()


def rewards(task: Own, *completions: str) -> list[float]:
    (example,) = task.examples("train")
    return [score.reward for score in score_safely(task, [(example, c) for c in completions])]


def failure(task: Own, completion: str) -> RewardFailed:
    with pytest.raises(RewardFailed) as failed:
        rewards(task, "", completion, "")
    return failed.value


@pytest.mark.parametrize(
    ("completion", "reason", "details"),
    [
        ("raise ValueError('no reward')", "ValueError: no reward", 'File "<string>", line 1'),
        ("sys.exit('bye')", "SystemExit: bye", "in score"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", "in score"),
        ("raise ValueError('y' * 10**7)", "ValueError: yyy", "yyy"),
        ("def f(): f()\nf()", "RecursionError", "repeated"),
        ("print('last words', flush=True)\nos._exit(3)", "ended itself with exit code 3", "last words"),
        ("os.write(2, b'last words')\nos.kill(os.getpid(), 9)", "was ended by SIGKILL; out of memory?", "last words"),
        ("os.closerange(0, 100)\ntime.sleep(300)", "closed its pipe", ""),
    ],
)
def test_a_reward_that_fails_twice_says_why_and_where(hands: Own, completion: str, reason: str, details: str) -> None:
    check_failure(hands, completion, reason, details)


@pytest.mark.parametrize("hands", [LIMIT], indirect=True)
@pytest.mark.parametrize(
    "completion",
    [
        "time.sleep(300)",
        "while True: pass",
        "signal.signal(15, signal.SIG_IGN)\nsignal.signal(2, signal.SIG_IGN)\ntime.sleep(300)",
        "print('x' * 10**7)\ntime.sleep(300)",
    ],
)
def test_a_reward_that_hangs_twice_says_for_how_long_and_where(hands: Own, completion: str) -> None:
    said = f"took longer than {LIMIT:g} s, the limit that task.reward_seconds sets"
    check_failure(hands, completion, said, "in score")


def check_failure(hands: Own, completion: str, reason: str, details: str) -> None:
    """What the run is told, and that it can go on."""
    failed = failure(hands, completion)
    assert reason in failed.reason
    assert details in failed.details
    assert failed.prompt == "train"
    assert len(str(failed)) < 40_000
    assert rewards(hands, "", "") == [1.5, 1.5], "and the task can be asked again"


@pytest.mark.parametrize("hands", [LIMIT], indirect=True)
def test_a_hang_is_placed(hands: Own) -> None:
    assert "it was at <string>, line 2, in score" in failure(hands, "def score():\n  time.sleep(300)\nscore()").reason


@pytest.mark.parametrize(
    ("hands", "code"),
    [(PATIENT, "raise OSError('away')"), (LIMIT, "time.sleep(300)"), (PATIENT, "os._exit(1)")],
    indirect=["hands"],
)
def test_one_failure_is_made_up_for(hands: Own, tmp_path: Path, caplog: pytest.LogCaptureFixture, code: str) -> None:
    once = f"if not os.path.exists({str(tmp_path / 'done')!r}):\n  open({str(tmp_path / 'done')!r}, 'w')\n  {code}"
    assert rewards(hands, "", once, "", "") == [1.5] * 4
    assert "is tried once more" in caplog.text


@pytest.mark.parametrize("hands", [LIMIT], indirect=True)
def test_each_reward_has_the_whole_limit_to_itself(hands: Own) -> None:
    began = time.monotonic()
    assert rewards(hands, *["time.sleep(0.6)"] * 4) == [1.5] * 4
    assert time.monotonic() - began > LIMIT


def test_ten_megabytes_of_output_are_no_answer_and_are_cut(hands: Own, capfd: pytest.CaptureFixture[str]) -> None:
    assert rewards(hands, "print('x' * 10**7)", "os.system('echo from another program')", "") == [1.5] * 3
    said = capfd.readouterr().err
    assert "has printed 256000 bytes; what else it prints is left out" in said
    assert len(said) < 300_000


def test_what_it_prints_is_in_the_trainers_log(hands: Own, capfd: pytest.CaptureFixture[str]) -> None:
    rewards(hands, "print('hello from the task')", "")
    rewards(hands, "")
    assert "hello from the task" in capfd.readouterr().err


def test_its_input_is_empty(hands: Own) -> None:
    assert "EOFError" in failure(hands, "input()").reason


def test_a_completion_of_a_megabyte_goes_through_and_back(folder: Path) -> None:
    write(
        folder,
        "class Task:\n    def examples(self, split): return [{'prompt': split}]\n"
        "    def score(self, example, completion): return len(completion)",
    )
    task = own(seconds=PATIENT)
    assert rewards(task, *["x" * 10**6] * 5, "\ud800\x00\n") == [10**6] * 5 + [3]
    task.close()


def test_a_thousand_fast_rewards_cost_less_than_a_millisecond_each(hands: Own) -> None:
    # Once is enough: others may want the processor too.
    assert any(seconds_of(hands, 200) < 0.2 for _ in range(100))


def seconds_of(hands: Own, count: int) -> float:
    began = time.perf_counter()
    assert rewards(hands, *[""] * count) == [1.5] * count
    return time.perf_counter() - began


def test_a_trial_that_hangs_is_refused_before_the_training(folder: Path) -> None:
    write(folder, HANDS.replace("if completion:", "while True:\n            time.sleep(1)\n        if completion:"))
    refused = refusal(seconds=LIMIT)
    assert f"empty completion failed: it took longer than {LIMIT:g} s" in refused
    assert "it was at my_task.py, line 10, in score" in refused


def test_a_module_that_hangs_while_it_is_loaded_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "import time\ntime.sleep(300)\n" + HANDS)
    # The first that is long enough to come there, which takes longer on a busy machine.
    for seconds in (1.0, 5.0, 30.0):
        monkeypatch.setattr(own_task, "LOADING_SECONDS", seconds)
        if "it was at my_task.py" in (said := refusal()):
            break
    assert f"my_task:Task was not loaded within {seconds:g} s; it was at my_task.py, line 2, in <module>" in said


def test_examples_must_be_the_same_when_the_process_is_started_again(folder: Path) -> None:
    write(
        folder,
        HANDS.replace('"prompt": split', '"prompt": str(os.getpid())'),
    )
    task = own()
    assert "must be the same each time" in failure(task, "os._exit(1)").reason
    task.close()


def test_an_interrupted_question_leaves_no_answer_for_the_next(hands: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = hands.examples("train")
    with monkeypatch.context() as patch:
        patch.setattr(own_task, "Score", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            score_safely(hands, [(example, ""), (example, "")])
    assert score_safely(hands, [(example, "")]) == [Score(1.5)]
