"""Slurm's words, read: states, reasons, tables. The lines are what Slurm 22.05 prints."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from workers.executors.slurm.reasons import describe_reason
from workers.executors.slurm.replies import latest_rows, rows
from workers.executors.slurm.states import STATES, state_of
from workers.executors.states import State


@each_case(
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
def test_slurm_state_is_translated(word: str, state: State) -> None:
    assert state_of(word, has_node=True) == state


def test_unknown_slurm_state_is_never_final() -> None:
    assert "HIBERNATING" not in STATES
    assert [state_of("HIBERNATING", has_node) for has_node in (True, False)] == [State.RUNNING, State.QUEUED]


@each_case(
    ("reason", "text"),
    [
        ("Priority", "waiting: other jobs have priority (Slurm: Priority)"),
        ("Resources", "waiting: it is next, once enough cores"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-3]", "waiting: nodes that it needs are down, drained or reserved ("),
        ("AssocGrpGRES", "waiting: its account's limit of resources in use is reached"),
        ("AssocMaxWallDurationPerJobLimit", "will not start: it requests more than its account allows"),
        ("QOSMaxGRESPerUser", "waiting: its QOS's limit of GPUs per user is reached"),
        ("QOSMaxNodePerUserLimit", "waiting: its QOS's limit of resources per user is reached"),
        ("QOSMaxMemoryPerUser", "waiting: its QOS's limit of resources per user is reached"),
        ("QOSMaxSubmitJobPerUserLimit", "waiting: the limit of submitted jobs is reached"),
        ("MaxNodePerAccount", "waiting: its QOS's limit of resources per account is reached"),
        ("QOSMaxNodePerJobLimit", "will not start: it requests more than its QOS allows one job"),
        ("QOSMinGRES", "will not start: it requests less than its QOS requires"),
        ("MaxMemPerLimit", "will not start: it requests more memory than its partition allows"),
        ("InvalidAccount", "will not start: its account is unknown"),
        ("BadConstraints", "will not start: no node has what it requests"),
        ("PartitionConfig", "will not start: no node of its partition"),
        ("job requeued in held state", "will not start: it was requeued and is held"),
        ("SomethingNew", "waiting (Slurm: SomethingNew)"),
    ],
)  # fmt: skip
def test_waiting_reason_is_described(reason: str, text: str) -> None:
    assert describe_reason(reason).startswith(text)


def test_reason_with_spaces_and_name_with_bars_are_read() -> None:
    first, second = rows("17|PENDING|job requeued in held state||a|b\n18|RUNNING|None|n2|c\n")
    assert (first.name, first.reason, first.state) == ("a|b", "job requeued in held state", State.QUEUED)
    assert second.to_observation().reason == "on n2"


def test_job_name_of_two_lines_is_read() -> None:
    assert [row.name for row in rows("17|RUNNING|None|n1|two\nlines\n18|RUNNING|None|n2|c\n")] == ["two", "c"]
    assert rows("") == []
    with pytest.raises(ValueError, match="no line of five columns: 'slurm_load_jobs"):
        rows("slurm_load_jobs error: what is this")


def test_relevant_job_of_several_with_one_name_is_selected() -> None:
    running = "21|RUNNING|None|n1|a\n22|PENDING|Dependency||a\n"
    ended = "23|FAILED|NonZeroExitCode|n1|b\n20|COMPLETED|None|n1|b\n19|CANCELLED|None||b\n"
    ghost = "24|FAILED|BadConstraints||c\n25|RUNNING|None|n3|stranger\n"
    selected = latest_rows(rows(running + ended + ghost), ["a", "b", "c", "d"])
    assert {key: row.native_id for key, row in selected.items()} == {"a": "21", "b": "20"}
