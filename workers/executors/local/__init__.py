"""This machine as a cluster: a queue in files, agents that outlive esweb, and the GPUs that jobs share.

executor        submits and stops jobs, and starts those that fit
job_lifecycle   the start, the state and the end of one job
gpu_use         which GPU a job gets, and the reason why it waits
mps_services    lets jobs of ES run concurrently on a GPU
"""

from workers.executors.local.executor import Local
from workers.executors.local.gpu_use import CardUse
from workers.executors.local.job_lifecycle import SITE_STOPPED

__all__ = ["SITE_STOPPED", "CardUse", "Local"]
