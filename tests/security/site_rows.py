"""The rows, records, log files and checkpoints of a plan, each with the mark of its experiment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from unittest import mock

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import access, models
from runs.access import Scope, link_text, share_links
from runs.labels.commands import Decision, save_label
from runs.models import checkpoint_folder
from runs.models.label import digest_of
from tests.runs import checkpoint_files, full_runs
from tests.runs.attempt_records import answer
from tests.security.expected_access import Caller
from tests.security.site_plans import Link, Plan
from workers.records import Alert, Checkpoint, Metric, Status

STEP = 5


def mark(experiment: int) -> str:
    """Return a word that is in all rows of this experiment, and nowhere else."""
    return f"zq{experiment}marked"


@dataclass(frozen=True)
class Site:
    """The rows, with the indices that they have in the plan, and the texts of tokens and links."""

    plan: Plan
    people: list[User]
    experiments: list[models.Experiment]
    runs: list[models.Run]
    views: list[models.SavedView]
    tokens: list[str]
    links: list[str]

    def client(self, caller: Caller) -> Client:
        """Return the caller's browser, or script."""
        if caller.token is not None:
            text = self.tokens[self.plan.tokens.index(caller.token)]
            return Client(headers={"authorization": f"Bearer {text}"})
        client = Client()
        if caller.person is not None:
            client.force_login(self.people[caller.person])
        return client


def build_site(plan: Plan) -> Site:
    """Create all rows as public rows of members; then hide and delete them and set roles, as planned."""
    people = [User.objects.create(username=f"person{n}", password=f"!{n}") for n in range(len(plan.people))]
    experiments = [_experiment(n, people[e.owner]) for n, e in enumerate(plan.experiments)]
    runs = [_run(n, experiments[r.experiment], people[r.maker], plan) for n, r in enumerate(plan.runs)]
    site = Site(plan, people, experiments, runs, _views(plan, people, experiments), [], [])
    site.tokens.extend(_token(site, n) for n in range(len(plan.tokens)))
    site.links.extend(_link(site, link) for link in plan.links)
    _apply_final_states(site)
    return site


def _experiment(n: int, owner: User) -> models.Experiment:
    word = mark(n)
    experiment = models.Experiment.objects.create(name=word, question=word, note=word, tags=[word], owner=owner)
    _label_set(experiment, word, owner)
    return experiment


def _label_set(experiment: models.Experiment, word: str, owner: User) -> None:
    """Create a label set and a labelled response; both have the number of the experiment."""
    label_set = models.LabelSet.objects.create(
        id=experiment.pk, experiment=experiment, name=word, codebook=1, readers=1, created_by=owner
    )
    item = models.LabelItem.objects.create(
        id=experiment.pk, label_set=label_set, digest=digest_of(word, word), question=word, response=word
    )
    save_label(item, owner, Decision("right", (), word))


def _run(n: int, experiment: models.Experiment, maker: User, plan: Plan) -> models.Run:
    word = mark(plan.runs[n].experiment)
    run = full_runs.make_run(experiment, "es-micro", seed=n)
    run.name, run.note, run.tags, run.created_by = f"{word} {n}", word, [word], maker
    run.save()
    attempt = run.attempts.get()
    folder = checkpoint_folder(attempt.directory, STEP)
    checkpoint_files.fill(folder)
    (attempt.directory / "log.txt").write_text(word)
    response = answer(STEP, word, prompt=word, prompt_id=word, target=word)
    measured = [full_runs.evaluation(STEP, -1.0), Metric(STEP, {word: 1.0})]
    saved = Checkpoint(STEP, f"checkpoints/{folder.name}", len(checkpoint_files.WEIGHTS) + 2, "ab" * 32)
    full_runs.record(run, [Status("training", word, 0.5), *measured, response, saved, Alert("warning", word, 1)])
    state = plan.runs[n].state
    ended = None if state in ("running", "queued") else timezone.now()
    run.attempts.update(state=state, reason=word, ended_at=ended)
    return run


def _views(plan: Plan, people: list[User], experiments: list[models.Experiment]) -> list[models.SavedView]:
    views = []
    for n, view in enumerate(plan.views):
        experiment = None if view.experiment is None else experiments[view.experiment]
        name = f"view {n}" if view.experiment is None else f"{mark(view.experiment)} view {n}"
        page = "experiments" if experiment is None else "experiment"
        row = {
            "owner": people[view.owner],
            "name": name,
            "page": page,
            "experiment": experiment,
            "is_shared": view.shared,
        }
        views.append(models.SavedView.objects.create(**row))
    return views


def _token(site: Site, n: int) -> str:
    planned = site.plan.tokens[n]
    bound = site.runs[planned.run] if planned.scope == "ingest" else None
    person = site.people[planned.person]
    # The right to issue it has its own test; the holder of a run's token may have lost every right to the run since.
    with mock.patch("runs.access.tokens.may_change_run", return_value=True):
        token, text = access.issue(person, planned.scope, name=f"token {n}", run=bound)
    if planned.expired:
        models.ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    return text


def _link(site: Site, link: Link) -> str:
    scope = Scope.RUN if len(link.runs) == 1 else Scope.COMPARE
    created_at = timezone.now() - (timedelta(days=8) if link.expired else timedelta(minutes=1))
    with mock.patch.object(share_links.timezone, "now", return_value=created_at):
        return link_text(site.people[link.person], scope, [site.runs[run].uid for run in link.runs], "week")


def _apply_final_states(site: Site) -> None:
    now = timezone.now()
    shelves: dict[str, dict[str, object]] = {
        "current": {},
        "archived": {"archived_at": now},
        "bin": {"deleted_at": now},
    }
    for run, planned in zip(site.runs, site.plan.runs, strict=True):
        models.Run.objects.filter(pk=run.pk).update(state=planned.state, **shelves[planned.shelf])
    for experiment, planned in zip(site.experiments, site.plan.experiments, strict=True):
        change = {"is_private": planned.private, **shelves[planned.shelf]}
        models.Experiment.objects.filter(pk=experiment.pk).update(**change)
    for person, planned_person in zip(site.people, site.plan.people, strict=True):
        access.give_role(person, planned_person.role)
        if planned_person.links_revoked:
            share_links.revoke_all_links(person)
        User.objects.filter(pk=person.pk).update(is_active=planned_person.active)
