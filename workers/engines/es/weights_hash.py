"""A hash of weights that is computed on their own device, and detects every single flipped bit.

Each element's bits, read as a whole number, are multiplied by an odd number of their position and summed modulo 2⁶⁴.
One bit makes a difference of a power of two times an odd number, which is never 0. SHA-256 joins the sums of all
tensors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import torch
from torch import Tensor

ELEMENTS_PER_PIECE = 1 << 22
GOLDEN = -0x61C8864680B583EB
"""2⁶⁴ divided by the golden ratio, as a signed number: neighbouring positions get multipliers far apart."""
WHOLE_NUMBERS = {2: torch.int16, 4: torch.int32}
DIGITS = 32


def hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    """Return 32 hexadecimal digits that depend on names, shapes, types and every bit, in no order of the names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {_checksum(tensor)}\n".encode())
    return digest.hexdigest()[:DIGITS]


def _checksum(tensor: Tensor) -> int:
    bits = tensor.detach().contiguous().flatten().view(WHOLE_NUMBERS[tensor.element_size()])
    total = 0
    for start in range(0, len(bits), ELEMENTS_PER_PIECE):
        piece = bits[start : start + ELEMENTS_PER_PIECE].long()
        places = torch.arange(start, start + len(piece), device=piece.device)
        total += int(piece.mul_(places.mul_(GOLDEN).bitwise_or_(1)).sum())
    return total % 2**64
