"""View of a leaderboard's files: all of it as JSON, and its tables as CSV and LaTeX."""

from __future__ import annotations

from django.http import Http404, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from judging.boards.file_tables import CSV_TABLES, LATEX_TABLES, notes_of
from judging.boards.snapshots import newest_snapshot
from judging.boards.views import BoardAddress, get_board_address
from judging.boards.votes import list_raters
from judging.boards.win_rates import add_win_rates
from judging.models import Snapshot
from runs.http import FILES, SignedIn, require_choice, table_response


@require_safe
def tournament_board_file(request: SignedIn, pk: int) -> HttpResponse:
    """Return what the page shows as a file: `as=json`, all of it; `as=csv` or `as=latex`, the `table` standings, pairs,
    wins, categories, controlled or online. Raise Http404 if the board was never computed."""
    address = get_board_address(request, pk)
    snapshot = newest_snapshot(address.tournament, address.rubric, address.settings)
    if snapshot is None:
        raise Http404("This leaderboard has not been computed.")
    form = require_choice(request, "as", ("json", *FILES), "json")
    if form == "json":
        return _json_file(address, snapshot)
    name = require_choice(request, "table", list(CSV_TABLES), "standings")
    build = CSV_TABLES[name] if form == "csv" else LATEX_TABLES[name]
    return table_response(request, build(snapshot.board), address.file_name(name), notes_of(snapshot, name))


def _json_file(address: BoardAddress, snapshot: Snapshot) -> HttpResponse:
    content = {
        "tournament": address.tournament.name, "criterion": address.criterion, "rubric": str(address.rubric),
        "asked": snapshot.asked, "at": snapshot.at.isoformat(), "votes": snapshot.votes,
        "last_verdict": snapshot.last_verdict, "hash": snapshot.digest, "report": add_win_rates(snapshot.board),
        "from": [rater.to_json() for rater in list_raters(address.tournament, address.rubric, address.settings)],
    }  # fmt: skip
    headers = {"Content-Disposition": f'attachment; filename="{address.file_name("board")}.json"'}
    return JsonResponse(content, headers=headers, json_dumps_params={"ensure_ascii": False})
