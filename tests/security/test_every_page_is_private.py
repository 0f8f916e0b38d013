"""Every page and operation states that only its reader may cache it. `test_private_pages` has a smaller twin."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.esweb.row_of_each_kind import OneOfEach
from tests.esweb.test_unknown_parameters_are_refused import rows
from tests.runs import checkpoint_files
from tests.security.conftest import module_runs_dir, open_connection
from tests.security.test_private_pages import is_private

__all__ = ["module_runs_dir", "open_connection", "rows"]


@pytest.mark.soak
@pytest.mark.usefixtures("open_connection")
def test_every_page_and_operation_is_private(rows: OneOfEach) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(rows.person)
    shown, others = 0, list[str]()
    for route, address in rows.addresses():
        response = client.get(address)
        if response.streaming:
            checkpoint_files.close(response)
        # The texts of scripts are the same for every reader of a language.
        if route not in ("logout", "script-words") and not is_private(response):
            others.append(f"{route}: {response.headers.get('Cache-Control')}; {response.headers.get('Vary')}")
        shown += response.status_code == 200
    assert others == []
    assert shown > 100
