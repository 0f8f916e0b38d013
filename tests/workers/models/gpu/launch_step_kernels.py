"""Launch every kernel of a decoder's steps, on tensors of a CPU."""

from __future__ import annotations

from typing import Any

import torch
from transformers import Gemma2Config, Qwen2Config, Qwen3Config

from workers.models.decoder.gpu import JoinedWeights, MemberTerms, Sizes, Step, slots_for
from workers.models.decoder.shape import Shape, read_shape


def launch_step(shape: Shape, config: Any, dtype: torch.dtype, rank: int) -> None:
    """Launch a step of weights that are not set, of one model and of members."""
    hidden, width = config.hidden_size, config.head_dim
    sizes = {"q_proj": config.num_attention_heads * width, "o_proj": hidden, "down_proj": hidden}
    sizes |= dict.fromkeys(("k_proj", "v_proj"), config.num_key_value_heads * width)
    sizes |= dict.fromkeys(("gate_proj", "up_proj"), config.intermediate_size)
    inputs = {"o_proj": sizes["q_proj"], "down_proj": config.intermediate_size}
    parameters = {shape.embed: torch.empty(config.vocab_size, hidden, dtype=dtype)}
    for layer in shape.layers:
        for over in layer.maps:
            for part, name in zip(over.parts, over.weights, strict=True):
                kind = part.rpartition(".")[2]
                parameters[name] = torch.empty(sizes[kind], inputs.get(kind, hidden), dtype=dtype)
                if kind in ("q_proj", "k_proj", "v_proj"):
                    parameters[f"{part}.bias"] = torch.empty(sizes[kind], dtype=dtype)
        for name in layer.norms:
            parameters[name] = torch.empty(hidden, dtype=dtype)
    parameters[shape.norm] = torch.empty(hidden, dtype=dtype)
    weights = JoinedWeights(parameters, shape)
    matrices, vectors = ({name for name, p in parameters.items() if p.ndim == n} for n in (2, 1))
    table = torch.empty(64, width // 2, dtype=dtype)
    tables = {layer.rotary: (table, table) for layer in shape.layers}
    terms = MemberTerms(weights, shape, 3, rank, matrices, vectors)
    sizes = Sizes(16, 16, slots_for(16, 3), 64, 24, samples=True)
    two = JoinedWeights(dict(parameters), shape, copies=2)
    for these, members in ((weights, None), (weights, terms), (two, None)):
        step = Step(shape, these, members, tables, torch.tensor([1, 2]), sizes)
        step.answer(16)
        step.sample(16, 0.5)
        step.logits(16)
        step.read(16)
        # As in a cache of more numbers than 32 bits count.
        step._planes = lambda index: (2**32, 2**33)  # type: ignore[method-assign]
        step.answer(16)
        step.copy_beginnings(torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int32), 5)


def main() -> None:
    """Launch steps of three architectures: with biases, with norms of heads, and with soft caps and windows.

    It needs a process of its own, in which no product of matrices is computed any more.
    """
    for name in ("mm", "bmm"):
        setattr(torch, name, lambda *_, out: out)
    common: dict[str, Any] = {"num_hidden_layers": 1, "vocab_size": 3000, "tie_word_embeddings": True}
    qwen = Qwen2Config(
        hidden_size=1536, intermediate_size=8960, num_attention_heads=12, num_key_value_heads=2, **common
    )
    qwen.head_dim = 128
    gemma = Gemma2Config(hidden_size=96, intermediate_size=160, num_attention_heads=4, num_key_value_heads=2,
                         head_dim=48, sliding_window=8, **common)  # fmt: skip
    qwen3 = Qwen3Config(hidden_size=256, intermediate_size=512, num_attention_heads=4, num_key_value_heads=2,
                        head_dim=64, **common)  # fmt: skip
    launch_step(read_shape(qwen, is_tied=True), qwen, torch.bfloat16, rank=1)
    launch_step(read_shape(qwen3, is_tied=True), qwen3, torch.bfloat16, rank=1)
    launch_step(read_shape(gemma, is_tied=True), gemma, torch.float32, rank=2)
