"""Run -> attempt -> executor: create runs, submit each attempt once, cancel, resume, rebuild checkpoints, sweep.

Commands enqueue their tasks by name as soon as they are committed (`runs.enqueue`).
"""

from runs.launching.budgets import resources_of
from runs.launching.cancel import cancel_job, end_leftover_job, request_cancel, request_end
from runs.launching.code import bundle_file, purge_arrays, purge_code
from runs.launching.commands import cancel_run, cancel_runs, launch_run
from runs.launching.create import check_config, create_run, estimate_demands, new_attempt
from runs.launching.gpu_memory import CardPlan, GpuMemory, largest_plan, plan_gpu_memory
from runs.launching.queue import CannotMove, create_moved_attempts, hold_run, move_run, release_run
from runs.launching.rebuilds import (
    MAX_REBUILDS_PER_RUN,
    CannotRebuild,
    CheckpointUnavailable,
    checkpoint_at,
    delete_old_rebuilds,
    is_ready,
    open_checkpoint,
    rebuild_checkpoint,
    rebuild_refusal,
)
from runs.launching.resources import by_hand_problems
from runs.launching.resume import (
    CannotResume,
    calls_for_restart,
    check_undo,
    count_restarts,
    create_due_restarts,
    create_resume_attempt,
    ended_with_site,
    plan_restart,
    restart_budget,
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
    runs_out,
)
from runs.launching.submit import fence, submit_job
from runs.launching.submit_array import submit_together
from runs.launching.sweeps.commands import (
    DEFAULT_CONCURRENT_RUNS,
    NewSweep,
    cancel_held,
    extend_sweep,
    launch_sweep,
    plan_sweep,
    release_waiting,
    resume_dropped,
    set_concurrent_runs,
    unpause_sweep,
)
from runs.launching.sweeps.pause import pause_sweep
from runs.launching.transitions import begun_at, transition, update_facts

__all__ = [
    "DEFAULT_CONCURRENT_RUNS",
    "MAX_REBUILDS_PER_RUN",
    "AttemptDetail",
    "AttemptOut",
    "AttemptsOut",
    "CannotMove",
    "CannotRebuild",
    "CannotResume",
    "CardPlan",
    "ChangedRun",
    "CheckpointUnavailable",
    "EventOut",
    "GpuMemory",
    "NewSweep",
    "RunDetail",
    "RunOut",
    "RunsOut",
    "begun_at",
    "bundle_file",
    "by_hand_problems",
    "calls_for_restart",
    "cancel_held",
    "cancel_job",
    "cancel_run",
    "cancel_runs",
    "check_config",
    "check_undo",
    "checkpoint_at",
    "count_restarts",
    "create_due_restarts",
    "create_moved_attempts",
    "create_resume_attempt",
    "create_run",
    "delete_old_rebuilds",
    "end_leftover_job",
    "ended_with_site",
    "estimate_demands",
    "extend_sweep",
    "fence",
    "hold_run",
    "is_ready",
    "largest_plan",
    "launch_run",
    "launch_sweep",
    "move_run",
    "new_attempt",
    "open_checkpoint",
    "pause_sweep",
    "plan_gpu_memory",
    "plan_restart",
    "plan_sweep",
    "purge_arrays",
    "purge_code",
    "rebuild_checkpoint",
    "rebuild_refusal",
    "release_run",
    "release_waiting",
    "request_cancel",
    "request_end",
    "resources_of",
    "restart_budget",
    "resume_dropped",
    "resume_refusal",
    "run_detail",
    "runs_out",
    "set_concurrent_runs",
    "submit_job",
    "submit_together",
    "transition",
    "unpause_sweep",
    "update_facts",
]
