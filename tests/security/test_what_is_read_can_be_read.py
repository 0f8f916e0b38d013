"""What is drawn from as pages to read answers to reading: an address that is only posted to would tell nothing."""

from __future__ import annotations

import pytest

from tests.runs import checkpoint_files
from tests.security.expected_access import Caller
from tests.security.random_requests import READ, Aim, Request, read
from tests.security.site_plans import Experiment, Link, Person, Plan, Run, Token, View
from tests.security.site_rows import build

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
PLAN = Plan(
    people=(Person("admin", active=True, took_back=False), Person("member", active=True, took_back=False)),
    experiments=(Experiment(1, private=False, shelf="current"), Experiment(0, private=True, shelf="current")),
    runs=(Run(0, 1, "running", "current"), Run(1, 0, "running", "current")),
    views=(View(0, None, shared=False),),
    tokens=(Token(0, "read", 0, expired=False),),
    links=(Link(0, (0,), expired=False),),
)


def test_no_address_that_is_only_posted_to_is_among_those_read() -> None:
    site = build(PLAN)
    client = site.client(Caller(0))
    refused = []
    for name in sorted({*READ[0], *READ[1]}):
        answer = read(client, site, Request(name, Aim(0, 0, 0, 0)))
        checkpoint_files.close(answer)
        if answer.status_code == 405:
            refused.append(name)
    assert refused == [], f"name them in POSTED: {refused}"
