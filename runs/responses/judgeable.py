"""Select the runs whose responses can be judged in a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, QuerySet

from runs.access import may_make
from runs.models import EVALUATION, Response, Run
from runs.models.experiment import Person


def judgeable_runs(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return those of the runs of which a tournament can offer responses: it offers the first
    response to a held-out prompt."""
    first_responses = Response.objects.filter(run=OuterRef("pk"), split=EVALUATION, sample=0, is_superseded=False)
    return runs.filter(Exists(first_responses))


def judgeable_uids(uids: Sequence[str], person: Person) -> list[str]:
    """Return the uids of the judgeable ones of these runs, in their order; none if the user may not create tournaments.
    One query."""
    if not uids or not may_make(person):
        return []
    judgeable = set(judgeable_runs(Run.objects.filter(uid__in=uids)).values_list("uid", flat=True))
    return [uid for uid in uids if uid in judgeable]
