"""Every page of the site, by a name and its address."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse

from esweb.middleware.fragments import PAGES as FRAGMENTS
from judging.models import Judge, Tournament
from runs.access import Scope, link_text
from runs.models import Experiment, LabelItem, Run
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.runs.labels.label_cases import items_of, label, make_set
from tests.security.random_requests import POSTED

GROUPED = "?group=recipe&group=state"
COLUMNS = "?" + "&".join(
    f"col={key}"
    for key in (
        "state", "tag", "note", "created", "by", "recipe", "preset", "model.path", "task.name", "es.sigma", "es.alpha",
        "es.population", "reward/mean.min", "reward/mean.max", "kl.max", "time",
    )
)  # fmt: skip
STATUSES = {
    "the address of nothing": 404,
    "somebody's private experiment": 404,
    "editing what is another's": 403,
    "people, not for members": 403,
}
"""Pages that are errors on purpose, with their status."""
FOR_ADMINISTRATORS = {
    "people",
    "thresholds of the site",
    "clusters",
    "cluster",
    "cluster, new",
    "secrets",
    "folders of the server",
}
FILES = {
    "attempt-code", "attempt-log-file", "attempt-packages", "compare-table", "costs-table", "evaluations-table",
    "experiment-table", "label-file", "probes-table", "run-audit-table", "run-evaluations-table", "run-log-file",
    "experiment-export-file", "run-export-file", "run-ratings-table",
    "sweep-table", "tournament-board-file", "tournament-file", "viewer-export",
}  # fmt: skip
PARTS_WITHOUT_PAGE = {
    "run-checkpoint", "run-past", "run-reward-and-gold", "run-state", "tournament-panels", "viewer-response",
    "script-words",
}  # fmt: skip
"""What scripts and htmx fetch, besides fragments that lead to their page."""
REDIRECTS = {"saved-view", "settings", "sign-in", "vote-link"}
NO_PAGES = {*FRAGMENTS, *POSTED, *FILES, *PARTS_WITHOUT_PAGE, *REDIRECTS, "health"}
"""Names of routes that no page has."""


def all_pages(ada: User, bo: User, experiment: Experiment) -> dict[str, str]:
    """Return page name -> address; pages of runs and of a tournament only if there are any."""
    return {
        **pages_of_experiments(experiment, ada, bo),
        **pages_of_runs(ada, experiment.runs.order_by("pk")),
        **pages_of_site(),
        **pages_of_judging(ada),
    }


def pages_of_experiments(experiment: Experiment, ada: User, bo: User) -> dict[str, str]:
    address, compare = experiment.get_absolute_url(), reverse("compare")
    hidden = Experiment.objects.get_or_create(name="Secret", owner=bo, is_private=True)[0]
    foreign = Experiment.objects.get_or_create(name="Bo's", owner=bo)[0]
    item = _labelled_item(ada)
    return {
        "home": "/", "home, mine, a week": "/?whose=mine&since=7d", "experiments": reverse("experiments"),
        "experiments, archived": f"{reverse('experiments')}?shelf=archived", "experiment": address,
        "experiment, grouped": address + GROUPED, "experiment, many columns": address + COLUMNS,
        "experiment, nothing fits": f"{address}?q=seed:-1", "experiment, wrong query": f"{address}?q=nosuch:1",
        "experiment, edited": reverse("experiment-edit", args=[experiment.pk]),
        "thresholds": reverse("experiment-flags", args=[experiment.pk]),
        "launch": reverse("launch", args=[experiment.pk]),
        "compare, none": compare, "compare, many": f"{compare}?experiment={experiment.pk}&show=all",
        "share": f"{reverse('share')}?page=experiment&experiment={experiment.pk}",
        "shared experiment": reverse("shared", args=[link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day")]),
        "λ, none": reverse("experiment-lambda", args=[experiment.pk]),
        "evaluations": reverse("evaluations", args=[experiment.pk]),
        "experiment, export": reverse("experiment-export", args=[experiment.pk]),
        "probes": reverse("probes", args=[experiment.pk]),
        "label sets": reverse("label-sets"), "label sets, none": reverse("experiment-labels", args=[experiment.pk]),
        "label set, new": reverse("label-set-new", args=[item.label_set.experiment_id]),
        "labels, import": reverse("labels-import", args=[experiment.pk]),
        "label set": f"{item.label_set.get_absolute_url()}?show=all", "label, decision": item.get_absolute_url(),
        "label": reverse("label-next", args=[item.label_set_id]),
        "sweep": experiment.sweeps.get().get_absolute_url(),
        "somebody's private experiment": hidden.get_absolute_url(),
        "editing what is another's": reverse("experiment-edit", args=[foreign.pk]),
    }  # fmt: skip


def _labelled_item(ada: User) -> LabelItem:
    """Return a labelled response of a set of its own."""
    experiment, is_new = Experiment.objects.get_or_create(name="Labelled", owner=ada)
    if is_new:
        label(items_of(make_set(experiment, readers=1))[0], ada, "right", "echo")
    return LabelItem.objects.filter(labels__isnull=False).select_related("label_set")[0]


def pages_of_runs(ada: User, runs: QuerySet[Run]) -> dict[str, str]:
    first, *others = runs.filter(deleted_at__isnull=True)[:2] or [None]
    if first is None:
        return {}
    pages = {
        **run_pages("run", first), "run, edited": reverse("run-edit", args=[first.uid]),
        "run, export": reverse("run-export", args=[first.uid]),
        "launch, clone": f"{reverse('launch', args=[first.experiment_id])}?clone={first.uid}",
        "launch, evaluate": f"{reverse('launch', args=[first.experiment_id])}?evaluate={first.uid}",
        "launch, probe": f"{reverse('launch', args=[first.experiment_id])}?probe={first.uid}",
        "launch, audit": f"{reverse('launch', args=[first.experiment_id])}?audit={first.uid}",
        "side by side": f"{reverse('viewer')}?run={first.uid}&run={first.uid}@0&diff=pinned&q=a&samples=all",
        "shared run": reverse("shared", args=[link_text(ada, Scope.RUN, [first.uid], "day")]),
        "external run": Run.objects.get(external__isnull=False).get_absolute_url(),
        "audit": Run.objects.get(experiment__name="Audited").get_absolute_url(),
        "collapse": reverse("run-collapse", args=[first.uid]), "scores": reverse("run-scores", args=[first.uid]),
        "completions": reverse("run-completions", args=[first.uid]),
        "time machine": f"{reverse('time-machine', args=[first.response_set.first().prompt.word])}?run={first.uid}",
        "tournament of a run, new": f"{reverse('tournament-new')}?run={first.uid}",
    }  # fmt: skip
    if not others:
        return pages
    compare = f"{reverse('compare')}?run={first.uid}&run={others[0].uid}"
    return {**pages, **run_pages("run, waiting", others[0]), "compare, two": compare}


def run_pages(name: str, run: Run) -> dict[str, str]:
    """Return the address of each tab of a run's page."""
    tabs = ("curves", "responses", "weights", "log", "config", "checkpoints")
    return {
        name: run.get_absolute_url(),
        **{f"{name}, {tab}": reverse(f"run-{tab}", args=[run.uid]) for tab in tabs},
    }


