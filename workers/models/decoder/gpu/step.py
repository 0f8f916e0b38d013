"""One step of a decoder over rows of any slots, positions and members: a token each, read or answered.

A step of R rows reads their tokens at their positions: it writes keys and values into the cache, attends to what the
slot holds up to the position, and, to answer, takes the likeliest next token. Rows of one prompt may be read in one
step, since a layer writes all keys before any row attends. Every launch has a fixed shape, so that a step of R rows can
be captured as a CUDA graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor

from workers.models.decoder.forward import Rotary
from workers.models.decoder.gpu import kernels
from workers.models.decoder.gpu.weights import JoinedWeights, MemberTerms, Term
from workers.models.decoder.loop import draw_tokens
from workers.models.decoder.shape import Layer, Map, Shape

TOKEN, POSITION, SLOT, MEMBER, NUMBER, LIMIT, ENDED = range(7)
"""Rows of the state [7, rows]. NUMBER counts the tokens of the answer, of which there may be LIMIT; an ENDED row
changes nothing any more. To be read, a token needs the first four."""
PIECE = 2048
"""Columns of the MLP that one program computes."""
SPANS, SPAN_BLOCK = 16, 1024
ROWS_A_PROGRAM = 32
TILE = 64


@dataclass(frozen=True)
class Sizes:
    """Sizes of the buffers: rows of a step that answers and of one that reads, slots of the cache, tokens a slot.

    `samples` makes room for the numbers that samples are drawn by.
    """

    rows: int
    read_rows: int
    slots: int
    columns: int
    max_new: int
    samples: bool = False


class Step:
    """The buffers and the launches of a step. `members` is None where rows have the weights themselves.

    Where there are several copies of the weights, a step that answers has as many rows of each, in their order, and a
    row's member is its copy. A step that reads has rows of one copy.
    """

    def __init__(
        self,
        shape: Shape,
        weights: JoinedWeights,
        members: MemberTerms | None,
        tables: dict[str, tuple[Tensor, Tensor]],
        ends: Tensor,
        sizes: Sizes,
    ) -> None:
        self.shape, self.weights, self.members, self.sizes = shape, weights, members, sizes
        self._tables, self._ends = tables, ends.to(torch.int32)
        table = weights.tensors[shape.embed][0]
        self._hidden, self._vocabulary = table.shape[1], weights.matrices[shape.head].shape[1]
        self._inner = weights.matrices[shape.layers[0].down].shape[2]
        self._pieces = triton.cdiv(self._inner, PIECE)
        most, whole, device = max(sizes.rows, sizes.read_rows), table.new_empty, table.device
        queries, qkv = shape.heads * shape.head_dim, (shape.heads + 2 * shape.kv_heads) * shape.head_dim
        self.state = torch.zeros(7, sizes.rows, dtype=torch.int32, device=device)
        self.read_state = torch.zeros(4, sizes.read_rows, dtype=torch.int32, device=device)
        self.answers = torch.zeros(sizes.slots, sizes.max_new, dtype=torch.int32, device=device)
        planes = (len(shape.layers), 2, sizes.slots, shape.kv_heads, sizes.columns, shape.head_dim)
        self.cache = table.new_zeros(planes)
        self._x, self._normed, self._y = (whole(most, self._hidden) for _ in range(3))
        self._qkv, self._q, self._attended = whole(most, qkv), whole(most, queries), whole(most, queries)
        self._gate_up, self._active = whole(most, 2 * self._inner), whole(most, self._inner)
        self._logits = whole(sizes.rows, self._vocabulary)
        ranks = [term.rank for term in members.maps.values()] if members else [1]
        floats = torch.float32
        self._dots = torch.empty(most, 3 * max(ranks), dtype=floats, device=device)
        parts = max(shape.kv_heads, self._pieces) * max(ranks)
        self._out_dots = torch.empty(most, parts, dtype=floats, device=device)
        self._values = torch.empty(sizes.rows, SPANS, dtype=floats, device=device)
        self._places = torch.empty(sizes.rows, SPANS, dtype=torch.int32, device=device)
        self.draws = torch.zeros(sizes.slots if sizes.samples else 0, sizes.max_new, dtype=floats, device=device)
        """The uniform number that each token of a slot's response is drawn by, [slots, max_new]."""
        self._choices = torch.zeros(2, sizes.rows if sizes.samples else 0, dtype=torch.int32, device=device)

    def read(self, rows: int, copy: int = 0) -> None:
        """Read the first `rows` tokens of `read_state`, whose members have this copy of the weights."""
        self._layers(self.read_state, rows, copy)

    def answer(self, rows: int) -> None:
        """Read the first `rows` tokens of `state`, and write the likeliest next ones."""
        self._pick_likeliest(rows, stored=False)
        self._advance(rows, self._values, self._places, SPANS)

    def sample(self, rows: int, temperature: float) -> None:
        """Read the first `rows` tokens of `state`, and write next ones drawn at this temperature by `draws`."""
        state, (chosen, equal) = self.state, self._choices
        logits = self.logits(rows)
        # A row that has ended may have counted all its numbers.
        number = state[NUMBER, :rows].clamp(max=self.sizes.max_new - 1)
        chosen[:rows] = draw_tokens(logits, self.draws[state[SLOT, :rows], number], temperature)
        self._advance(rows, equal.view(torch.float32), chosen, 1)

    def _advance(self, rows: int, values: Tensor, places: Tensor, spans: int) -> None:
        """Write the token at the place of the largest of `spans` values [rows, spans], and go on to the next."""
        state = self.state
        kernels.advance[(triton.cdiv(rows, ROWS_A_PROGRAM),)](
            values, places, self._ends, self.answers, state[TOKEN], state[POSITION], state[SLOT], state[NUMBER],
            state[LIMIT], state[ENDED], rows, self.sizes.max_new,
            spans=spans, end_count=len(self._ends), block=ROWS_A_PROGRAM,
        )  # fmt: skip

    def logits(self, rows: int) -> Tensor:
        """Read the first `rows` tokens of `state`. Return the logits [rows, vocabulary] after them."""
        self._pick_likeliest(rows, stored=True)
        return self._logits[:rows]

    def _pick_likeliest(self, rows: int, *, stored: bool) -> None:
        state, shape = self.state, self.shape
        self._layers(state, rows, None)
        self._multiply(shape.head, self._normed, self._logits, rows, None)
        term = self._term(shape.head)
        bias, stride = self._bias(shape.head)
        span = triton.cdiv(triton.cdiv(self._vocabulary, SPANS), SPAN_BLOCK) * SPAN_BLOCK
        kernels.pick_likeliest[(rows, SPANS)](
            self._logits, self._dots, term and term.a, bias, stride, self._values, self._places, state[MEMBER],
            self._vocabulary, span, shape.logit_softcap or 0.0,
            rank=term.rank if term else 0, biased=bias is not None, capped=shape.logit_softcap is not None,
            stored=stored, block=SPAN_BLOCK,
        )  # fmt: skip

    def copy_beginnings(self, sources: Tensor, targets: Tensor, count: int) -> None:
        """Copy the first `count` tokens of the slots `sources` to the slots `targets`, both [n] int32."""
        planes = self.cache.shape[0] * 2 * self.shape.kv_heads
        kernels.copy_beginnings[(len(sources), planes)](
            self.cache, sources, targets, self.sizes.slots, self.sizes.columns, count,
            kv_heads=self.shape.kv_heads, head_dim=self.shape.head_dim, block=1024,
        )  # fmt: skip

    def _layers(self, state: Tensor, rows: int, copy: int | None) -> None:
        """Launch all layers. With `copy` it is a step that reads, and the last layer goes no further than keys and
        values."""
        shape = self.shape
        self._embed(state, rows)
        self._norm(shape.layers[0].norm_attention, shape.layers[0].qkv, state, rows)
        following = [*shape.layers[1:], None]
        for index, (layer, after) in enumerate(zip(shape.layers, following, strict=True)):
            self._multiply(layer.qkv, self._normed, self._qkv, rows, copy)
            self._turn_heads(index, layer, state, rows)
            if after is None and copy is not None:
                return
            self._attend(index, layer, state, rows)
            self._multiply(layer.out, self._attended, self._y, rows, copy)
            attended = (layer.out, shape.kv_heads, layer.norm_attended)
            self._norm(layer.norm_mlp, layer.gate_up, state, rows, attended)
            self._multiply(layer.gate_up, self._normed, self._gate_up, rows, copy)
            self._activate(layer, state, rows)
            self._multiply(layer.down, self._active, self._y, rows, copy)
            norm, over = (shape.norm, shape.head) if after is None else (after.norm_attention, after.qkv)
            self._norm(norm, over, state, rows, (layer.down, self._pieces, layer.norm_mlp_out))

    def _multiply(self, over: Map, x: Tensor, into: Tensor, rows: int, copy: int | None) -> None:
        """Multiply by one copy of the weights, or equal parts of the rows by each."""
        matrices, copies = self.weights.matrices[over], self.weights.copies
        if copy is not None or copies == 1:
            torch.mm(x[:rows], matrices[copy or 0].t(), out=into[:rows])
            return
        parts, out = (tensor[:rows].view(copies, rows // copies, -1) for tensor in (x, into))
        torch.bmm(parts, matrices.transpose(1, 2), out=out)

    def _embed(self, state: Tensor, rows: int) -> None:
        shape, table = self.shape, self.weights.tensors[self.shape.embed]
        term = self._term(Map((shape.embed.removesuffix(".weight"),)))
        # Rounded as transformers rounds it, to the precision of the table.
        scale = float(torch.tensor(shape.embed_scale, dtype=table.dtype))
        kernels.embed[(rows,)](
            self._x, table, self.weights.stride(table), state[TOKEN], state[MEMBER], term and term.a, term and term.b,
            self._hidden, table.shape[1], scale, rank=term.rank if term else 0, scaled=scale != 1.0,
            block=triton.next_power_of_2(self._hidden),
        )  # fmt: skip

    def _norm(
        self, norm: str, over: Map, state: Tensor, rows: int, added: tuple[Map, int, str | None] | None = None
    ) -> None:
        """Norm the residual stream for the map `over`, after adding y: (its map, pieces of its dots, its own norm)."""
        shape, y_term, bias, bias_stride, y_norm, y_stride, partials = self.shape, None, None, 0, None, 0, 1
        if added is not None:
            y_over, partials, y_name = added
            y_term = self._term(y_over)
            bias, bias_stride = self._bias(y_over)
            y_norm, y_stride = self._vector(y_name)
        weight, stride = self._vector(norm)
        term = self._term(over)
        kernels.add_and_norm[(rows,)](
            self._x, self._y, self._out_dots, y_term and y_term.a, bias, bias_stride, y_norm, y_stride, weight, stride,
            term and term.b, self._normed, self._dots, state[MEMBER], self._hidden, shape.eps,
            adds=added is not None, rank=y_term.rank if y_term else 0, partials=partials, biased=bias is not None,
            y_normed=y_norm is not None, terms=term.rank * len(over.parts) if term else 0,
            offset=shape.has_offset_norms, block=triton.next_power_of_2(self._hidden),
            num_warps=4 if self._hidden <= 2048 else 8,
        )  # fmt: skip

    def _turn_heads(self, index: int, layer: Layer, state: Tensor, rows: int) -> None:
        shape, term = self.shape, self._term(layer.qkv)
        bias, bias_stride = self._bias(layer.qkv)
        q_norm, q_stride = self._vector(layer.q_norm)
        k_norm, k_stride = self._vector(layer.k_norm)
        cos, sin = self._tables[layer.rotary]
        k_first, v_first = self._planes(index)
        kernels.turn_heads[(rows,)](
            self._qkv, self._dots, term and term.a, bias, bias_stride, q_norm, q_stride, k_norm, k_stride, cos, sin,
            self._q, self.cache, k_first, v_first, state[POSITION], state[SLOT], state[MEMBER], self.sizes.columns,
            shape.eps, heads=shape.heads, kv_heads=shape.kv_heads, half=shape.head_dim // 2,
            rank=term.rank if term else 0, biased=bias is not None, normed=q_norm is not None,
            offset=shape.has_offset_norms, block=triton.next_power_of_2(shape.heads + 2 * shape.kv_heads),
            half_block=triton.next_power_of_2(shape.head_dim // 2), num_warps=4,
        )  # fmt: skip

    def _attend(self, index: int, layer: Layer, state: Tensor, rows: int) -> None:
        shape, term = self.shape, self._term(layer.out)
        k_first, v_first = self._planes(index)
        group, wide = shape.heads // shape.kv_heads, max(16, triton.next_power_of_2(shape.head_dim))
        exact = self._q.dtype == torch.float32
        kernels.attend[(rows, shape.kv_heads)](
            self._q, self.cache, k_first, v_first, term and term.b, self._attended, self._out_dots, state[POSITION],
            state[SLOT], state[MEMBER], self.sizes.columns, shape.attention_scale, shape.attention_softcap or 0.0,
            kv_heads=shape.kv_heads, group=group, head_dim=shape.head_dim, window=layer.window or 0,
            capped=shape.attention_softcap is not None, rank=term.rank if term else 0,
            group_block=max(16, triton.next_power_of_2(group)), head_block=wide,
            tile=TILE // 2 if exact and wide > 128 else TILE,
            precision="ieee" if exact else "tf32", num_warps=4, num_stages=2 if exact or wide > 128 else 3,
        )  # fmt: skip

    def _activate(self, layer: Layer, state: Tensor, rows: int) -> None:
        term, down = self._term(layer.gate_up), self._term(layer.down)
        bias, stride = self._bias(layer.gate_up)
        kernels.activate[(rows, self._pieces)](
            self._gate_up, self._dots, term and term.a, bias, stride, down and down.b, self._active, self._out_dots,
            state[MEMBER], self._inner, rank=term.rank if term else 0, down_rank=down.rank if down else 0,
            biased=bias is not None, gelu=self.shape.activation == "gelu_tanh", block=PIECE, num_warps=8,
        )  # fmt: skip

    def _planes(self, index: int) -> tuple[int, int]:
        """Return where the layer's keys and values begin in the cache."""
        size = self.cache[0, 0].numel()
        return 2 * index * size, (2 * index + 1) * size

    def _term(self, over: Map) -> Term | None:
        return self.members.maps.get(over) if self.members else None

    def _bias(self, over: Map) -> tuple[Tensor | None, int]:
        """Return biases and the elements from one member's to the next."""
        if self.members and over in self.members.biases:
            return self.members.biases[over], self.members.biases[over].shape[1]
        biases = self.weights.biases.get(over)
        return biases, 0 if biases is None else self.weights.stride(biases)

    def _vector(self, name: str | None) -> tuple[Tensor | None, int]:
        if name is None:
            return None, 0
        if self.members and name in self.members.vectors:
            return self.members.vectors[name], self.members.vectors[name].shape[1]
        vectors = self.weights.tensors[name]
        return vectors, self.weights.stride(vectors)


def rotary_tables(shape: Shape, rotary: Any, columns: int, like: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Return cosines and sines [columns, head_dim / 2] for each kind of layer, in the precision of `like`."""
    kinds, half = {layer.rotary for layer in shape.layers}, shape.head_dim // 2
    turns = Rotary(rotary, kinds, columns, like.dtype, like.device).at(torch.arange(columns, device=like.device))
    # Their sines have the sign of the turn in the first half.
    return {kind: (cos[:, 0, :half].contiguous(), sin[:, 0, half:].contiguous()) for kind, (cos, sin) in turns.items()}
