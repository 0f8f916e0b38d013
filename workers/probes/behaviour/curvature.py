"""Curvature of the loss along the change that a training made, next to that along random directions.

The loss is the mean negative log-likelihood of a response's token, at the tuned weights, over stored greedy responses.
H is its Hessian and v = δ / ‖δ‖ the direction of the change δ = tuned − base, over all parameters, a tied one once.
vᵀHv is computed from one Hessian–vector product, Hv = ∂(∂L/∂θ · v)/∂θ, by differentiating twice (Pearlmutter 1994,
Neural Computation 6(1)). A tensor's part is v_l · (Hv)_l; the parts add up to vᵀHv.

The null are Gaussian directions that have, in each tensor, the norm of v.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from workers.analysis.student_t import prediction_interval
from workers.engines.es.noise import normals
from workers.probes.behaviour.prompted_model import Check, Progress, PromptedModel
from workers.probes.behaviour.seeds import direction_seeds
from workers.probes.behaviour.stored_responses import Continuation, greedy_continuations
from workers.probes.weights import Subject, open_pair
from workers.records import Probe, ProbeValue

NAME = "curvature"
BATCH_TOKENS = 2048
"""Tokens of prompts and responses that are differentiated together; a longer response is a batch of its own."""
Direction = Mapping[str, Tensor]
"""Parameter's name -> its part of a direction, on the model's device and in its precision."""


def curvature(
    model: PromptedModel,
    subject: Subject,
    responses: int,
    draws: int,
    seed: int,
    check: Check,
    progress: Progress | None = None,
    dtype: torch.dtype = torch.float32,
) -> Iterator[Probe]:
    """Yield the measure curvature: of the whole model, and the part of each tensor that has changed.

    It is measured on at most `responses` responses, in a copy of the model in `dtype`; `other` is the step that wrote
    them. A subject without a base model, or without a change, has no direction: a sentence is printed and nothing
    yielded. Raise WeightsDiffer if base and tuned weights are not those of this model, ValueError for fewer than two
    draws, and RewardFailed.
    """
    if subject.base is None:
        print(f"{subject}: no curvature, because its base model is not known", flush=True)
        return
    differentiable, direction = _at_tuned(model, subject.base, subject.tuned, dtype)
    norms = {name: float(part.double().norm()) for name, part in direction.items()}
    if not any(norms.values()):
        print(f"{subject}: no curvature, because its weights equal those of its base model", flush=True)
        return
    source, continuations = greedy_continuations(model, subject, responses)
    # Tensors without a change have no part in the direction.
    changed = {name: norm for name, norm in norms.items() if norm > 0}
    measured = quadratic_form(differentiable, {name: direction[name] for name in changed}, continuations, check)
    random = []
    for number, direction_seed in enumerate(direction_seeds(seed, NAME, draws), start=1):
        if progress:
            progress(f"curvature along random direction {number} of {draws}", number / (draws + 1))
        by_chance = random_direction(differentiable, changed, direction_seed)
        random.append(quadratic_form(differentiable, by_chance, continuations, check))
    tokens = sum(len(continuation.response) for continuation in continuations)
    total = _value("", math.fsum(measured.values()), [math.fsum(parts.values()) for parts in random], tokens)
    values = [_value(name, measured[name], [parts[name] for parts in random], tokens) for name in measured]
    yield Probe(subject.step, NAME, "curvature", str(subject), (total, *values), other=source)


def quadratic_form(
    model: Any,
    direction: Direction,
    continuations: Sequence[Continuation],
    check: Check,
    batch_tokens: int = BATCH_TOKENS,
) -> dict[str, float]:
    """Return v_l · (Hv)_l of each tensor l of the direction v; tensors that are not in it count as zero.

    H is the Hessian of the mean negative log-likelihood per token of the responses. The parameters of the model must
    require gradients. Memory is that of one batch, however many responses there are.
    """
    parameters = {name: p for name, p in model.named_parameters() if name in direction}
    tokens = sum(len(continuation.response) for continuation in continuations)
    parts: dict[str, list[float]] = {name: [] for name in parameters}
    for batch in batches(continuations, batch_tokens):
        check()
        # Of the kernels of attention, only this one can be differentiated twice.
        with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
            loss = negative_log_likelihood(model, batch) / tokens
            gradients = torch.autograd.grad(loss, list(parameters.values()), create_graph=True)
            along = torch.stack([(g * direction[n]).sum() for n, g in zip(parameters, gradients, strict=True)]).sum()
            products = torch.autograd.grad(along, list(parameters.values()), materialize_grads=True)
        for name, product in zip(parameters, products, strict=True):
            parts[name].append(float((direction[name].double() * product.double()).sum()))
    return {name: math.fsum(of_batches) for name, of_batches in parts.items()}


def negative_log_likelihood(model: Any, continuations: Sequence[Continuation]) -> Tensor:
    """Return −log π(response | prompt), summed over all tokens of the responses, in nats; a scalar with a graph."""
    longest = max(len(c.prompt) + len(c.response) for c in continuations)
    # Padded on the right: later tokens cannot change earlier ones, because the models are causal.
    rows = [c.prompt + c.response + [0] * (longest - len(c.prompt) - len(c.response)) for c in continuations]
    ids = torch.tensor(rows, device=next(model.parameters()).device)
    keep = longest - min(len(c.prompt) for c in continuations) + 1
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits
    losses = []
    for row, continuation in enumerate(continuations):
        first, count = len(continuation.prompt), len(continuation.response)
        start = first - 1 - (longest - keep)
        predicted = logits[row, start : start + count].log_softmax(dim=-1)
        losses.append(-predicted.gather(1, ids[row, first : first + count, None]).sum())
    return torch.stack(losses).sum()


def batches(continuations: Sequence[Continuation], batch_tokens: int = BATCH_TOKENS) -> Iterator[list[Continuation]]:
    """Yield the responses in batches of similar length, of at most `batch_tokens` tokens with their padding."""
    batch: list[Continuation] = []
    for continuation in sorted(continuations, key=lambda c: len(c.prompt) + len(c.response)):
        # Sorted upwards, so the newcomer is the longest of the batch.
        length = len(continuation.prompt) + len(continuation.response)
        if batch and (len(batch) + 1) * length > batch_tokens:
            yield batch
            batch = []
        batch.append(continuation)
    if batch:
        yield batch


def _at_tuned(model: PromptedModel, base: Path, tuned: Path, dtype: torch.dtype) -> tuple[Any, Direction]:
    """Return a copy of the model with the tuned weights, whose parameters require gradients, and δ / ‖δ‖; zero for a
    δ of zero. Raise WeightsDiffer."""
    differentiable = copy.deepcopy(model.loaded.model).to(dtype).requires_grad_(True)
    direction: dict[str, Tensor] = {}
    with open_pair(base, tuned) as (before, after, _), torch.no_grad():
        model.check_shapes(before)
        model.check_shapes(after)
        for name, parameter in differentiable.named_parameters():
            parameter.copy_(after.tensor(name))
            direction[name] = (after.tensor(name) - before.tensor(name)).to(parameter)
    norm = math.sqrt(math.fsum(float(part.double().square().sum()) for part in direction.values()))
    return differentiable, {name: part / norm if norm else part for name, part in direction.items()}


def random_direction(model: Any, norms: Mapping[str, float], seed: int) -> Direction:
    """Return a Gaussian direction with these norms of its tensors."""
    direction = {}
    for name, parameter in model.named_parameters():
        if name in norms:
            noise = normals([seed], name, parameter.numel(), parameter.device)[0].view(parameter.shape).to(parameter)
            direction[name] = noise * (norms[name] / float(noise.double().norm()))
    return direction


def _value(tensor: str, value: float, random: Sequence[float], tokens: int) -> ProbeValue:
    low, high = prediction_interval(random)
    return ProbeValue(value, tokens, tensor=tensor, null=fmean(random), null_low=low, null_high=high)
