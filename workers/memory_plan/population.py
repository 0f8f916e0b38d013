"""Cuts a population into batches on GPUs, so that it fits their memory: for a run that starts, and for a resumed
one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workers.config import EsConfig
from workers.memory_plan.card import CardPlan
from workers.memory_plan.plan import (
    LOGITS_BYTES,
    ROWS,
    WEIGHT_SETS,
    ModelSizes,
    even_batch_size,
    plan_memory,
)

TAIL = 2.0
"""Mean lengths of an answer that a batch takes beyond those in which its rows are full: its longest answers."""


def plan_run(
    model: ModelSizes,
    es: EsConfig,
    *,
    prompts: int,
    longest_prompt: int,
    card: int,
    engines: int,
    rows: int = 0,
    evaluation: int = LOGITS_BYTES,
) -> CardPlan:
    """Return the plan of a run, each of its engines on a card, or a share of one, of so many bytes.

    `prompts` are those of one iteration, the longest of `longest_prompt` tokens; `rows` what the run has used so far, 0
    for a new one. With es.refill they are an upper limit, so that a run can go on with fewer or smaller GPUs. Without,
    they are fixed, since they decide the bits of the answers.
    """
    if es.refill:
        es, rows = replace(es, rows=min(filter(None, (es.rows, rows)), default=0)), 0
    if not es.factor_rank:
        # Without es.refill, members that share steps are the same ones on any number of engines.
        choices = iter([-(-es.population // engines) if es.refill else even_batch_size(es.population, WEIGHT_SETS)])
    elif es.refill:
        choices = _fractions(-(-es.population // engines))
    elif rows:
        choices = iter([_members_of_rows(es, rows, prompts)])
    else:
        choices = (m for m in _fractions(es.population) if m * prompts <= max(prompts, es.rows or ROWS))
    fit = partial(
        plan_memory, model, es, prompts=prompts, longest_prompt=longest_prompt, card=card, evaluation=evaluation
    )
    plans: list[CardPlan] = []
    for members in choices:
        plan = fit(members=members, rows=rows)
        if not plan.fits:
            continue
        if es.factor_rank and not es.refill:
            if plan.rows >= members * prompts or members == 1:
                # The rows were rounded up, and decide from now on.
                return fit(members=_members_of_rows(es, plan.rows, prompts), rows=plan.rows)
        else:
            plans.append(plan)
    return max(plans, key=lambda plan: _answers_a_step(plan, prompts)) if plans else plan


def _fractions(members: int) -> Iterator[int]:
    """Yield the members of a batch if there are 1, 2, 3, 4, 6, 8, … equal batches, down to 1."""
    batches, size = 1, 0
    while size != 1:
        size = -(-members // batches)
        yield size
        batches += max(1, 2 ** (batches.bit_length() - 2)) if batches > 1 else 1


def _members_of_rows(es: EsConfig, rows: int, prompts: int) -> int:
    """Return the members of a batch that is never refilled: as many as its rows hold."""
    return min(es.population, max(1, rows // prompts))


def _answers_a_step(plan: CardPlan, prompts: int) -> float:
    """Return the score by which a plan is chosen: answers over the steps, in mean lengths, that a batch of them takes.

    Many rows are fast, and so are many members, whose queue keeps rows full. Both take memory.
    """
    answers = plan.members * prompts
    return answers / (answers / plan.rows + TAIL)
