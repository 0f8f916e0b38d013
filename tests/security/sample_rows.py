"""What stands in the database when somebody calls: things of the member's, and a private experiment of another's."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User

from runs import access
from runs.models import Experiment, Run, SavedView
from tests.judging.sample_tournament import Meeting, meeting
from tests.runs import attempt_records, checkpoint_files, full_runs

ANONYMOUS = "anonymous"
ROLES = (ANONYMOUS, "viewer", "member", "admin")
SECRET = "zq7hidden"
"""Stands in everything of the private experiment, and nowhere else."""
STEP = 5


@dataclass(frozen=True)
class Stage:
    """Somebody who calls, the headers with their token, and what is there to be asked for, by parameter."""

    caller: User
    headers: dict[str, str]
    uids: list[str]
    keys: list[str]
    experiments: list[int]
    views: list[int]
    tokens: list[int]
    meetings: list[Meeting]

    def fits(self, path: str) -> dict[str, list[str] | list[int]]:
        """Values of the path's parameters that lead to something."""
        kind = path.split("/")[3]
        rows = {"experiments": self.experiments, "views": self.views, "tokens": self.tokens}
        for name in ("tournament", "assignment", "invitation"):
            rows[f"{name}s"] = [getattr(one, name).pk for one in self.meetings]
        return {"uid": self.uids, "key": self.keys, "step": [STEP, 0], "pk": rows.get(kind, [])}


def set_up() -> Stage:
    """Make what is there to be asked for, and a caller who is a member.

    Their token has the scope admin: it does all that the person may do, and no more.
    """
    caller = User.objects.create(username="caller")
    access.give_role(User.objects.create(username="keeper"), "admin")
    own = Experiment.objects.create(name="Concise", owner=caller)
    hidden = hide(User.objects.create(username="other"))
    going, ended = full_runs.make_run(own, "es-micro"), full_runs.make_run(own, "es-micro", state="failed")
    full_runs.record(going, full_runs.a_bit_of_everything((0, STEP)))
    checkpoint_files.save(going, STEP)
    view = SavedView.objects.create(name="Mine", owner=caller, page="experiments")
    meetings = [meeting(caller, own), meeting(hidden.owner, hidden, SECRET, is_private=True)]
    token, text = access.issue(caller, "admin")
    runs = [going, ended, *hidden.runs.all()]
    return Stage(
        caller=caller, headers={"Authorization": f"Bearer {text}"}, uids=[run.uid for run in runs],
        keys=[attempt.key for run in runs for attempt in run.attempts.all()],
        experiments=[own.pk, hidden.pk], views=[view.pk, hidden.saved_views.get().pk], tokens=[token.pk],
        meetings=meetings,
    )  # fmt: skip


def hide(owner: User) -> Experiment:
    """A private experiment with a run and a view that its owner shares. All of it is marked."""
    hidden = Experiment.objects.create(name=SECRET, question=SECRET, note=SECRET, owner=owner, is_private=True)
    run = full_runs.make_run(hidden, "es-micro")
    Run.objects.filter(pk=run.pk).update(name=SECRET, note=SECRET, tags=[SECRET])
    full_runs.record(run, [attempt_records.answer(0, SECRET, prompt=SECRET, prompt_id=SECRET)])
    SavedView.objects.create(name=SECRET, owner=owner, page="experiment", experiment=hidden, is_shared=True)
    return hidden


def headers_of(stage: Stage, role: str) -> dict[str, str]:
    """Return what the caller sends in that role, which is theirs from now on. Before they are a member."""
    if role == ANONYMOUS:
        return {}
    if role != "member":
        access.give_role(stage.caller, role)
    return stage.headers
