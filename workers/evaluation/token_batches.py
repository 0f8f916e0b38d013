"""Batches of prompts and completions in tokens, whose logits fit in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

LOGITS_BYTES = 512 * 2**20
"""Bytes of the logits of one batch, over the models that read it."""
BLOCK_BYTES = 64 * 2**20
"""Bytes of the float32 logits that are normalised at a time."""
Tokens = Sequence[int]


def batches(
    model: nn.Module, prompts: Sequence[Tokens], completions: Sequence[Tokens], models: int
) -> Iterator[list[int]]:
    """Yield indices of rows of similar length, as many per batch as keep the logits of so many models within
    LOGITS_BYTES."""
    lengths = [len(p) + len(c) for p, c in zip(prompts, completions, strict=True)]
    weight = next(model.parameters())
    row_bytes = models * int(model.config.vocab_size) * weight.element_size()  # type: ignore[union-attr,arg-type]
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        # Sorted upwards, so the newcomer is the longest of the batch.
        if batch and (len(batch) + 1) * lengths[i] * row_bytes > LOGITS_BYTES:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def right_padded(rows: Sequence[Tokens], device: torch.device) -> Tensor:
    """Return [rows, longest]. Tokens after a row's end cannot change those before it: the models are causal."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows], device=device)


def blocks(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield the tensors, the first [tokens, vocabulary] and the others as long, in blocks of BLOCK_BYTES as float32."""
    size = max(1, BLOCK_BYTES // (4 * tensors[0].shape[1]))
    return zip(*(torch.split(tensor, size) for tensor in tensors), strict=True)
