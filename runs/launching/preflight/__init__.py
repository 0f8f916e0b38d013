"""The pre-flight check of a launch: the memory of its GPUs, the disk of its checkpoints, its hours, its needs."""

from runs.launching.preflight.check import Preflight, check_launch

__all__ = ["Preflight", "check_launch"]
