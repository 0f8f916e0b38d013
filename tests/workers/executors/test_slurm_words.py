"""Slurm's words, read: states, reasons, refusals, tables. The lines are what Slurm 22.05 prints."""

from __future__ import annotations

import pytest

from workers.executors.slurm.answers import of_each, refusal, rows
from workers.executors.slurm.reasons import in_words
from workers.executors.slurm.states import STATES, state_of
from workers.executors.states import State


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("PENDING", State.QUEUED),
        ("CONFIGURING", State.STARTING),
        ("SUSPENDED", State.PAUSED),
        ("COMPLETING", State.STOPPING),
        ("REQUEUE_HOLD", State.QUEUED),
        ("COMPLETED", State.SUCCEEDED),
        ("CANCELLED by 1000", State.CANCELLED),
        ("DEADLINE", State.TIMEOUT),
        ("OUT_OF_MEMORY", State.OOM),
        ("BOOT_FAIL", State.NODE_LOST),
        ("PREEMPTED", State.PREEMPTED),
    ],
)
def test_every_state_has_its_place(word: str, state: State) -> None:
    assert state_of(word, has_node=True) == state


def test_a_word_that_is_not_known_is_never_an_end() -> None:
    assert "HIBERNATING" not in STATES
    assert [state_of("HIBERNATING", has_node) for has_node in (True, False)] == [State.RUNNING, State.QUEUED]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("Priority", "waiting: other jobs go before it (Slurm: Priority)"),
        ("Resources", "waiting: it is next, once enough cores"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-3]", "waiting: nodes that it needs are down, drained or reserved ("),
        ("AssocGrpGRES", "waiting: its account uses all that it may at one time"),
        ("AssocMaxWallDurationPerJobLimit", "will not start: it asks for more than its account may use"),
        ("QOSMaxGRESPerUser", "waiting: as many GPUs are used as its QOS allows one person"),
        ("InvalidAccount", "will not start: its account is not known"),
        ("BadConstraints", "will not start: no node has what it asks for"),
        ("PartitionConfig", "will not start: no node of its partition"),
        ("job requeued in held state", "will not start: it was requeued and is held"),
        ("SomethingNew", "waiting (Slurm: SomethingNew)"),
    ],
)  # fmt: skip
def test_why_a_job_waits_is_said_in_words(reason: str, said: str) -> None:
    assert in_words(reason).startswith(said)


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition "
         "name specified\n", "invalid partition specified: x; Batch job submission failed: Invalid partition "
         "name specified"),
        ("sbatch: error: Memory specification can not be satisfied\n", "Memory specification can not be satisfied"),
        ("sbatch: error: Invalid --time specification\n", "Invalid --time specification"),
        ("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n", ""),
        ("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n", ""),
        ("sbatch: error: slurm_receive_msg: Zero Bytes were transmitted or received\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_only_a_certain_no_is_a_refusal(printed: str, why: str) -> None:
    assert refusal(printed) == why


def test_a_reason_with_spaces_and_a_name_with_bars_are_read() -> None:
    one, other = rows("17|PENDING|job requeued in held state||a|b\n18|RUNNING|None|n2|c\n")
    assert (one.name, one.reason, one.state) == ("a|b", "job requeued in held state", State.QUEUED)
    assert other.observed().reason == "on n2"


def test_a_name_of_two_lines_spoils_no_answer_and_an_error_is_none() -> None:
    assert [row.name for row in rows("17|RUNNING|None|n1|two\nlines\n18|RUNNING|None|n2|c\n")] == ["two", "c"]
    assert rows("") == []
    with pytest.raises(ValueError, match="no line of five columns: 'slurm_load_jobs"):
        rows("slurm_load_jobs error: what is this")


def test_of_jobs_of_one_name_the_one_that_matters_is_taken() -> None:
    running = "21|RUNNING|None|n1|a\n22|PENDING|Dependency||a\n"
    ended = "23|FAILED|NonZeroExitCode|n1|b\n20|COMPLETED|None|n1|b\n19|CANCELLED|None||b\n"
    ghost = "24|FAILED|BadConstraints||c\n25|RUNNING|None|n3|stranger\n"
    found = of_each(rows(running + ended + ghost), ["a", "b", "c", "d"])
    assert {key: row.native_id for key, row in found.items()} == {"a": "21", "b": "20"}
