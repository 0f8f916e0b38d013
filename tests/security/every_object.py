"""One private object of every kind that an address names, all of one owner, and the addresses of all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from judging.boards import save_board
from judging.models import Criterion, Tournament
from judging.voting.invitations import create_invitations, get_voter
from judging.voting.turns import hand_out_turns
from runs import access
from runs.access import Scope, link_text
from runs.accounts.sign_in_links import link_for
from runs.launching.budgets import set_limit
from runs.models import (
    Attempt,
    Cluster,
    Experiment,
    Flag,
    LabelSet,
    LineStyle,
    Rebuild,
    Run,
    SavedView,
    Scoring,
    ServerFolder,
)
from runs.responses.collapse.tasks import measure_collapse
from runs.service_registry.api import EXAMPLE
from runs.service_registry.commands import Registration, register
from tests.browser.filled_site import make_run_sweep
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.sample_tournament import meeting
from tests.judging.synthetic_votes import make_random_votes
from tests.runs import checkpoint_files, environments, full_runs
from tests.runs.attempt_records import answer
from tests.runs.labels.label_cases import items_of, label, make_set
from tests.runs.probe_runs import make_probe_run, record_norms, reward_line
from workers.code.bundle import bundle_path

STEP = 5
SECRET = "zq8private"
"""A text in the names of all these objects, and nowhere else."""
OF_TRASH = {"run-restore", "restore_run"}
"""Routes that find only runs in the trash."""
PARAMETER = re.compile(r"[<{](?:\w+:)?(\w+)[>}]")
Names: TypeAlias = Mapping[tuple[str, str], object]
"""(the word before a parameter in an address, the parameter) -> its value."""


def make_every_object(owner: User) -> Names:
    """Create a private experiment with all that belongs to it, and the owner's other objects."""
    experiment = Experiment.objects.create(name=SECRET, question=SECRET, owner=owner, is_private=True)
    run = full_runs.make_run(experiment, "es-micro", state="succeeded")
    Run.objects.filter(pk=run.pk).update(name=SECRET)
    private_answers = [answer(step, SECRET, prompt=SECRET, prompt_id=SECRET) for step in (0, STEP)]
    full_runs.record(run, [*full_runs.a_bit_of_everything((0, STEP)), *private_answers])
    checkpoint_files.save(run, STEP)
    measure_collapse()
    names = {
        **_names_of_run(run),
        **_names_of_jobs(run),
        **_names_of_labels(owner, experiment),
        **_names_of_judging(owner, experiment),
        **_names_of_site(owner),
    }
    make_run_sweep(experiment, [])
    probe = make_probe_run(experiment, [run])
    record_norms(probe, run)
    full_runs.record(probe, [reward_line(run, run)])
    LineStyle.objects.create(experiment=experiment, dimension="recipe", identity=SECRET, method="es", variant=1)
    view = SavedView.objects.create(owner=owner, name=SECRET, page="experiment", experiment=experiment)
    return names | {
        ("experiments", "pk"): experiment.pk, ("sweeps", "pk"): experiment.sweeps.get().pk,
        ("line-styles", "pk"): experiment.line_styles.get().pk, ("views", "pk"): view.pk,
        ("limits", "pk"): set_limit(kind="cpu", period="all", hours=5.0, experiment=experiment).pk,
    }  # fmt: skip


def page_addresses(names: Names) -> dict[str, str]:
    """Return route -> address of the pages with parameters, but the admin's."""
    return {
        name: path_of(name, template, names)
        for name, template in _templates(get_resolver().url_patterns, "/", "")
        if "<" in template and not name.startswith(("admin:", "api:"))
    }


def path_of(name: str, template: str, names: Names) -> str:
    """Return the template with a value for each parameter. Raise KeyError for one that names nothing here yet."""
    if name in OF_TRASH:
        names = {**names, ("runs", "uid"): names["bin", "uid"]}
    filled: list[str] = []
    for segment in template.split("/"):
        parameter = PARAMETER.fullmatch(segment)
        filled.append(str(names[filled[-1], parameter[1]]) if parameter else segment)
    return "/".join(filled)


def _names_of_run(run: Run) -> Names:
    attempt = environments.report_environment(run.attempts.get())
    pinned = {"sha256": "ab" * 32, "commit": "", "version": "1.0", "changed": False}
    code = bundle_path(settings.DATA_DIR / "code", "ab" * 32)
    code.parent.mkdir(parents=True, exist_ok=True)
    code.write_bytes(b"PK")
    Attempt.objects.filter(pk=attempt.pk).update(code=pinned)
    (attempt.directory / "log.txt").write_text(SECRET)
    flag = Flag.objects.create(
        run=run, detector="empty", step=STEP, first_step=0, value=1.0, limit=0.1, n=2, detected_at=timezone.now()
    )
    scoring = Scoring.objects.create(run=run, scorer="beaver", asked_by=run.created_by, state="failed")
    digest = run.response_set.filter(text=SECRET)[0].prompt.word
    return {
        ("runs", "uid"): run.uid, ("checkpoints", "step"): STEP, ("attempts", "n"): 1,
        ("attempts", "key"): attempt.key, ("flags", "pk"): flag.pk, ("flags", "detector"): flag.detector,
        ("scores", "pk"): scoring.pk, ("scorings", "id"): scoring.pk, ("responses", "step"): STEP,
        (str(STEP), "digest"): digest, ("prompts", "digest"): digest,
    }  # fmt: skip


