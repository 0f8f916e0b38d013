"""Which scorers the site calls, and for whom.

A member can register any address. So the site calls only what an admin registered, or what is at a host that an admin
named, and reads a token's file only for the former: else members could have it call, and send, what is not theirs.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext

from runs import registry
from runs.models import Run, Service
from runs.models.experiment import Person
from workers.config.tasks import EMBEDDED
from workers.scorer.client import ScorerClient, ScorerFailed, ScorerRefused
from workers.scorer.embedded import EmbeddedScorer
from workers.scorer.scores import Scorer

KIND = "scorer"
JOB_SECONDS = 40.0
"""Of what a job asks; it is given up after a minute."""


def choices(person: Person, run: Run) -> list[str]:
    """Names of scorers that the site may call for this person now, and of the tiny models where they fit the run."""
    alive = Service.objects.visible_to(person).alive().filter(kind=KIND).select_related("owner").own_first(person)
    names = dict.fromkeys(service.name for service in _firsts(alive) if not why_not(service))
    return [*([EMBEDDED] if _fits_embedded(run) else []), *sorted(names)]


def scorer_of(person: Person, name: str, tries: int = 1, seconds: float = JOB_SECONDS) -> Scorer:
    """The scorer of this name, where it is now, asked so many times within so many seconds. Raises ScorerFailed where
    none lives, ScorerRefused where it is not to be called."""
    if name == EMBEDDED:
        return EmbeddedScorer()
    service = registry.find(person, KIND, name)
    if service is None:
        raise ScorerFailed(gettext("No scorer of the name %(name)s is alive now.") % {"name": name})
    if why := why_not(service):
        raise ScorerRefused(why)
    return ScorerClient(
        service.address,
        token_file=service.token_file,
        tries=tries,
        timeout_seconds=min(seconds, 60.0),
        deadline_seconds=seconds,
    )


def why_not(service: Service) -> str:
    """Why the site does not call a scorer; empty where it does."""
    if service.owner.is_superuser:
        return ""
    host = urlsplit(service.address).hostname or ""
    allowed = [one.strip("[]").lower() for one in settings.SCORER_HOSTS]
    if host not in allowed:
        said = gettext(
            "%(name)s is at %(host)s, which is none of the hosts that this site calls scorers at: %(hosts)s. An admin "
            "may register the scorer, or add the host to ESWEB_SCORER_HOSTS."
        )
        return said % {"name": service.name, "host": host, "hosts": ", ".join(allowed) or gettext("none")}
    if service.token_file:
        said = gettext(
            "%(name)s wants a token, which this site reads for scorers that an admin registered, and no other."
        )
        return said % {"name": service.name}
    return ""


def _fits_embedded(run: Run) -> bool:
    """The tiny models know generated requests, and nothing else."""
    task = run.config.get("task")
    options = task.get("options", {}) if isinstance(task, dict) and task.get("name") == "safety" else None
    return isinstance(options, dict) and not (options.get("train_file") or options.get("eval_file"))


def _firsts(services: Iterable[Service]) -> list[Service]:
    """Of each name the one that would be called."""
    found: dict[str, Service] = {}
    for service in services:
        found.setdefault(service.name, service)
    return list(found.values())
