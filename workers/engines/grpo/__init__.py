"""GRPO: TRL's GRPOTrainer with our task's reward. Our code is only the interface to TRL:

arguments.py    RunConfig.grpo -> trl.GRPOConfig, in TRL's own names rewards.py      the task's score as a TRL reward
function; stores the groups callback.py     TRL's logs -> records; evaluates, saves and stops at the right steps
checkpoint.py   what a resume needs in addition to the weights train.py        puts them together
"""

from workers.engines.grpo.train import train

__all__ = ["train"]
