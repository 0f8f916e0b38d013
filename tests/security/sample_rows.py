"""Rows in the database for a caller: a member's own rows, and a private experiment of another user."""

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
"""A text in all rows of the private experiment, and nowhere else."""
STEP = 5


@dataclass(frozen=True)
class SampleRows:
    """A caller, the headers with their token, and the existing rows, by parameter."""

    caller: User
    headers: dict[str, str]
    uids: list[str]
    keys: list[str]
    experiments: list[int]
    views: list[int]
    tokens: list[int]
    meetings: list[Meeting]

    def valid_values(self, path: str) -> dict[str, list[str] | list[int]]:
        """Return the values of the path's parameters that name existing rows."""
        kind = path.split("/")[3]
        rows = {"experiments": self.experiments, "views": self.views, "tokens": self.tokens}
        for name in ("tournament", "assignment", "invitation"):
            rows[f"{name}s"] = [getattr(meeting_rows, name).pk for meeting_rows in self.meetings]
        return {"uid": self.uids, "key": self.keys, "step": [STEP, 0], "pk": rows.get(kind, [])}


def make_sample_rows() -> SampleRows:
    """Create the rows, and a caller who is a member.

    The token has the scope admin: it has all rights of its user, and no more.
    """
    caller = User.objects.create(username="caller")
    access.give_role(User.objects.create(username="keeper"), "admin")
    own = Experiment.objects.create(name="Concise", owner=caller)
    hidden = make_hidden_experiment(User.objects.create(username="other"))
    running, failed = full_runs.make_run(own, "es-micro"), full_runs.make_run(own, "es-micro", state="failed")
    full_runs.record(running, full_runs.a_bit_of_everything((0, STEP)))
    checkpoint_files.save(running, STEP)
    view = SavedView.objects.create(name="Mine", owner=caller, page="experiments")
    meetings = [meeting(caller, own), meeting(hidden.owner, hidden, SECRET, is_private=True)]
    token, text = access.issue(caller, "admin")
    runs = [running, failed, *hidden.runs.all()]
    return SampleRows(
        caller=caller, headers={"Authorization": f"Bearer {text}"}, uids=[run.uid for run in runs],
        keys=[attempt.key for run in runs for attempt in run.attempts.all()],
        experiments=[own.pk, hidden.pk], views=[view.pk, hidden.saved_views.get().pk], tokens=[token.pk],
        meetings=meetings,
    )  # fmt: skip


def make_hidden_experiment(owner: User) -> Experiment:
    """Create a private experiment with a run and a view that its owner shares. All of them contain SECRET."""
    hidden = Experiment.objects.create(name=SECRET, question=SECRET, note=SECRET, owner=owner, is_private=True)
    run = full_runs.make_run(hidden, "es-micro")
    Run.objects.filter(pk=run.pk).update(name=SECRET, note=SECRET, tags=[SECRET])
    full_runs.record(run, [attempt_records.answer(0, SECRET, prompt=SECRET, prompt_id=SECRET)])
    SavedView.objects.create(name=SECRET, owner=owner, page="experiment", experiment=hidden, is_shared=True)
    return hidden


def headers_for_role(sample: SampleRows, role: str) -> dict[str, str]:
    """Give the caller that role and return their headers. Before the first call the caller is a member."""
    if role == ANONYMOUS:
        return {}
    if role != "member":
        access.give_role(sample.caller, role)
    return sample.headers
