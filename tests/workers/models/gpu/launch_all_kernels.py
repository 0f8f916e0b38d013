"""Launch every kernel of this project: a process for all of them imports torch and Triton once."""

from __future__ import annotations

from tests.workers.engines.es import launch_noise_kernels
from tests.workers.models.gpu import launch_step_kernels


def main() -> None:
    """Launch the kernels of a decoder's steps and of ES noise."""
    launch_step_kernels.main()
    launch_noise_kernels.main()
