"""GRPO: TRL's GRPOTrainer with our task's reward. Our code is only the interface to TRL:

arguments       RunConfig.grpo -> trl.GRPOConfig, in TRL's own names
trainer         TRL's trainer with our prompt format, measures and completion records; distribution
rewards         the task's score as a TRL reward function; stores the groups
measures        entropy, KL estimates and zero-variance groups, from what the loss has computed
completions     records of the training's completions with their advantages
callback        TRL's logs -> records; evaluates, saves and stops at the right steps
centre          the trained weights as a plain model, to evaluate and to save
process_group   exchange between the processes of one training
checkpoint      state that a resume needs in addition to the weights; saving
train           puts them together
"""

from workers.engines.grpo.train import train

__all__ = ["train"]
