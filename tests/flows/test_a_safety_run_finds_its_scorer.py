"""A run names its scorer; the site says where it is, also after it has moved while the run waited."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import access
from tests.workers.scorers import Misbehaving, scorer
from workers.client.registry import Offer, registered
from workers.config import SafetyOptions
from workers.scorer.client import ScorerRefused
from workers.tasks.safety import Safety

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(ada: User, tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(access.issue(ada, "admin")[1] + "\n")
    return path


def named(site: str, token: Path, **options: Any) -> Safety:
    return Safety(SafetyOptions(scorer="beaver", scorer_site=site, scorer_site_token_file=str(token), **options))


def offered(server: Misbehaving) -> Offer:
    return Offer("scorer", "beaver", server.url)


def test_a_scorer_that_moves_while_the_run_waits_is_found_anew(live_server: Any, token: Path) -> None:
    safety = named(live_server.url, token)
    example, whys = safety.examples("eval")[0], []
    with ExitStack() as later:

        def wait(seconds: float, why: str) -> None:
            whys.append(why)
            second = later.enter_context(scorer("fine"))
            later.enter_context(registered(live_server.url, token, offered(second)))

        safety.waits_by(wait)
        with scorer("fine") as first, registered(live_server.url, token, offered(first)):
            here = safety.score(example, "no")
        assert safety.score(example, "no") == here
    assert whys == [f"no scorer of the name beaver is alive on {live_server.url}; asked again in 1 s"]


def test_a_site_that_does_not_let_the_run_in_is_named(live_server: Any, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("esw_nonsense")
    safety = named(live_server.url, tmp_path / "wrong", on_scorer_failure="wait")
    with pytest.raises(ScorerRefused, match="does not say where the scorer beaver is: 401"):
        safety.score(safety.examples("eval")[0], "no")


def test_run_of_a_site_reads_no_token_file_that_an_offer_names(
    live_server: Any, token: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the site's rights, and whoever registered the service chose the path."""
    (tmp_path / "secret").write_text("the-admins-password")
    safety = named(live_server.url, token)
    example = safety.examples("eval")[0]
    with scorer("fine") as server:
        offer = Offer("scorer", "beaver", server.url, token_file=str(tmp_path / "secret"))
        with registered(live_server.url, token, offer):
            safety.score(example, "no")
            monkeypatch.setenv("ESWEB_DATA_PATHS", "")
            safety.score(example, "no")
    assert server.tokens == ["Bearer the-admins-password", None]
