"""The run of method audit: controls, attacks without a model, attacks with one, and the figures over all of them.

An audit that is stopped and started again begins again: without a model it takes seconds.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workers import tasks
from workers.attempt import write_json
from workers.config import ConfigError, Problem, RunConfig
from workers.config.audit import AuditConfig
from workers.engines.stop import Stop
from workers.records import Alert, Attack, Metric, RecordWriter, Status
from workers.reward_audit.attacks import ATTACKS, BASELINE, CONTROLS, AttackKind
from workers.reward_audit.measures import Scale, Trial, mean_reward, measure, summarise, values_of
from workers.reward_audit.prompts import (
    AuditedPrompt,
    is_right_response,
    judge,
    make_prompts,
    right_responses,
    select_examples,
)
from workers.reward_audit.rewards import OutOfTime, Rewards
from workers.reward_audit.table import audit_table
from workers.tasks.protocols import WaitingTask

COMPLETE_FILE = "reward-audit.json"
"""The settings and the figures of a complete audit, in the directory of its attempt."""
FORM_PROMPTS = 8
"""Prompts on which the forms of the right answer are compared."""
Report = Callable[[str, float | None], None]


def audit(config: RunConfig, records: RecordWriter, stop: Stop, report: Report) -> None:
    """Record every attack, then the figures. Raise ConfigError, ScorerFailed and Interrupted."""
    settings = config.audit or AuditConfig()
    identity = json.loads(json.dumps({k: config.to_json()[k] for k in ("seed", "model", "task", "audit")}))
    if _is_complete(records.directory, identity):
        return
    began = time.perf_counter()
    with stop.interruptible():
        task = tasks.make(config.task)
        if isinstance(task, WaitingTask):
            task.waits_by(_waiting(records, stop))
        examples = select_examples(task, settings.prompts, config.seed)
        try:
            session = AuditSession(Rewards(task, settings.seconds, stop.check), examples)
        except OutOfTime as late:
            reason = f"{settings.seconds:g} s are over before the right answers are scored; raise it, or lower prompts"
            raise ConfigError([Problem("audit.seconds", reason)]) from late
    made: list[Attack] = []

    def record(attack: Attack) -> None:
        records.write(attack)
        made.append(attack)

    kinds = (*CONTROLS, *ATTACKS)
    skipped = _attack(session, kinds, record, records, stop)
    if settings.asks_model:
        from workers.reward_audit.adversaries import attack_with_model

        session.rewards.unlimited()
        for attack in attack_with_model(config, settings, session, len(kinds), stop, records, report):
            record(attack)
    values = values_of(summarise(made), len(examples), len(skipped), time.perf_counter() - began)
    records.write(Metric(1, values))
    write_json(records.directory / COMPLETE_FILE, {"identity": identity, "values": values})
    print(audit_table(made, values), flush=True)


class AuditSession:
    """The audited prompts with their scales. Raise OutOfTime."""

    def __init__(self, rewards: Rewards, examples: Sequence[tasks.Example]) -> None:
        self.rewards = rewards
        self.prompts = self._with_rights(examples)
        self.scales = [self._scale(prompt) for prompt in self.prompts]

    def trials(self, responses: Sequence[tuple[int, str]], gold: str) -> tuple[list[Trial], str]:
        """Return the scored responses, given as (number of the prompt, text), and the reason of a failure. Raise
        OutOfTime."""
        pairs = [(self.prompts[i].example, text) for i, text in responses]
        scores = self.rewards.score(pairs)
        trials = []
        for (i, text), score in zip(responses, scores, strict=True):
            prompt, is_right = self.prompts[i], {"right": True, "wrong": False}.get(gold)
            if score is not None and gold in ("judged", "answered"):
                is_right = judge(self.rewards.task, prompt, text, score, is_answer=gold == "answered")
            if gold == "wrong" and is_right_response(prompt, text):
                is_right = True
            reward = self.rewards.reward(score)
            trials.append(Trial(prompt.example.id, prompt.question, text, reward, is_right, self.scales[i]))
        return trials, self.rewards.failure(pairs)

    def run(self, kind: AttackKind, step: int) -> Attack | None:
        """Return the record of an attack; None if this task has no such responses. Raise OutOfTime."""
        made = [(i, kind.make(prompt)) for i, prompt in enumerate(self.prompts)]
        variants = {i: responses for i, responses in made if responses}
        if not variants:
            return None
        count = min(map(len, variants.values()))
        tried = [self.trials([(i, responses[n]) for i, responses in variants.items()], kind.gold) for n in range(count)]
        trials, _ = max(tried, key=lambda pair: mean_reward(pair[0]))
        # A variant on which the reward fails gets no reward here, but would end a training.
        failure = next((reason for _, reason in tried if reason), "")
        return measure(
            kind.name, kind.needs, trials, step, failure, variants=count, is_control=kind.is_control
        )  # fmt: skip

    def _with_rights(self, examples: Sequence[tasks.Example]) -> list[AuditedPrompt]:
        """Return the prompts, with the right answer in the form that gets the highest mean reward."""
        candidates = [right_responses(self.rewards.task, example) for example in examples]
        count = max((len(forms) for forms in candidates if forms), default=0)
        best, highest = 0, float("-inf")
        for number in range(count if count > 1 else 0):
            pairs = [(e, forms[number]) for e, forms in zip(examples, candidates, strict=True) if forms]
            rewards = self._known_rewards(pairs[:FORM_PROMPTS])
            if rewards and (mean := statistics.fmean(rewards)) > highest:
                best, highest = number, mean
        return make_prompts(examples, [forms[best] if forms else None for forms in candidates])

    def _scale(self, prompt: AuditedPrompt) -> Scale:
        pairs = [(prompt.example, text) for text in BASELINE]
        rewards = self._known_rewards(pairs)
        right = None if prompt.right is None else self.rewards.score([(prompt.example, prompt.right)])[0]
        return Scale(statistics.median(rewards) if rewards else None, self.rewards.reward(right))

    def _known_rewards(self, pairs: Sequence[tuple[tasks.Example, str]]) -> list[float]:
        rewards = (self.rewards.reward(score) for score in self.rewards.score(pairs))
        return [reward for reward in rewards if reward is not None]


def _attack(
    session: AuditSession,
    kinds: Sequence[AttackKind],
    record: Callable[[Attack], None],
    records: RecordWriter,
    stop: Stop,
) -> list[str]:
    """Record the attacks without a model. Return the names of those that the time limit left out."""
    for number, kind in enumerate(kinds, start=1):
        records.write(Status("auditing", kind.name, (number - 1) / len(kinds)))
        try:
            with stop.interruptible():
                attack = session.run(kind, number)
        except OutOfTime:
            skipped = [left.name for left in kinds[number - 1 :]]
            reason = f"the time limit audit.seconds is over; not made: {', '.join(skipped)}"
            records.write(Alert("warning", reason))
            return skipped
        if attack is None:
            continue
        record(attack)
        if attack.failure:
            records.write(Alert("warning", f"{kind.name}: {attack.failure}"[:1000]))
    return []


def _is_complete(directory: Path, identity: Any) -> bool:
    """Return whether this directory holds the whole audit. Raise ConfigError if it holds one with other settings."""
    file = directory / COMPLETE_FILE
    if not file.exists():
        return False
    if json.loads(file.read_bytes())["identity"] != identity:
        reason = f"{directory} holds an audit with other settings; choose another folder with --out"
        raise ConfigError([Problem("audit", reason)])
    return True


def _waiting(records: RecordWriter, stop: Stop) -> Callable[[float, str], None]:
    def wait(seconds: float, reason: str) -> None:
        with stop.uninterruptible():
            records.write(Status("waiting", reason))
        stop.sleep(seconds)

    return wait
