"""Weights of a population, all of whose members answer in one batch.

LowRank: W_m = W + A_m B_mᵀ (EGGROLL, arXiv 2511.16652; LoRA, arXiv 2106.09685). The base product is computed once for
all rows, and each member's rows add (x B_m) A_mᵀ: nothing of the size of the model is copied. Stacked: every member has
weights of its own, and a product is one batch over members. It costs M copies of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping

import torch
from torch import Tensor

from workers.models.decoder.rows import Placement
from workers.models.decoder.shape import Map, Shape
from workers.models.decoder.weights import Plain, matrices, norm_factors, side_by_side

Factors = tuple[Tensor, Tensor]
Terms = tuple[Tensor, list[tuple[slice, Tensor]]]
"""A difference as a sum of outer products: all b [M, terms, in]; of each, the outputs it adds to and its a [M, out]."""

# On a CPU a batched product with an inner dimension this small is slower than as many multiply-adds by row.
FEW = 4


class LowRank(Plain):
    """One model and M low-rank differences from it.

    `factors`: matrix name -> (A [M, out, r], B [M, in, r]), any scale included. `vectors`: name -> [M, n], the members'
    own norms and biases. Parameters that neither names are the base model's.
    """

    def __init__(
        self,
        parameters: Mapping[str, Tensor],
        shape: Shape,
        factors: Mapping[str, Factors],
        vectors: Mapping[str, Tensor],
    ) -> None:
        # A bias that members own must not be added twice.
        super().__init__({k: v for k, v in parameters.items() if k not in vectors}, shape)
        self.members = len(next(iter(factors.values()))[0])
        self._embed_factors = factors.get(shape.embed)
        self._vectors = vectors
        self._own_norms = norm_factors(vectors, shape)
        rank = next(iter(factors.values()))[0].shape[2]
        by_terms = rank <= FEW and not next(iter(factors.values()))[0].is_cuda
        self._terms = {over: self._terms_of(over, factors) if by_terms else None for over in shape.maps}
        self._factors = {over: None if by_terms else self._joined_factors(over, factors) for over in shape.maps}
        self._biases = {over: self._joined_biases(over) for over in shape.maps}

    def embed(self, tokens: Tensor, rows: Placement) -> Tensor:
        x = super().embed(tokens, rows)
        if self._embed_factors is None:
            return x
        a, b = self._embed_factors
        for weight, of_member in zip(torch.split(rows.of_tokens(tokens, a), 1, dim=1), b.unbind(2), strict=True):
            rows.add_outer(x, slice(None), weight, of_member)
        return x

    def scaled(self, x: Tensor, norm: str, rows: Placement) -> Tensor:
        return rows.times(x, self._own_norms[norm]) if norm in self._own_norms else super().scaled(x, norm, rows)

    def linear(self, over: Map, x: Tensor, rows: Placement) -> Tensor:
        y = super().linear(over, x, rows)
        if (bias := self._biases[over]) is not None:
            y = rows.plus(y, bias)
        if (factors := self._factors[over]) is not None:
            a, b = factors
            y += rows.gather(torch.bmm(torch.bmm(rows.spread(x), b), a))
        if (terms := self._terms[over]) is not None:
            dots = torch.split(rows.gather(_dots(rows.spread(x), terms[0])), 1, dim=1)
            for dot, (cut, of_member) in zip(dots, terms[1], strict=True):
                rows.add_outer(y, cut, dot, of_member)
        return y

    def _terms_of(self, over: Map, factors: Mapping[str, Factors]) -> Terms | None:
        """Return every rank of every part as a term of its own."""
        starts = zip(over.weights, self._starts(over), strict=True)
        present = [(*factors[name], start) for name, start in starts if name in factors]
        if not present:
            return None
        cuts = [
            (slice(start, start + a.shape[1]), row) for a, _, start in present for row in a.movedim(2, 0).contiguous()
        ]
        return torch.cat([b for _, b, _ in present], dim=2).transpose(1, 2).contiguous(), cuts

    def _joined_factors(self, over: Map, factors: Mapping[str, Factors]) -> Factors | None:
        """Return (A [M, Σr, Σout] with a block for each part, B [M, in, Σr])."""
        present = {name: factors[name] for name in over.weights if name in factors}
        if not present:
            return None
        starts = dict(zip(over.weights, self._starts(over), strict=True))
        blocks = []
        for name, (a, _) in present.items():
            block = a.new_zeros(self.members, a.shape[2], sum(self._sizes(over)))
            block[:, :, starts[name] : starts[name] + a.shape[1]] = a.transpose(1, 2)
            blocks.append(block)
        return torch.cat(blocks, dim=1), torch.cat([b for _, b in present.values()], dim=2)

    def _joined_biases(self, over: Map) -> Tensor | None:
        return side_by_side([self._vectors.get(name) for name in over.biases], self._sizes(over))

    def _sizes(self, over: Map) -> list[int]:
        return [len(self._parameters[name]) for name in over.weights]

    def _starts(self, over: Map) -> list[int]:
        sizes = self._sizes(over)
        return [sum(sizes[:i]) for i in range(len(sizes))]


class Stacked:
    """`parameters`: every name -> [M, …]. Those that become part of a larger matrix are removed from it one by one, so
    that no second copy of the model is held."""

    def __init__(self, parameters: MutableMapping[str, Tensor], shape: Shape) -> None:
        self._parameters = parameters
        self._table = parameters[shape.embed]
        self._norms = norm_factors(parameters, shape)
        self.members = len(self._table)
        self._matrices = {}
        for over, finished in _in_order(shape):
            self._matrices[over] = matrices(parameters, over)[0]
            for name in finished:
                parameters.pop(name, None)

    @staticmethod
    def bytes_of(sizes: Mapping[str, int], shape: Shape) -> int:
        """Return the most bytes that one member takes while it is stacked. sizes: name -> bytes of one member's."""
        current = most = sum(sizes.values())
        for over, finished in _in_order(shape):
            if len(over.parts) > 1:
                current += sum(sizes.get(name, 0) for name in (*over.weights, *over.biases))
            most = max(most, current)
            current -= sum(sizes.get(name, 0) for name in finished)
        return most

    def embed(self, tokens: Tensor, rows: Placement) -> Tensor:
        return rows.of_tokens(tokens, self._table)

    def scaled(self, x: Tensor, norm: str, rows: Placement) -> Tensor:
        return rows.times(x, self._norms[norm])

    def linear(self, over: Map, x: Tensor, rows: Placement) -> Tensor:
        weight, bias = self._matrices[over]
        y = rows.gather(torch.bmm(rows.spread(x), weight.transpose(1, 2)))
        return y if bias is None else rows.plus(y, bias)


def _in_order(shape: Shape) -> Iterator[tuple[Map, list[str]]]:
    """Yield every map, and the parameters that only maps of several parts read, and none after it."""
    maps = list(dict.fromkeys(shape.maps))
    last = {name: k for k, over in enumerate(maps) for name in (*over.weights, *over.biases)}
    alone = {name for over in maps if len(over.parts) == 1 for name in (*over.weights, *over.biases)}
    for k, over in enumerate(maps):
        yield over, [name for name in (*over.weights, *over.biases) if last[name] == k and name not in alone]


def _dots(x: Tensor, b: Tensor) -> Tensor:
    """Multiply x [M, T, in] by each of b [M, terms, in] -> [M, T, terms]. In the other order, a CPU's batched product
    of so few columns takes five to ten times as long."""
    if b.shape[1] == 1:
        single: Tensor = torch.linalg.vecdot(x, b)
        return single.unsqueeze(-1)
    return torch.bmm(b, x.transpose(1, 2)).transpose(1, 2)
