"""Texts -> padded tokens. What is too long loses its beginning, so that the end, where scores are read, stays."""

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
    """A token of the tokenizer's own at the beginning stays too, where texts have one: models expect it there."""
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
    kept = row[:1] if row[0] in special else []
    return kept + row[len(row) - max_length + len(kept) :]


def most_tokens(asked: int, config: Any) -> int:
    """The most tokens that the model may see: what is asked for, and no more than it has positions for.

    Raises BadModel where that is too few for anything.
    """
    most = min(asked, getattr(config, "max_position_embeddings", None) or asked)
    if most < 2:
        raise BadModel(f"max_length must be at least 2 tokens, not {asked}")
    return int(most)
