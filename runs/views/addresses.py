"""What an open page shows is a URL: after htmx has swapped a part in, the address bar names that part."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import parse_qs, urlencode, urlsplit

from runs.models import Run
from runs.views.parameters import SignedIn


def run_address(request: SignedIn, run: Run, names: Collection[str], chosen: Mapping[str, object]) -> str:
    """The run page's own address, with what was `chosen` of the parameters `names`; its others stay as they are."""
    before = parse_qs(urlsplit(request.htmx.current_url or "").query)
    others = {name: values[-1] for name, values in before.items() if name not in names}
    query = urlencode({**others, **chosen})
    return f"{run.get_absolute_url()}{'?' if query else ''}{query}"
