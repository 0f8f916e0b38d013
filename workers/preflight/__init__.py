"""What a run will need, from its config alone: memory of each GPU, disk for checkpoints, programs, models and files.

    model_files   the model on this machine, and the shapes of its tensors
    memory        the plan of each GPU
    disk          the bytes of the run's checkpoints
    needs         everything that must be on the machine; model_needs, connections
    report        all of it, as text and as JSON

Neither torch nor Django is imported.
"""

from workers.preflight.disk import CheckpointBytes, DiskPlan, plan_disk
from workers.preflight.memory import CARDS_GB, PLANNERS, share_cards
from workers.preflight.model_files import ModelFiles, find_cached_model, read_model_files
from workers.preflight.need import Need
from workers.preflight.needs import check_needs
from workers.preflight.report import Report, make_report

__all__ = [
    "CARDS_GB",
    "PLANNERS",
    "CheckpointBytes",
    "DiskPlan",
    "ModelFiles",
    "Need",
    "Report",
    "check_needs",
    "find_cached_model",
    "make_report",
    "plan_disk",
    "read_model_files",
    "share_cards",
]
