"""Environments of attempts for their pages; and their code and packages, as files that reproduce the environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import FileResponse, Http404, HttpResponse
from django.views.decorators.http import require_safe

from runs import launching
from runs.compare import Difference, RanOn, differences, in_words, ran_on
from runs.http import SignedIn, visible_run
from runs.models import Attempt


@dataclass(frozen=True)
class EnvironmentRow:
    """Attempt and its environment.

    `before` is the number of the newest earlier attempt that has reported one, and `otherwise` describes what differs.
    """

    attempt: Attempt
    ran: RanOn
    before: int | None = None
    otherwise: str = ""


def told(attempts: Sequence[Attempt]) -> list[EnvironmentRow]:
    """Return one run's attempts, the newest first, each compared with the newest earlier one that has reported.

    One query.
    """
    found = ran_on(attempts)
    return [_told(one, [earlier for earlier in found[n + 1 :] if earlier.told]) for n, one in enumerate(found)]


@require_safe
def attempt_packages(request: SignedIn, uid: str, n: int) -> HttpResponse:
    """Send the installed packages as requirements that pip reads.

    Raise Http404 if the attempt has not reported them.
    """
    (ran,) = ran_on([_attempt(request, uid, n)])
    if ran.told is None:
        raise Http404("This attempt has not said what is installed where it ran.")
    lines = "".join(f"{name}=={version}\n" for name, version in sorted(ran.packages.items()))
    answer = HttpResponse(lines, content_type="text/plain; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{uid}-a{n}-requirements.txt"'
    return answer


@require_safe
def attempt_code(request: SignedIn, uid: str, n: int) -> FileResponse:
    """Send the code that was pinned, as a file that unpacks itself. Raise Http404 if it is not here."""
    path = launching.kept_bundle(_attempt(request, uid, n))
    if path is None:
        raise Http404("The code of this attempt is not kept here.")
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type="application/zip")


def _told(one: RanOn, earlier: Sequence[RanOn]) -> EnvironmentRow:
    if one.told is None or not earlier:
        return EnvironmentRow(one.attempt, one)
    found: list[Difference] = differences(one, earlier[0])
    return EnvironmentRow(one.attempt, one, earlier[0].attempt.n, in_words(found))


def _attempt(request: SignedIn, uid: str, n: int) -> Attempt:
    attempt = visible_run(request, uid).attempts.filter(n=n).first()
    if attempt is None:
        raise Http404(f"This run has no attempt {n}.")
    return attempt
