"""The processes of one training that has several, as GRPO on several GPUs: one per GPU, on one or more nodes.

    layout        numbers and environment of the processes
    supervisor    starts them, passes requests to stop on, and ends all if one fails
    vllm_environment    the interpreter of the processes, and the check of a vLLM server
    control       the connection of a process to the supervisor
    accelerate_config   the same distribution as a file for `accelerate launch`, and as variables

Neither torch nor Django is imported. The supervisor is the process of `python -m workers.train`; each process runs
`workers.train_process`. The first process writes all records.
"""

from workers.trainer_processes.control import Control, PeerLost
from workers.trainer_processes.layout import threads_of
from workers.trainer_processes.supervisor import supervise
from workers.trainer_processes.vllm_environment import check_server, trainer_python

__all__ = ["Control", "PeerLost", "check_server", "supervise", "threads_of", "trainer_python"]
