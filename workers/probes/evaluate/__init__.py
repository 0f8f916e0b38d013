"""Method evaluate: what a model, or steps of a run, answer: pass@k, KL, entropy and diversity, on one or more tasks."""

from workers.probes.evaluate.evaluate_run import evaluate

__all__ = ["evaluate"]
