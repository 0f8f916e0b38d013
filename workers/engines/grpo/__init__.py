"""GRPO: TRL's GRPOTrainer with our task's reward. What is ours is only what TRL hears from us and says to us:

arguments.py    RunConfig.grpo -> trl.GRPOConfig, in TRL's own names
rewards.py      the task's score as a TRL reward function; remembers the groups
callback.py     TRL's logs -> records; evaluates, saves and stops at the right steps
checkpoint.py   what a resume needs beside the weights
train.py        puts them together
"""

from workers.engines.grpo.train import train

__all__ = ["train"]