def _names_of_jobs(run: Run) -> Names:
    """Create a rebuild that runs, a run that waits, and one in the trash."""
    Rebuild.objects.create(
        run=run, step=STEP, asked_by=run.created_by, state="created", key="rebuild", cluster=run.attempts.get().cluster
    )
    waiting = full_runs.make_run(run.experiment, "es-micro", seed=1, state="created")
    thrown = full_runs.make_run(run.experiment, "es-micro", seed=2, state="failed")
    Run.objects.filter(pk=thrown.pk).update(deleted_at=timezone.now())
    return {("queue", "uid"): waiting.uid, ("bin", "uid"): thrown.uid}


def _names_of_labels(owner: User, experiment: Experiment) -> Names:
    item = items_of(make_set(experiment, (SECRET,), readers=1))[0]
    LabelSet.objects.update(name=SECRET)
    label(item, owner, "right")
    return {
        ("labels", "pk"): item.label_set_id, ("label-sets", "pk"): item.label_set_id, ("items", "item"): item.pk,
    }  # fmt: skip


def _names_of_judging(owner: User, experiment: Experiment) -> Names:
    rows = meeting(owner, experiment, SECRET, is_private=True)
    tournament = rows.tournament
    Tournament.objects.filter(pk=tournament.pk).update(closed_at=None)
    rubric = tournament.rubrics.order_by("pk")[0]
    Criterion.objects.filter(owner=None).update(owner=owner)
    save_board(tournament, rubric)
    cast(tournament, rubric, first_votes(make_random_votes(4, contestants=2, prompts=1)))
    save_board(tournament, rubric)
    voter = get_voter(owner, {}, tournament.pk)
    assert voter is not None
    turn = hand_out_turns(voter, count=1)[0]
    ((_, link),) = create_invitations(tournament, owner, ["Dee"])
    return {
        ("judging", "pk"): tournament.pk, ("tournaments", "pk"): tournament.pk, ("vote", "pk"): tournament.pk,
        ("judges", "pk"): rows.judge.pk, ("assignments", "pk"): rows.assignment.pk,
        ("invitations", "pk"): rows.invitation.pk, ("invitations", "n"): rows.invitation.pk,
        ("criteria", "slug"): rubric.criterion.slug, (rubric.criterion.slug, "version"): rubric.version,
        ("turns", "n"): turn.pk, ("link", "text"): link, ("files", "form"): "setup",
    }  # fmt: skip


def _names_of_site(owner: User) -> Names:
    register(owner, Registration("scorer", SECRET, EXAMPLE["instance"], "http://127.0.0.1:9", "/health"))
    token, _ = access.issue(owner, "read", name=SECRET)
    secret = access.save_secret(owner, SECRET, "a-token-of-a-scorer")
    public = full_runs.make_run(Experiment.objects.create(name="Shared", owner=owner))
    full_runs.record(public, full_runs.a_bit_of_everything())
    uid = urlsafe_base64_encode(force_bytes(owner.pk))
    local = Cluster.objects.get(name="local")
    folder = ServerFolder.objects.create(cluster=local, path=f"/{SECRET}", person=owner, next_look_at=None)
    return {
        ("folders", "pk"): folder.pk,
        ("tokens", "pk"): token.pk, ("secrets", "pk"): secret.pk, ("people", "pk"): owner.pk,
        ("services", "kind"): "scorer", ("scorer", "name"): SECRET, ("of", "name"): "local",
        ("clusters", "name"): "local", ("presets", "name"): "es-micro",
        ("shared", "text"): link_text(owner, Scope.COMPARE, [public.uid], "day"),
        ("sign-in", "token"): link_for(owner).rstrip("/").rpartition("/")[2],
        ("invitation", "uidb64"): uid, (uid, "token"): default_token_generator.make_token(owner),
    }  # fmt: skip


def _templates(patterns: list[URLPattern | URLResolver], before: str, space: str) -> Iterator[tuple[str, str]]:
    """Yield (route, its address with <parameters>) of one level, and of those below it."""
    for pattern in patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _templates(
                pattern.url_patterns, address, f"{pattern.namespace}:" if pattern.namespace else space
            )
        else:
            yield f"{space}{pattern.name}", address
