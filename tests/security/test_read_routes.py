"""The routes that random reads use accept GET: an address that only accepts POST would test nothing."""

from __future__ import annotations

from unittest import mock

import pytest
from django.template.response import SimpleTemplateResponse

from tests.runs import checkpoint_files
from tests.security.expected_access import Caller
from tests.security.random_requests import READ, Request, Target, read
from tests.security.site_plans import Experiment, Link, Person, Plan, Run, Token, View
from tests.security.site_rows import build_site

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
PLAN = Plan(
    people=(Person("admin", active=True, links_revoked=False), Person("member", active=True, links_revoked=False)),
    experiments=(Experiment(1, private=False, shelf="current"), Experiment(0, private=True, shelf="current")),
    runs=(Run(0, 1, "running", "current"), Run(1, 0, "running", "current")),
    views=(View(0, None, shared=False),),
    tokens=(Token(0, "read", 0, expired=False),),
    links=(Link(0, (0,), expired=False),),
)


def test_read_routes_accept_get() -> None:
    site = build_site(PLAN)
    client = site.client(Caller(0))
    refused = []
    # What a page says does not matter here.
    with mock.patch.object(SimpleTemplateResponse, "rendered_content", ""):
        for name in sorted({*READ[0], *READ[1]}):
            response = read(client, site, Request(name, Target(0, 0, 0, 0)))
            checkpoint_files.close(response)
            if response.status_code == 405:
                refused.append(name)
    assert refused == [], f"name them in POSTED: {refused}"
