"""Environments of attempts for their pages; and their code and packages, as files that reproduce the environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import FileResponse, Http404, HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs import launching
from runs.compare import (
    AttemptEnvironment,
    Difference,
    describe_differences,
    environment_differences,
    load_environments,
)
from runs.http import SignedIn, visible_run
from runs.launching.budgets import Resources
from runs.models import Attempt


@dataclass(frozen=True)
class EnvironmentRow:
    """Attempt and its environment.

    `before` is the number of the newest earlier attempt that has reported one, and `otherwise` describes what differs.
    """

    attempt: Attempt
    environment: AttemptEnvironment
    before: int | None = None
    otherwise: str = ""

    @property
    def gpus(self) -> str:
        """Return the attempt's GPUs as text, such as "2 × NVIDIA H100", or "0.25 of 1 × NVIDIA H100"."""
        share = self._resources.gpu_share
        if share is None or share >= 1 or not self.environment.devices:
            return self.environment.gpus
        return gettext("%(share)s of %(gpus)s") % {"share": f"{share:g}", "gpus": self.environment.gpus}

    @property
    def sharing(self) -> str:
        """Return a sentence about the GPU that the attempt shares; empty for whole ones, or none."""
        return self._resources.sharing

    @property
    def _resources(self) -> Resources:
        return launching.resources_of(self.attempt.run.config, self.attempt)


def environment_rows(attempts: Sequence[Attempt]) -> list[EnvironmentRow]:
    """Return one run's attempts, the newest first, each compared with the newest earlier one that has reported.

    One query.
    """
    environments = load_environments(attempts)
    return [
        _environment_row(environment, [earlier for earlier in environments[n + 1 :] if earlier.facts])
        for n, environment in enumerate(environments)
    ]


@require_safe
def attempt_packages(request: SignedIn, uid: str, n: int) -> HttpResponse:
    """Send the installed packages as requirements that pip reads.

    Raise Http404 if the attempt has not reported them.
    """
    (environment,) = load_environments([_attempt(request, uid, n)])
    if environment.facts is None:
        raise Http404("This attempt has not reported its installed packages.")
    lines = "".join(f"{name}=={version}\n" for name, version in sorted(environment.packages.items()))
    response = HttpResponse(lines, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{uid}-a{n}-requirements.txt"'
    return response


@require_safe
def attempt_code(request: SignedIn, uid: str, n: int) -> FileResponse:
    """Send the code that was pinned, as a file that unpacks itself. Raise Http404 if it is not here."""
    path = launching.bundle_file(_attempt(request, uid, n))
    if path is None:
        raise Http404("The code of this attempt is not stored here.")
    return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type="application/zip")


def _environment_row(environment: AttemptEnvironment, earlier: Sequence[AttemptEnvironment]) -> EnvironmentRow:
    if environment.facts is None or not earlier:
        return EnvironmentRow(environment.attempt, environment)
    differences: list[Difference] = environment_differences(environment, earlier[0])
    return EnvironmentRow(environment.attempt, environment, earlier[0].attempt.n, describe_differences(differences))


def _attempt(request: SignedIn, uid: str, n: int) -> Attempt:
    attempt = visible_run(request, uid).attempts.filter(n=n).first()
    if attempt is None:
        raise Http404(f"This run has no attempt {n}.")
    return attempt
