"""The memory that a run takes on a GPU, planned before it starts: no run may hit the card's limit on its way.

The plan follows from the sizes of the model, the config, the prompts and the card's whole memory alone. It ignores how
much happens to be free, so that a run is the same run for any other users of the machine. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workers.config import EsConfig, EvaluationConfig
from workers.memory_plan.card import CONTEXT_BYTES, SHARE, CardPlan

GRAPH_BYTES = 96 * 1024**2
"""Workspace of matrix products in the captured graphs."""
WEIGHT_SETS = 10
"""Members with weights of their own that answer concurrently."""
ROWS, READ_ROWS = 2048, 2048
"""Rows of a step beyond which it gives no more tokens a second, measured on an H200; tokens read together."""
LOGITS_BYTES = 2 * 1024**3
"""Bytes of an evaluation: the logits of two models and their float32 blocks, as the evaluator bounds them."""
EVALUATED_ROWS, EVALUATED_READ_ROWS = 128, 512
"""Rows of every step of an evaluation by captured steps: of one that answers, and of one that reads. They are the same
for all runs, since a product of matrices rounds by its rows."""
EVALUATED_BYTES = 3 * 1024**3
"""Keys and values of an evaluation's responses, which bounds how many are written together."""
EAGER_ROWS, EAGER_TOKENS = 512, 8192
"""Responses that an evaluation without captured steps writes together, and tokens that it reads together."""
GRAIN = 8


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
    def from_config(cls, config: Mapping[str, Any], number_bytes: int) -> ModelSizes:
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
        return self.tables * self.table_numbers + self.layers * self.layer_numbers

    @property
    def tables(self) -> int:
        """Return the number of matrices as large as the vocabulary."""
        return 1 if self.is_tied else 2

    @property
    def table_numbers(self) -> int:
        """Return the weights of the embedding, or of the LM head."""
        return self.vocabulary * self.hidden

    @property
    def layer_numbers(self) -> int:
        """Return the weights of one layer's matrices."""
        return self.hidden * (self.qkv + self.heads * self.head_dim + 3 * self.inner)

    @property
    def weight_bytes(self) -> int:
        """Return the bytes of all weights."""
        return self.parameters * self.number_bytes

    @property
    def token_bytes(self) -> int:
        """Return the bytes of a token's keys and values."""
        return self.layers * 2 * self.kv_heads * self.head_dim * self.number_bytes

    @property
    def activation_bytes(self) -> int:
        """Return the bytes of one row's activations."""
        wide = 3 * self.hidden + self.qkv + 2 * self.heads * self.head_dim + 3 * self.inner
        return wide * self.number_bytes

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


def describe_plan(plan: CardPlan) -> str:
    """Return one line for the log: the parts in GB, and what was chosen."""
    listed = ", ".join(f"{part} {size:.1f}" for part, size in plan.parts_gb.items() if size > 0.05)
    return f"GPU memory planned: {plan.needed_gb:.1f} of {plan.card_gb:.0f} GB ({listed}); {describe_batches(plan)}"


def describe_batches(plan: CardPlan) -> str:
    """Return how the engines on a card cut the population, in words."""
    text = f"{plan.members} members per batch, {plan.responses} concurrent responses"
    return f"{text} with {plan.all_weight_sets} sets of weights" if plan.all_weight_sets > 1 else text


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
) -> CardPlan:
    """Return the plan for an engine that answers `members` members of `prompts` prompts on a card of so many bytes.

    `rows` is the choice of an earlier attempt, and stays; 0 for a new run. `evaluation` bytes are for the run's
    evaluator; with 0 it has none.
    """
    limit = rows or es.rows or ROWS
    if es.factor_rank:
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
        plan = _plan(model, es, members, weight_sets, weight_sets * each, columns, card, evaluation)
        if plan.needed <= plan.usable:
            return plan
    a_row = columns * model.token_bytes + model.vocabulary * model.number_bytes
    fitting = (plan.rows * a_row - (plan.needed - plan.usable)) // a_row // GRAIN * GRAIN
    if rows == 0 and fitting >= GRAIN:
        return _plan(model, es, members, 1, fitting, columns, card, evaluation)
    smallest = plan if rows else _plan(model, es, members, 1, GRAIN, columns, card, evaluation)
    reason = (
        f"{describe_plan(smallest)}; at most {smallest.usable_gb:.1f} GB can be used. Use a larger card, fewer members "
        "with low-rank noise, or shorter responses"
    )
    return replace(smallest, reason=reason)


