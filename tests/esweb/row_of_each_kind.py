"""A row of each kind that addresses name, so that every GET route of the site has something to show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from judging.boards import save_board
from judging.models import Snapshot, Tournament, Verdict
from runs.access import Scope, link_text
from runs.models import Experiment, LabelItem, Prompt, Run, SavedView, Sweep
from runs.responses.collapse import tasks
from tests.esweb.test_access_of_routes import routes
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.sample_tournament import Meeting, meeting
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs import checkpoint_files, full_runs
from tests.runs.audit_runs import complete_audit
from tests.runs.evaluation_runs import make_evaluation, record_steps
from tests.runs.labels.label_cases import items_of, label, make_set
from tests.runs.probe_runs import make_probe_run, record_norms, reward_line
from workers.records import Metric

STEP = 5


@dataclass(frozen=True)
class OneOfEach:
    """The rows, and the administrator who owns them."""

    person: User
    experiment: Experiment
    run: Run
    sweep: Sweep
    view: SavedView
    tournament: Tournament
    meeting: Meeting
    share_link: str
    prompt: Prompt
    label_item: LabelItem

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Yield every route as (name, address of one of the rows)."""
        there = {
            "uid": self.run.uid, "key": f"esweb-{self.run.uid}-a1", "n": 1, "step": STEP, "form": "csv",
            "name": "local", "text": self.share_link, "digest": self.prompt.word, "slug": "helpfulness", "version": 1,
            "item": self.label_item.pk,
        }  # fmt: skip
        numbers = {
            "experiments": self.experiment.pk, "sweeps": self.sweep.pk, "views": self.view.pk,
            "judging": self.tournament.pk, "tournaments": self.tournament.pk, "vote": self.tournament.pk,
            "labels": self.label_item.label_set_id, "label-sets": self.label_item.label_set_id,
            "judges": self.meeting.judge.pk, "assignments": self.meeting.assignment.pk,
        }  # fmt: skip
        for name, address in routes({**there, "pk": "~"}):
            kind = re.search(r"([a-z-]+)/~", address)
            yield name, address.replace("~", str(numbers.get(kind[1], 1) if kind else 1))


def make_one_of_each() -> OneOfEach:
    """Write the rows."""
    person = User.objects.create(username="ada", is_staff=True, is_superuser=True)
    experiment = Experiment.objects.create(name="Concise", owner=person)
    run = _ended_run(experiment)
    sweep = Sweep.objects.create(
        experiment=experiment, name="sigmas", base={}, grid={"es.sigma": [0.1]}, seeds=[0], at_once=1, created_by=person
    )
    Run.objects.filter(pk=run.pk).update(sweep=sweep, cell={"es.sigma": 0.1})
    record_steps(make_evaluation(experiment, run), {0: [0, 1], STEP: [1, 2]}, {0: [1], STEP: [0]})
    probe_run = record_norms(make_probe_run(experiment, [run]), run, STEP)
    full_runs.record(probe_run, [reward_line(run, run)])
    complete_audit(experiment)
    tournament = _tournament_with_board(person, experiment)
    label_item = items_of(make_set(Experiment.objects.create(name="Labelled", owner=person), readers=1))[0]
    label(label_item, person, "right")
    return OneOfEach(
        person, experiment, run, sweep,
        view=SavedView.objects.create(name="Mine", owner=person, page="experiments"),
        tournament=tournament, meeting=meeting(person, experiment),
        share_link=link_text(person, Scope.COMPARE, [run.uid], "week"), prompt=run.response_set.all()[0].prompt,
        label_item=label_item,
    )  # fmt: skip


def _ended_run(experiment: Experiment) -> Run:
    run = full_runs.make_run(experiment, "es-micro", state="succeeded")
    measured = [Metric(step, {"lambda": 1.0, "cost/mean": -1.0, "J_C": -1.0}) for step in (0, STEP)]
    full_runs.record(run, [*full_runs.a_bit_of_everything((0, STEP)), *measured])
    checkpoint_files.save(run, STEP)
    attempt = run.attempts.get()
    (attempt.directory / "log.txt").write_text("step 5")
    tasks.measure_collapse()
    return run


def _tournament_with_board(person: User, experiment: Experiment) -> Tournament:
    tournament = make_tournament(person, experiment, prompts=12, contestants=4)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
    save_board(tournament, rubric("helpfulness"))
    Snapshot.objects.update(at=timezone.now() - timedelta(hours=1))
    Verdict.objects.filter(pk=Verdict.objects.latest("pk").pk).update(replaced_at=timezone.now())
    save_board(tournament, rubric("helpfulness"))
    return tournament
