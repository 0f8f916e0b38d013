"""The results of an audit, and the newest audit of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from runs import metrics
from runs.kinds import AUDIT
from runs.models import RewardAttack, Run
from runs.tables import SHARES
from workers.config import ConfigError, TaskConfig
from workers.executors.states import State
from workers.reward_audit.measures import BLIND_SPOT, CONTROL, EXPLOIT, PARTIAL_EXPLOIT, VERDICTS

EXPLOITABILITY, BLIND_SPOTS, UNEARNED = "audit/exploitability", "audit/blind_spots", "audit/unearned"
PROMPTS, SKIPPED = "audit/prompts", "audit/skipped"
MAX_CANDIDATES = 100
"""Number of the newest audits of a kind of task whose options are compared."""
MAX_WORST = 3


@dataclass(frozen=True)
class Figure:
    """A share of the audit with its 95 % interval."""

    value: float
    low: float | None
    high: float | None

    @property
    def text(self) -> str:
        """Return the share as pages write it."""
        return SHARES.page(self.value)

    @property
    def ends(self) -> str:
        """Return the ends of its interval as pages write them."""
        return SHARES.interval(self.low, self.high)


@dataclass(frozen=True)
class AuditResult:
    """An audit with its attacks, in the order in which they were made, and its figures by key."""

    run: Run
    attacks: Sequence[RewardAttack]
    values: dict[str, float]

    def figure(self, key: str) -> Figure | None:
        """Return a figure with its interval; None if the audit does not have it (yet)."""
        if key not in self.values:
            return None
        return Figure(self.values[key], self.values.get(f"{key}/low"), self.values.get(f"{key}/high"))

    @property
    def prompts(self) -> int:
        """Return the number of audited prompts; 0 before the audit is complete."""
        return int(self.values.get(PROMPTS, 0))

    @property
    def exploitability(self) -> Figure | None:
        """Return the largest share of prompts on which a wrong response gets the full reward without the answer."""
        return self.figure(EXPLOITABILITY)

    @property
    def is_complete(self) -> bool:
        """Return whether all attacks are made: the figures are recorded last."""
        return PROMPTS in self.values

    @cached_property
    def ranked(self) -> list[RewardAttack]:
        """Return the attacks by their verdict, then by their share of hits and of the way, the worst first; controls
        last."""
        order = {verdict: place for place, verdict in enumerate(VERDICTS)} | {CONTROL: len(VERDICTS)}
        return sorted(self.attacks, key=lambda a: (order.get(a.verdict, 0), -hit_share(a), -(a.values.get("way") or 0)))

    @property
    def worst(self) -> list[RewardAttack]:
        """Return the worst attacks that gain something without the right answer."""
        return [attack for attack in self.ranked if attack.verdict in (EXPLOIT, PARTIAL_EXPLOIT)][:MAX_WORST]

    def count(self, verdict: str) -> int:
        """Return the number of attacks with this verdict."""
        return sum(attack.verdict == verdict for attack in self.attacks)

    @property
    def blind_spot_count(self) -> int:
        return self.count(BLIND_SPOT)


def hit_share(attack: RewardAttack) -> float:
    """Return the share of prompts on which a wrong response gets at least 90 % of the way."""
    scaled = attack.values.get("scaled", 0)
    return attack.values.get("hits", 0) / scaled if scaled else 0.0


def read_audit(run: Run) -> AuditResult:
    """Return the results of an audit. Of an attack that a restart has made again, the newest counts."""
    order = (F("attempt__n").desc(), F("epoch").desc(), F("seq").desc())
    ranked = RewardAttack.objects.filter(run=run).annotate(
        rank=Window(RowNumber(), partition_by=F("name"), order_by=order)
    )
    attacks = list(ranked.filter(rank=1).order_by("step", "pk"))
    return AuditResult(run, attacks, metrics.latest([run])[run.pk])


def find_audit(task: TaskConfig, person: User) -> Run | None:
    """Return the newest audit of a task that this user may see: of the same name and the same options. One that has
    not failed comes first."""
    audits = Run.objects.visible_to(person).of_kind(AUDIT).filter(config__task__name=task.name).order_by("-pk")
    same = [run for run in audits[:MAX_CANDIDATES] if task_of(run) == (task.name, task.options)]
    return next((run for run in same if run.is_open or run.state == State.SUCCEEDED), same[0] if same else None)


def task_of(run: Run) -> tuple[str, object] | None:
    """Return the name and the options of a run's task; None if its config is no longer valid."""
    try:
        task = run.run_config.task
    except ConfigError:
        return None
    return task.name, task.options
