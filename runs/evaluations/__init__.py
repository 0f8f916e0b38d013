"""Comparison of evaluations: pass@k, what trainings forget, the prompts that each solves, and the protocols."""
