"""API of audits of rewards."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from ninja import Schema

from runs.http import ApiRequest, Number, Output, Uid, get_run, needs, router
from runs.models import RewardAttack, Run
from runs.reward_audits.queries import (
    BLIND_SPOTS,
    EXPLOITABILITY,
    SKIPPED,
    UNEARNED,
    AuditResult,
    find_audit,
    read_audit,
)
from workers.config import ConfigError

NUMBERS = (
    "reward", "low", "high", "right_reward", "baseline", "way", "way_low", "way_high",
)  # fmt: skip
COUNTS = ("n", "scaled", "variants", "known", "right", "hits", "beats", "failed")


class FigureOut(Schema):
    """A figure with its 95 % interval."""

    value: Number
    low: Number | None = None
    high: Number | None = None


class AttackExampleOut(Schema):
    """A response with its reward, and the reward of the right answer; null where it is not known."""

    prompt_id: str
    prompt: str
    response: str
    reward: Number
    right_reward: Number | None = None
    is_right: bool | None = None


class RewardAttackOut(Output):
    """Result of an attack over `n` prompts. `way`: share of the way from the honest baseline to the right answer's
    reward, over `scaled` prompts; on `hits` of them a wrong response gets at least 90 % of it. `right` of `known`
    responses are right; on `beats` prompts a wrong one earns more than the right answer. `failed` prompts have no
    reward. `verdict` is control, exploit, blind-spot, partial, harmless or unknown; `needs` is nothing, length,
    candidates, answer or model. `response` is the best of the `variants`, if it is the same to all prompts."""

    name: str
    needs: str
    verdict: str
    n: int
    reward: Number | None = None
    low: Number | None = None
    high: Number | None = None
    right_reward: Number | None = None
    baseline: Number | None = None
    way: Number | None = None
    way_low: Number | None = None
    way_high: Number | None = None
    scaled: int = 0
    variants: int = 1
    known: int = 0
    right: int = 0
    hits: int = 0
    beats: int = 0
    failed: int = 0
    failure: str = ""
    response: str = ""
    examples: list[AttackExampleOut]


class RewardAuditOut(Schema):
    """Results of the audit `run`. The figures are null until it is complete, and if the right answer's reward is not
    known. `exploitability`: the largest share of hits of attacks without the right answer. `blind_spots`: of attacks
    with it. `unearned`: the largest `way` without it. `skipped`: attacks that the time limit left out."""

    run: str
    state: str
    is_complete: bool
    exploitability: FigureOut | None = None
    blind_spots: FigureOut | None = None
    unearned: FigureOut | None = None
    skipped: int = 0
    attacks: list[RewardAttackOut]


@router.get(
    "/runs/{uid}/reward-audit", response=RewardAuditOut, auth=needs("read"), tags=["runs"],
    summary="Read an audit of the reward",
)  # fmt: skip
def read_reward_audit(request: ApiRequest, uid: Uid) -> RewardAuditOut:
    """Return the results of an audit, the worst attacks first; of another run, those of the newest audit of the same
    task with the same options.

    The reply is 404 if that task has no audit that you may see. While the audit runs, the list grows."""
    result = read_audit(_audit_of(get_run(request.auth, uid), request))
    figures = {name: _figure(result, key) for name, key in
               (("exploitability", EXPLOITABILITY), ("blind_spots", BLIND_SPOTS), ("unearned", UNEARNED))}  # fmt: skip
    return RewardAuditOut(
        run=result.run.uid, state=result.run.state, is_complete=result.is_complete, **figures,
        skipped=int(result.values.get(SKIPPED, 0)), attacks=[_attack(attack) for attack in result.ranked],
    )  # fmt: skip


def _audit_of(run: Run, request: ApiRequest) -> Run:
    if run.kind.has_attack_results:
        return run
    try:
        audit = find_audit(run.run_config.task, request.auth.person) if run.kind.runs_here else None
    except ConfigError:
        audit = None
    if audit is None:
        raise Http404(f"The task of run {run.uid} has no audit that you may see")
    return audit


def _figure(result: AuditResult, key: str) -> FigureOut | None:
    figure = result.figure(key)
    return FigureOut(value=figure.value, low=figure.low, high=figure.high) if figure else None


def _attack(attack: RewardAttack) -> RewardAttackOut:
    values: dict[str, Any] = {name: attack.values.get(name) for name in NUMBERS}
    values |= {name: attack.values.get(name, 0) for name in COUNTS}
    return RewardAttackOut.from_row(attack, **values)
