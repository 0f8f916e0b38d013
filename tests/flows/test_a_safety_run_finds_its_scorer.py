"""A run names its scorer; the site returns its address, also after the scorer has moved while the run waited."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import access
from runs.models import Experiment
from tests.runs.full_runs import make_run
from tests.workers.scorers import Misbehaving, scorer
from workers.client.registry import Offer, register_service
from workers.config import SafetyOptions
from workers.scorer.client import ScorerRefused
from workers.tasks.safety import Safety

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(ada: User, tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(access.issue(ada, "admin")[1] + "\n")
    return path


def make_safety_task(site: str, token: Path, **options: Any) -> Safety:
    return Safety(SafetyOptions(scorer="beaver", scorer_site=site, scorer_site_token_file=str(token), **options))


def make_offer(server: Misbehaving) -> Offer:
    return Offer("scorer", "beaver", server.url)


def test_moved_scorer_is_located_again(live_server: Any, token: Path) -> None:
    safety = make_safety_task(live_server.url, token)
    example, reasons = safety.examples("eval")[0], []
    with ExitStack() as stack:

        def wait(seconds: float, reason: str) -> None:
            reasons.append(reason)
            moved = stack.enter_context(scorer("fine"))
            stack.enter_context(register_service(live_server.url, token, make_offer(moved)))

        safety.waits_by(wait)
        with scorer("fine") as server, register_service(live_server.url, token, make_offer(server)):
            score = safety.score(example, "no")
        assert safety.score(example, "no") == score
    assert reasons == [f"no scorer named beaver is alive on {live_server.url}; retrying in 1 s"]


def test_refusing_site_is_named_in_error(live_server: Any, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("esw_nonsense")
    safety = make_safety_task(live_server.url, tmp_path / "wrong", on_scorer_failure="wait")
    with pytest.raises(ScorerRefused, match="did not return the address of the scorer beaver: 401"):
        safety.score(safety.examples("eval")[0], "no")


def test_site_run_ignores_token_file_of_offer(
    live_server: Any, ada: User, token: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has the site's rights, and the user who registered the service chose the path."""
    (tmp_path / "secret").write_text("the-admins-password")
    attempt = make_run(Experiment.objects.create(name="Safe", owner=ada), "es-micro").newest_attempt()
    assert attempt is not None
    (tmp_path / "run-token").write_text(access.issue_run_token(attempt.run, attempt.key))
    safety = make_safety_task(live_server.url, tmp_path / "run-token")
    example = safety.examples("eval")[0]
    with scorer("fine") as server:
        offer = Offer("scorer", "beaver", server.url, token_file=str(tmp_path / "secret"))
        with register_service(live_server.url, token, offer):
            safety.score(example, "no")
            monkeypatch.setenv("ESWEB_DATA_PATHS", "")
            safety.score(example, "no")
    assert server.tokens == ["Bearer the-admins-password", None]