def drawn_pages(experiment: Experiment) -> dict[str, str]:
    """Create two runs with records of every kind, and return pages on which charts draw them."""
    pair = [make_run(experiment, name, 0, "succeeded") for name in ("es-tiny", "grpo-tiny")]
    for run in pair:
        record(run, a_bit_of_everything())
    both = f"?run={pair[0].uid}&run={pair[1].uid}"
    link = link_text(experiment.owner, Scope.COMPARE, [run.uid for run in pair], "day")
    return {
        "compare, drawn": reverse("compare") + both, "compare, grouped": f"{reverse('compare')}{both}&group=method",
        "compare, every setting": f"{reverse('compare')}{both}&config=everything&smooth=0.6&key=x&y=log",
        "viewer": reverse("viewer") + both, "curves, drawn": reverse("run-curves", args=[pair[0].uid]),
        "shared comparison, drawn": reverse("shared", args=[link]),
    }  # fmt: skip


def pages_of_site() -> dict[str, str]:
    return {
        "queue": reverse("queue"), "costs": f"{reverse('costs')}?by=experiment&since=all",
        "disk space": reverse("storage"),
        "services": reverse("services"), "side by side, none": reverse("viewer"), "import": reverse("import"),
        "import of an experiment": reverse("experiment-import"),
        "folders of the server": reverse("import-folders"),
        "views": reverse("saved-views"), "bin": reverse("bin"), "tokens": reverse("settings-tokens"),
        "password": reverse("settings-password"), "people": reverse("settings-people"),
        "clusters": reverse("settings-clusters"), "cluster, new": reverse("settings-cluster-new"),
        "cluster": reverse("settings-cluster", args=["local"]), "secrets": reverse("settings-secrets"),
        "thresholds of the site": reverse("settings-flags"),
        "people, not for members": reverse("settings-people"), "API docs": reverse("api-docs"),
        "the address of nothing": "/nosuch/", "a used invitation": reverse("invitation", args=["MQ", "x-y"]),
    }  # fmt: skip


def pages_of_judging(ada: User) -> dict[str, str]:
    pages = {
        "tournaments": reverse("tournaments"), "tournament, new": reverse("tournament-new"),
        "criteria": reverse("criteria"), "gold sets": reverse("gold-sets"), "judges": reverse("judges"),
        "judge, new": reverse("judge-new"), "import of judgments": reverse("judgments-import"),
    }  # fmt: skip
    tournament = Tournament.objects.filter(name="Which is better?").first()
    if tournament is None:
        return pages
    judge = Judge.objects.filter(owner=ada).order_by("pk").first()
    return pages | {
        "criterion": reverse("criterion", args=["helpfulness"]), "rubric": reverse("rubric", args=["helpfulness", 1]),
        "judge": reverse("judge", args=[judge.pk]), "judge, edited": reverse("judge-edit", args=[judge.pk]),
        **{
            name: reverse(name, args=[tournament.pk])
            for name in (
                "tournament", "tournament-board", "tournament-board-history", "tournament-files", "tournament-judges",
                "vote",
            )
        },
    }  # fmt: skip
