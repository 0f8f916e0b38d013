"""Bytes that a GRPO run takes on one GPU, part by part: weights, optimizer, activations, keys and values.

P below is the number of the model's weights, b the bytes of a number in the working precision: 2 for bfloat16 and
float16, 4 for float32. Shapes of activations are those of Qwen2, which Llama, Mistral and Gemma share.
"""

from __future__ import annotations

from collections.abc import Mapping

from workers.config import GrpoConfig
from workers.config.es import BaseLoraConfig
from workers.memory_plan.plan import ModelSizes

FLOAT32 = 4
OPTIMIZER_NUMBER_BYTES: Mapping[str, float] = {
    "sgd": 0.0,
    "adamw_8bit": 2.0,
    "adamw_bnb_8bit": 2.0,
    "paged_adamw_8bit": 2.0,
    "lion_32bit": 4.0,
}
"""Value of grpo.extra.optim -> bytes of optimizer state per trained number. Others are counted as AdamW."""
ADAMW_NUMBER_BYTES = 8.0
HEAD_ROWS, HEAD_COLUMNS = 4096, 32_768
"""Tokens and vocabulary of one tile of TRL's fused LM head: TOKEN_CHUNK_SIZE in trl/kernels/chunked_logprob.py and
_CHUNKED_LOGPROB_CHUNK_SIZE in trl/trainer/utils.py."""
SAMPLED_BYTES = 16
"""Bytes per row and token of the vocabulary while the next token is drawn: the logits, their float32 copy, the scores
after temperature, and the probabilities."""
ZERO_BUCKET = 500_000_000
"""Numbers that DeepSpeed reduces together: its default reduce_bucket_size."""
GRADIENT_COPIES = 2
"""Copies of a unit's gradients while fsdp splits them: the whole gradients, and the buffer that is sent."""


def adapter_numbers(model: ModelSizes, lora: BaseLoraConfig) -> int:
    """Return the numbers of A and B of all layers. Targets of other names than Qwen2's are not counted."""
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    shapes = {
        "q_proj": (model.hidden, queries),
        "k_proj": (model.hidden, keys),
        "v_proj": (model.hidden, keys),
        "o_proj": (queries, model.hidden),
        "gate_proj": (model.hidden, model.inner),
        "up_proj": (model.hidden, model.inner),
        "down_proj": (model.inner, model.hidden),
    }
    return model.layers * lora.rank * sum(sum(shapes[target]) for target in lora.targets if target in shapes)


def optimizer_bytes(grpo: GrpoConfig, trained: int) -> int:
    """Return the bytes of the optimizer's state for so many trained numbers: AdamW has two float32 numbers for each."""
    return int(OPTIMIZER_NUMBER_BYTES.get(str(grpo.extra.get("optim", "")), ADAMW_NUMBER_BYTES) * trained)


def layer_activation_bytes(model: ModelSizes, columns: int, *, is_lora: bool) -> int:
    """Return the bytes per token that one layer saves for its backward pass, in rows of so many columns.

    Norms compute in float32. Without an adapter, the residual stream is float32 too, since autocast keeps the
    embedding's precision, and each norm also saves its output for the gradient of its weight. In 16 bits,
    autocast, or an adapter, casts the input of q, k, v, gate and up for each of them. SDPA saves q, k, v (repeated
    for each head), its output, its log-sum-exp and its mask; an adapter casts the output too. The MLP saves gate,
    its activation, up, and their product.
    """
    number, queries = model.number_bytes, model.heads * model.head_dim
    norms = 2 * FLOAT32 * (model.hidden * (1 if is_lora else 2) + 1)
    is_cast = number < FLOAT32
    inputs = (5 if is_cast else 2) * number * model.hidden
    attention = (5 if is_lora and is_cast else 4) * number * queries + FLOAT32 * model.heads + number * columns
    return norms + inputs + attention + 4 * number * model.inner


def activation_bytes(model: ModelSizes, grpo: GrpoConfig, columns: int) -> int:
    """Return the bytes of activations of a micro batch of rows of so many columns, with the gradients of one layer's.

    With gradient checkpointing, each layer saves its input alone, and one layer is computed again at a time.
    """
    tokens = grpo.per_device_train_batch_size * columns
    layer = layer_activation_bytes(model, columns, is_lora=grpo.lora is not None)
    if not grpo.gradient_checkpointing:
        return tokens * (model.layers + 1) * layer
    hidden = model.hidden * (model.number_bytes if grpo.lora is not None else FLOAT32)
    return tokens * (model.layers * hidden + 2 * layer)


def head_bytes(model: ModelSizes, tokens: int, *, is_lora: bool) -> int:
    """Return the bytes of TRL's fused LM head for so many completion tokens: one tile of logits and of the weights, the
    hidden states with their float32 gradients, and the float32 gradient of the weights if they are trained."""
    columns = min(HEAD_COLUMNS, model.vocabulary)
    tile = (min(tokens, HEAD_ROWS) + model.hidden) * columns * model.number_bytes
    return tile + 2 * FLOAT32 * tokens * model.hidden + (0 if is_lora else FLOAT32 * model.table_numbers)


def generation_rows(grpo: GrpoConfig, world: int) -> int:
    """Return the completions that one process generates concurrently, as TRL derives them from its settings."""
    if batch := int(grpo.extra.get("generation_batch_size") or 0):
        return -(-batch // world)
    steps = int(grpo.extra.get("steps_per_generation") or grpo.gradient_accumulation_steps)
    return grpo.per_device_train_batch_size * steps


def cache_bytes(model: ModelSizes, rows: int, columns: int) -> int:
    """Return the bytes of the keys and values of so many rows and tokens: of all layers, one layer's while it grows by
    a token and is copied, and one layer's repeated for each head."""
    keys, queries = model.kv_heads * model.head_dim, model.heads * model.head_dim
    return rows * columns * 2 * ((model.layers + 1) * keys + queries) * model.number_bytes


def sampling_bytes(model: ModelSizes, rows: int, prompt_tokens: int) -> int:
    """Return the bytes of one step of a generation: its logits, or the activations of the prompts at its start."""
    return rows * max(SAMPLED_BYTES * model.vocabulary, prompt_tokens * model.activation_bytes)


def gathered_bytes(model: ModelSizes, *, is_lora: bool) -> int:
    """Return the bytes that fsdp holds in a pass in addition to its shards: the whole model in the working precision,
    which stays gathered until the backward pass has ended, and the gradients of the largest unit, whole and as sent.

    Units are each layer, and embedding and LM head together.
    """
    unit = max(model.tables * model.table_numbers, model.layer_numbers)
    return model.number_bytes * (model.parameters + (0 if is_lora else GRADIENT_COPIES * unit))
