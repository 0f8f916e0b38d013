"""Run -> attempt -> executor: makes runs, submits each attempt once, cancels, goes on, rebuilds checkpoints.

Nothing here enqueues a job: whoever calls it does, on commit.
"""

from runs.launch.cancelling import cancel, end_what_is_left, request_cancel, wish_to_end
from runs.launch.changes import mark, move, since
from runs.launch.clusters import EXECUTORS, Waits, executor_for, waits_of
from runs.launch.creating import check, check_hours, create_run, new_attempt
from runs.launch.downloading import NotThere, open_checkpoint
from runs.launch.fencing import shut_out
from runs.launch.gpu_memory import CardPlan, GpuMemory, largest_plan, plan_gpu_memory
from runs.launch.moving import CannotMove, arrive, hold, move_to, release
from runs.launch.pinning import kept_bundle
from runs.launch.places import place_of
from runs.launch.purging import purge_arrays, purge_code
from runs.launch.rebuilding import (
    KEPT_A_RUN,
    CannotRebuild,
    checkpoint_at,
    is_ready,
    last_step,
    rebuild,
    throw_away_old,
)
from runs.launch.rebuilding import refusal as rebuild_refusal
from runs.launch.resources import by_hand_problems
from runs.launch.restarting import budget, calls_for_restart, plan_restart, restart_due, restarts_made
from runs.launch.resuming import CannotResume, check_undo, resume
from runs.launch.resuming import refusal as resume_refusal
from runs.launch.submitting import submit
from runs.launch.submitting_together import submit_together
from runs.launch.sweeping import (
    AT_ONCE,
    NewSweep,
    change_at_once,
    create_sweep,
    drop_held,
    extend_sweep,
    let_go,
    pause_sweep,
    pick_up_dropped,
    plan_sweep,
    unpause_sweep,
)

__all__ = [
    "AT_ONCE",
    "EXECUTORS",
    "KEPT_A_RUN",
    "CannotMove",
    "CannotRebuild",
    "CannotResume",
    "CardPlan",
    "GpuMemory",
    "NewSweep",
    "NotThere",
    "Waits",
    "arrive",
    "budget",
    "by_hand_problems",
    "calls_for_restart",
    "cancel",
    "change_at_once",
    "check",
    "check_hours",
    "check_undo",
    "checkpoint_at",
    "create_run",
    "create_sweep",
    "drop_held",
    "end_what_is_left",
    "executor_for",
    "extend_sweep",
    "hold",
    "is_ready",
    "kept_bundle",
    "largest_plan",
    "last_step",
    "let_go",
    "mark",
    "move",
    "move_to",
    "new_attempt",
    "open_checkpoint",
    "pause_sweep",
    "pick_up_dropped",
    "place_of",
    "plan_gpu_memory",
    "plan_restart",
    "plan_sweep",
    "purge_arrays",
    "purge_code",
    "rebuild",
    "rebuild_refusal",
    "release",
    "request_cancel",
    "restart_due",
    "restarts_made",
    "resume",
    "resume_refusal",
    "shut_out",
    "since",
    "submit",
    "submit_together",
    "throw_away_old",
    "unpause_sweep",
    "waits_of",
    "wish_to_end",
]
