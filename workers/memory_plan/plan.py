"""The memory that a run takes on a GPU, planned before it starts: no run may hit the card's limit on its way.

The plan follows from the sizes of the model, the config, the prompts and the card's whole memory alone. It ignores how
much happens to be free, so that a run is the same run for any other users of the machine. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workers.config import EsConfig, EvaluationConfig

SHARE = 0.92
"""Share of a card's memory for a run. The rest is for the allocator's gaps and for other processes."""
CONTEXT_BYTES = 768 * 1024**2
"""CUDA's context, kernels and libraries, outside torch's allocator."""
GRAPH_BYTES = 96 * 1024**2
"""Workspace of matrix products in the captured graphs."""
WEIGHT_SETS = 10
"""Members with full noise that answer concurrently, each with weights of its own."""
ROWS, READ_ROWS = 2048, 2048
"""Rows of a step beyond which it gives no more tokens a second, measured on an H200; tokens read together."""
LOGITS_BYTES = 2 * 1024**3
"""Bytes of an evaluation: the logits of two models and their float32 blocks, as the evaluator bounds them."""
EVALUATED_ROWS, EVALUATED_TOKENS, EVALUATED_BYTES = 512, 8192, 3 * 1024**3
"""Responses that an evaluation writes together, tokens that it reads together, and its keys and values, as the decoder
bounds them."""
GRAIN = 8


class CardTooSmall(ValueError):
    """The run does not fit into the card's memory. The message names its need; `plan` is the smallest one."""

    def __init__(self, message: str, plan: MemoryPlan) -> None:
        super().__init__(message)
        self.plan = plan


