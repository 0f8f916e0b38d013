"""The members that answer together on GPUs, and the memory of a run that has not started yet."""

from __future__ import annotations

from workers.config import EsConfig
from workers.memory_plan.plan import LANES, MemoryPlan, ModelSizes, members_at_once, plan_memory


def batch_members(model: ModelSizes, es: EsConfig, *, rows: int, prompts: int, card: int, engines: int) -> int:
    """Return the members of a batch on a card of so many bytes, or in an engine's share of one.

    An engine's share is one batch. Without es.refill, a batch has as many members as the run's rows hold, each with
    `prompts` prompts.
    """
    if es.refill:
        members = -(-es.population // engines)
    elif es.lora is None and es.noise != "low_rank":
        # Each member has weights and rows of its own, so that those beside it change no bit of its answers.
        members = LANES
    else:
        members = max(1, rows // prompts)
    return min(members, members_at_once(model, es, card), es.population)


def plan_new_run(
    model: ModelSizes, es: EsConfig, *, prompts: int, longest_prompt: int, card: int, engines: int
) -> MemoryPlan:
    """Return the plan of a run that starts now, each of its engines on a card, or a share of one, of so many bytes.

    `prompts` are those of one iteration, the longest of `longest_prompt` tokens. Raise CardTooSmall.
    """
    # Without refilling, the rows decide how many members a batch has, so that they are chosen for all members.
    share = -(-es.population // engines) if es.refill else es.population
    members = min(share, members_at_once(model, es, card))
    first = plan_memory(model, es, prompts=prompts, longest_prompt=longest_prompt, card=card, members=members)
    if es.refill:
        return first
    members = batch_members(model, es, rows=first.rows, prompts=prompts, card=card, engines=engines)
    return plan_memory(
        model, es, prompts=prompts, longest_prompt=longest_prompt, card=card, members=members, rows=first.rows
    )
