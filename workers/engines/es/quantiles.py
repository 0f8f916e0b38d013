"""2¹⁶ quantiles of the standard normal distribution: 16 random bits -> a normal number, by looking it up.

A table, because cosines and logarithms differ in their last bit between processors and libraries, and a run replayed
elsewhere would not be the same run. The i-th entry is Φ⁻¹((i + ½) / 2¹⁶), scaled so that the variance is 1 (it would be
0.99998), rounded to float32, and the lower half mirrored. The tails end at ±4.325; the kurtosis is 2.999. Before
rounding, no entry is nearer than 5000 ulps of a double to where it would round the other way: any logarithm will do.
"""

from __future__ import annotations

import functools
import hashlib
import math
from statistics import NormalDist

import numpy as np
import torch
from torch import Tensor

SIZE = 1 << 16
SHA256 = "8babbcaf96568f10165a1eab530c0e5c92d04de96761b6dbb3dadfa94baba37f"


class OtherQuantiles(RuntimeError):
    """This machine's arithmetic makes another table, so its noise would not be the noise of other machines."""


@functools.cache
def normal_quantiles(device: torch.device) -> Tensor:
    """Return float32 [65536], ascending, mean 0, variance 1. Raise OtherQuantiles."""
    table = quantiles()
    sha256 = hashlib.sha256(table.astype("<f4").tobytes()).hexdigest()
    if sha256 != SHA256:
        raise OtherQuantiles(f"the table of normal quantiles has sha256 {sha256}, not {SHA256}")
    return torch.from_numpy(table).to(device)


def quantiles() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Compute the table."""
    normal = NormalDist()
    upper = [normal.inv_cdf((SIZE // 2 + i + 0.5) / SIZE) for i in range(SIZE // 2)]
    scale = math.sqrt(len(upper) / math.fsum(x * x for x in upper))
    half = np.array([x * scale for x in upper], dtype=np.float32)
    return np.concatenate((-half[::-1], half))
