"""Select the runs whose responses can be judged in a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef

from runs.access import may_make
from runs.models import Response, Run
from runs.models.experiment import Person


def judgeable_uids(uids: Sequence[str], person: Person) -> list[str]:
    """Return those of the runs' uids, in their order, of which a tournament can offer responses. One query.

    A tournament offers the first response to each prompt. Return nothing if the user may not create tournaments.
    """
    if not uids or not may_make(person):
        return []
    first_responses = Response.objects.filter(run=OuterRef("pk"), sample=0, is_superseded=False)
    judgeable = set(Run.objects.filter(Exists(first_responses), uid__in=uids).values_list("uid", flat=True))
    return [uid for uid in uids if uid in judgeable]