@dataclass(frozen=True)
class ModelSizes:
    """Sizes of a decoder, and the bytes of a number in its working precision."""

    layers: int
    hidden: int
    inner: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    is_tied: bool
    number_bytes: int

    @classmethod
    def of_config(cls, config: Mapping[str, Any], number_bytes: int) -> ModelSizes:
        """Return the sizes that a model's config.json states. Raise KeyError if it lacks one."""
        hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        return cls(
            layers=int(config["num_hidden_layers"]),
            hidden=hidden,
            inner=int(config["intermediate_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or hidden // heads),
            vocabulary=int(config["vocab_size"]),
            # The files of Gemma leave it out where it is true, those of the others where it is false.
            is_tied=bool(config.get("tie_word_embeddings", str(config.get("model_type")).startswith("gemma"))),
            number_bytes=number_bytes,
        )

    @property
    def qkv(self) -> int:
        """Return the outputs of the joined projections to queries, keys and values."""
        return (self.heads + 2 * self.kv_heads) * self.head_dim

    @property
    def parameters(self) -> int:
        """Return the number of weights of all matrices. Norms and biases are less than a thousandth of them."""
        return self.tables * self.vocabulary * self.hidden + self.layers * self._layer

    @property
    def tables(self) -> int:
        """Return the number of matrices as large as the vocabulary."""
        return 1 if self.is_tied else 2

    @property
    def _layer(self) -> int:
        return self.hidden * (self.qkv + self.heads * self.head_dim + 3 * self.inner)

    @property
    def factor_elements(self) -> int:
        """Return the numbers of one member's A and B of rank 1 as steps hold them: each part's B, and A over all
        parts."""
        attention = self.qkv + 3 * self.hidden + self.hidden + self.heads * self.head_dim
        mlp = 2 * self.inner + 2 * self.hidden + self.hidden + self.inner
        return self.layers * (attention + mlp) + self.tables * (self.vocabulary + self.hidden)

    @property
    def vector_elements(self) -> int:
        """Return the numbers of one member's norms and biases."""
        return self.layers * (2 * self.hidden + self.qkv) + self.hidden


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes on one card by part, and what was chosen so that they fit.

    `members` answer in one batch, and a step writes up to `rows` answers: as many with each of `weight_sets`. `columns`
    tokens hold an answer and its prompt.
    """

    members: int
    weight_sets: int
    rows: int
    read_rows: int
    columns: int
    card: int
    master: int
    working: int
    reference: int
    copies: int
    factors: int
    cache: int
    workspace: int
    evaluation: int

    @property
    def planned(self) -> int:
        """Return the bytes that torch allocates at most."""
        parts = (self.master, self.working, self.reference, self.copies, self.factors, self.cache, self.workspace)
        return sum(parts) + self.evaluation

    @property
    def limit(self) -> int:
        """Return the bytes that a plan may have on this card."""
        return int(SHARE * self.card) - CONTEXT_BYTES

    def describe(self) -> str:
        """Return one line for the log: the parts in GB, and what was chosen."""
        parts = ("master", "working", "reference", "copies", "factors", "cache", "workspace", "evaluation")
        listed = ", ".join(f"{name} {getattr(self, name) / 1e9:.1f}" for name in parts if getattr(self, name) > 5e7)
        return (
            f"GPU memory planned: {self.planned / 1e9:.1f} of {self.card / 1e9:.0f} GB ({listed}); {self.members} "
            f"members per batch, {self.rows} concurrent responses"
            + (f" with {self.weight_sets} sets of weights" if self.weight_sets > 1 else "")
        )

    def to_json(self) -> dict[str, int]:
        """Return the fields, and `planned`."""
        return {**asdict(self), "planned": self.planned}


def plan_memory(
    model: ModelSizes,
    es: EsConfig,
    *,
    prompts: int,
    longest_prompt: int,
    card: int,
    members: int,
    rows: int = 0,
    evaluation: int = LOGITS_BYTES,
) -> MemoryPlan:
    """Return the plan for an engine that answers `members` members of `prompts` prompts on a card of so many bytes.

    `rows` is the choice of an earlier attempt, and stays; 0 for a new run. `evaluation` bytes are for the run's
    evaluator; with 0 it has none. Raise CardTooSmall.
    """
    is_low_rank = es.lora is not None or es.noise == "low_rank"
    limit = rows or es.rows or ROWS
    if is_low_rank:
        each, choices = _rounded(rows or min(limit, prompts * members)), [1]
    else:
        each = _rounded(min(limit, prompts))
        max_weight_sets = max(1, min(WEIGHT_SETS, members, limit // each))
        choices = (
            [max_weight_sets]
            if rows
            else sorted({even_batch_size(members, n) for n in range(1, max_weight_sets + 1)}, reverse=True)
        )
    columns = -(-(longest_prompt + es.max_new_tokens) // 16) * 16
    for weight_sets in choices:
        plan = _plan(model, es, is_low_rank, members, weight_sets, weight_sets * each, columns, card, evaluation)
        if plan.planned <= plan.limit:
            return plan
    a_row = columns * _token_bytes(model) + model.vocabulary * model.number_bytes
    fitting = (plan.rows * a_row - (plan.planned - plan.limit)) // a_row // GRAIN * GRAIN
    if rows == 0 and fitting >= GRAIN:
        return _plan(model, es, is_low_rank, members, 1, fitting, columns, card, evaluation)
    smallest = plan if rows else _plan(model, es, is_low_rank, members, 1, GRAIN, columns, card, evaluation)
    raise CardTooSmall(
        f"{smallest.describe()}; at most {smallest.limit / 1e9:.1f} GB can be used. Use a larger card, fewer members "
        "with low-rank noise, or shorter responses",
        smallest,
    )


def evaluation_bytes(
    model: ModelSizes, evaluation: EvaluationConfig, *, longest_prompt: int, max_new_tokens: int
) -> int:
    """Return the most bytes that the evaluator takes in addition to its reference, for prompts of so many tokens."""
    answers = evaluation.prompts * max(1, evaluation.samples)
    columns = longest_prompt + (evaluation.max_new_tokens or max_new_tokens)
    rows = max(1, min(EVALUATED_ROWS, answers, EVALUATED_BYTES // (columns * _token_bytes(model))))
    read = min(EVALUATED_TOKENS, rows * longest_prompt) * _activations(model)
    # A logit, and the float32 numbers that a sample is drawn by.
    return LOGITS_BYTES + rows * (columns * _token_bytes(model) + 16 * model.vocabulary) + read


def _plan(
    model: ModelSizes, es: EsConfig, is_low_rank: bool, members: int, weight_sets: int, rows: int, columns: int,
    card: int, evaluation: int,
) -> MemoryPlan:  # fmt: skip
    number, read_rows = model.number_bytes, READ_ROWS
    weights, trained = model.parameters * number, model.parameters
    copies = (weight_sets - 1) * weights
    if es.lora is not None:
        # The base, in addition to the merged weights that the model holds.
        trained, copies = es.lora.rank * model.factor_elements, weights
    slots = rows + 1 + (members if is_low_rank else weight_sets)
    read = read_rows * _activations(model)
    answered = rows * (model.vocabulary * number + max(0, _activations(model) if rows > read_rows else 0))
    return MemoryPlan(
        members=members,
        weight_sets=weight_sets,
        rows=rows,
        read_rows=read_rows,
        columns=columns,
        card=card,
        master=4 * trained,
        working=weights,
        reference=_reference(model, es, trained, evaluation),
        copies=copies,
        factors=_factors(model, es, members),
        cache=slots * columns * _token_bytes(model),
        workspace=read + answered + GRAPH_BYTES,
        evaluation=evaluation or (LOGITS_BYTES if es.kl_beta else 0),
    )


def _reference(model: ModelSizes, es: EsConfig, trained: int, evaluation: int) -> int:
    """Return the bytes of what stays as it was at the start: the base models of the evaluator and of es.kl_beta, and
    the start of the trained numbers for es.anchor_decay."""
    base_models = bool(evaluation) + (es.kl_beta > 0)
    anchor = trained * (4 if es.lora is not None else model.number_bytes) if es.anchor_decay else 0
    return base_models * model.parameters * model.number_bytes + anchor


def _activations(model: ModelSizes) -> int:
    """Return the bytes of one row's activations."""
    wide = 3 * model.hidden + model.qkv + 2 * model.heads * model.head_dim + 3 * model.inner
    return wide * model.number_bytes


def _token_bytes(model: ModelSizes) -> int:
    """Return the bytes of a token's keys and values."""
    return model.layers * 2 * model.kv_heads * model.head_dim * model.number_bytes


def _factors(model: ModelSizes, es: EsConfig, members: int) -> int:
    """Return the bytes of what members differ in; 0 where each has weights of its own."""
    if es.lora is None and es.noise != "low_rank":
        return 0
    rank = es.lora.rank if es.lora is not None else es.rank
    # While they are drawn, the factors are float32 numbers, and the random bits that these are made of.
    drawing_bytes = 8 * rank * model.factor_elements
    return members * (drawing_bytes + (rank * model.factor_elements + model.vector_elements) * model.number_bytes)


def even_batch_size(members: int, max_members: int) -> int:
    """Return how many members, at most `max_members`, answer together, in turns of nearly equal size."""
    turns = -(-members // max_members)
    return -(-members // turns)


def _rounded(rows: int) -> int:
    return -(-rows // GRAIN) * GRAIN