def evaluation_bytes(
    model: ModelSizes, evaluation: EvaluationConfig, *, longest_prompt: int, max_new_tokens: int
) -> int:
    """Return the most bytes that the evaluator takes in addition to its reference, for prompts of so many tokens.

    It is that of captured steps, or of the decoder without them for models that have none, whichever takes more.
    """
    answers = evaluation.prompts * max(1, evaluation.samples)
    columns = -(-(longest_prompt + (evaluation.max_new_tokens or max_new_tokens)) // 16) * 16
    a_response = columns * model.token_bytes
    rows = max(1, min(EAGER_ROWS, answers, EVALUATED_BYTES // a_response))
    read = min(EAGER_TOKENS, rows * longest_prompt) * model.activation_bytes
    # A logit, and the float32 numbers that a sample is drawn by.
    drawing = 16 * model.vocabulary
    eager = rows * (a_response + drawing) + read
    slots = evaluated_responses(answers, a_response) + 2
    captured = slots * a_response + EVALUATED_ROWS * drawing + EVALUATED_READ_ROWS * model.activation_bytes
    return LOGITS_BYTES + max(eager, captured + GRAPH_BYTES)


def evaluated_responses(answers: int, response_bytes: int) -> int:
    """Return how many of so many responses an evaluation by captured steps writes together, each of so many bytes of
    keys and values."""
    return max(1, min(EVALUATED_ROWS, answers, EVALUATED_BYTES // response_bytes))


def _plan(
    model: ModelSizes, es: EsConfig, members: int, weight_sets: int, rows: int, columns: int, card: int, evaluation: int
) -> CardPlan:  # fmt: skip
    weights, trained = model.weight_bytes, model.parameters
    copies = (weight_sets - 1) * weights
    if es.lora is not None:
        # The base, in addition to the merged weights that the model holds.
        trained, copies = es.lora.rank * model.factor_elements, weights
    slots = rows + 1 + (members if es.factor_rank else weight_sets)
    read = READ_ROWS * model.activation_bytes
    answered = rows * (model.vocabulary * model.number_bytes + (model.activation_bytes if rows > READ_ROWS else 0))
    parts = {
        "master": 4 * trained,
        "working": weights,
        "reference": _reference(model, es, trained, evaluation),
        "copies": copies,
        "factors": _factors(model, es, members),
        "cache": slots * columns * model.token_bytes,
        "workspace": read + answered + GRAPH_BYTES,
        "evaluation": evaluation or (LOGITS_BYTES if es.kl_beta else 0),
    }
    return CardPlan(
        card=card, usable=int(SHARE * card) - CONTEXT_BYTES, parts=parts, members=members, weight_sets=weight_sets,
        rows=rows, columns=columns,
    )  # fmt: skip


def _reference(model: ModelSizes, es: EsConfig, trained: int, evaluation: int) -> int:
    """Return the bytes of what stays as it was at the start: the base models of the evaluator and of es.kl_beta, and
    the start of the trained numbers for es.anchor_decay."""
    base_models = bool(evaluation) + (es.kl_beta > 0)
    anchor = trained * (4 if es.lora is not None else model.number_bytes) if es.anchor_decay else 0
    return base_models * model.weight_bytes + anchor


def _factors(model: ModelSizes, es: EsConfig, members: int) -> int:
    """Return the bytes of what members differ in; 0 where each has weights of its own."""
    rank = es.factor_rank
    if not rank:
        return 0
    # While they are drawn, the factors are float32 numbers, and the random bits that these are made of.
    drawing_bytes = 8 * rank * model.factor_elements
    return members * (drawing_bytes + (rank * model.factor_elements + model.vector_elements) * model.number_bytes)


def even_batch_size(members: int, max_members: int) -> int:
    """Return how many members, at most `max_members`, answer together, in turns of nearly equal size."""
    turns = -(-members // max_members)
    return -(-members // turns)


def _rounded(rows: int) -> int:
    return -(-rows // GRAIN) * GRAIN
