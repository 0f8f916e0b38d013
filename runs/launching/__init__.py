"""Run -> attempt -> executor: create runs, submit each attempt once, cancel, resume, rebuild checkpoints, sweep.

Commands enqueue their tasks by name as soon as they are committed (`runs.enqueue`).
"""

from runs.launching.cancel import cancel_job, end_what_is_left, request_cancel, wish_to_end
from runs.launching.code import kept_bundle, purge_arrays, purge_code
from runs.launching.commands import cancel_run, cancel_runs, launch_run
from runs.launching.create import check, check_hours, create_run, new_attempt
from runs.launching.gpu_memory import CardPlan, GpuMemory, largest_plan, plan_gpu_memory
from runs.launching.queue import CannotMove, arrive, hold_run, move_run, release_run
from runs.launching.rebuilds import (
    KEPT_A_RUN,
    CannotRebuild,
    NotThere,
    checkpoint_at,
    is_ready,
    last_step,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
    throw_away_old,
)
from runs.launching.resources import by_hand_problems
from runs.launching.resume import (
    CannotResume,
    budget,
    calls_for_restart,
    check_undo,
    create_resume_attempt,
    plan_restart,
    restart_due,
    restarts_made,
    resume_refusal,
)
from runs.launching.schemas import (
    AttemptDetail,
    AttemptOut,
    AttemptsOut,
    ChangedRun,
    EventOut,
    RunDetail,
    RunOut,
    RunsOut,
    run_detail,
)
from runs.launching.submit import shut_out, submit_job
from runs.launching.submit_array import submit_together
from runs.launching.sweeps.commands import (
    AT_ONCE,
    NewSweep,
    change_at_once,
    drop_held,
    extend_sweep,
    launch_sweep,
    let_go,
    pause_sweep,
    pick_up_dropped,
    plan_sweep,
    unpause_sweep,
)
from runs.launching.transitions import mark, move, since

__all__ = [
    "AT_ONCE",
    "KEPT_A_RUN",
    "AttemptDetail",
    "AttemptOut",
    "AttemptsOut",
    "CannotMove",
    "CannotRebuild",
    "CannotResume",
    "CardPlan",
    "ChangedRun",
    "EventOut",
    "GpuMemory",
    "NewSweep",
    "NotThere",
    "RunDetail",
    "RunOut",
    "RunsOut",
    "arrive",
    "budget",
    "by_hand_problems",
    "calls_for_restart",
    "cancel_job",
    "cancel_run",
    "cancel_runs",
    "change_at_once",
    "check",
    "check_hours",
    "check_undo",
    "checkpoint_at",
    "create_resume_attempt",
    "create_run",
    "drop_held",
    "end_what_is_left",
    "extend_sweep",
    "hold_run",
    "is_ready",
    "kept_bundle",
    "largest_plan",
    "last_step",
    "launch_run",
    "launch_sweep",
    "let_go",
    "mark",
    "move",
    "move_run",
    "new_attempt",
    "open_checkpoint",
    "pause_sweep",
    "pick_up_dropped",
    "plan_gpu_memory",
    "plan_restart",
    "plan_sweep",
    "purge_arrays",
    "purge_code",
    "rebuild_checkpoint",
    "rebuild_refusal",
    "release_run",
    "request_cancel",
    "restart_due",
    "restarts_made",
    "resume_refusal",
    "run_detail",
    "shut_out",
    "since",
    "submit_job",
    "submit_together",
    "throw_away_old",
    "unpause_sweep",
    "wish_to_end",
]
