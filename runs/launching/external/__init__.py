"""External runs: trainings that other programs run elsewhere. They create their runs here, send heartbeats, and report
their end; a run that is silent for too long counts as lost until it is heard again.
"""

from runs.launching.external.create import Start, create_external_run
from runs.launching.external.reports import NotExternal
from runs.launching.external.schemas import ExternalRunOut, NewExternalRun
from runs.launching.external.silence import check_silence

__all__ = [
    "ExternalRunOut",
    "NewExternalRun",
    "NotExternal",
    "Start",
    "check_silence",
    "create_external_run",
]
