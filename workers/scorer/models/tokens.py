"""Turn texts into padded tokens. A long text loses its beginning, so that the end, where scores are read, stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from workers.scorer.models.base import BadModel


class Tokens(NamedTuple):
    """int64 [n, longest] each, padded on the right; and how many rows were cut."""

    ids: torch.Tensor
    mask: torch.Tensor
    truncated: int


def tokens(tokenizer: Any, texts: Sequence[str], max_length: int, *, add_special_tokens: bool = True) -> Tokens:
    """Return the tokens. A special token at the beginning stays too, if texts have one: models expect it there."""
    rows = tokenizer(list(texts), add_special_tokens=add_special_tokens, truncation=False)["input_ids"]
    special = set(tokenizer.all_special_ids)
    cut = [_cut(row, max_length, special) for row in rows]
    longest = max(map(len, cut))
    ids = torch.full((len(cut), longest), tokenizer.pad_token_id or 0)
    mask = torch.zeros_like(ids)
    for n, row in enumerate(cut):
        ids[n, : len(row)] = torch.tensor(row)
        mask[n, : len(row)] = 1
    return Tokens(ids, mask, sum(len(row) > max_length for row in rows))


def _cut(row: list[int], max_length: int, special: set[int]) -> list[int]:
    if len(row) <= max_length:
        return row
    first_token = row[:1] if row[0] in special else []
    return first_token + row[len(row) - max_length + len(first_token) :]


def limit_length(max_length: int, config: Any) -> int:
    """Return the most tokens that the model may see: the requested number, and no more than it has positions for.

    Raise BadModel if that is too few for anything.
    """
    most = min(max_length, getattr(config, "max_position_embeddings", None) or max_length)
    if most < 2:
        raise BadModel(f"max_length must be at least 2 tokens, not {max_length}")
    return int(most)
