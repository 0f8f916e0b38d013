"""Table of a run's ratings on leaderboards, as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from judging.boards import DEFAULT_SETTINGS
from judging.boards.format import format_ranks
from judging.viewer_integration.views import LeaderboardEntry, list_leaderboard_entries
from runs.charts import Table
from runs.http import FILES, SignedIn, require_choice, table_response, visible_run

BOUNDS = ("value", "low", "high")


@require_safe
def run_ratings_table(request: SignedIn, uid: str) -> HttpResponse:
    """Return the ratings of a run on leaderboards that the user may see, as a file. Raise UnknownChoice for an unknown
    `as`."""
    run = visible_run(request, uid)
    form = require_choice(request, "as", FILES, FILES[0])
    entries = list_leaderboard_entries(request.user, run)
    table = _csv_table(entries) if form == "csv" else _latex_table(entries)
    return table_response(request, table, f"{run.name} ratings", _notes(run.uid, entries))


def _csv_table(entries: Sequence[LeaderboardEntry]) -> Table:
    """Return a row for each leaderboard with all digits. `number` is the tournament's, whose name may repeat."""
    heads = (
        "tournament", "number", "step", "criterion", *(f"rating {bound}" for bound in BOUNDS),
        "rank_from", "rank_to", "rank_of", "votes", *(f"win rate {bound}" for bound in BOUNDS),
    )  # fmt: skip
    rows = [
        (
            entry.contestant.tournament.name, entry.contestant.tournament_id, entry.contestant.step,
            entry.rubric.criterion.slug, *_rating(entry), *(entry.ranks or (None, None)),
            entry.group_size or None, entry.votes, *_win_rate(entry),
        )
        for entry in entries
    ]  # fmt: skip
    return Table(heads, tuple(rows))


def _latex_table(entries: Sequence[LeaderboardEntry]) -> Table:
    """Return a row for each leaderboard, with ratings in whole Elo points, and win rates if a rating is missing."""
    has_unrated = any(entry.rating is None and entry.win_rate for entry in entries)
    heads = (
        gettext("Leaderboard"), gettext("Step"), gettext("Criterion"),
        *(f"{gettext('Rating')} {bound}" for bound in BOUNDS), gettext("Rank"), gettext("Votes"),
        *([gettext("Win rate")] if has_unrated else []),
    )  # fmt: skip
    rows = [
        (
            entry.contestant.tournament.name, entry.contestant.step, str(entry.rubric),
            *(None if points is None else float(round(points)) for points in _rating(entry)), _rank_text(entry),
            entry.votes, *([_win_rate_text(entry)] if has_unrated else []),
        )
        for entry in entries
    ]  # fmt: skip
    return Table(heads, tuple(rows))


def _win_rate_text(entry: LeaderboardEntry) -> str | None:
    return None if entry.win_rate is None else entry.win_rate.whole_text


def _win_rate(entry: LeaderboardEntry) -> list[float | None]:
    rate = entry.win_rate
    return [None, None, None] if rate is None else [rate.value, rate.low, rate.high]


def _rating(entry: LeaderboardEntry) -> list[float | None]:
    return [(entry.rating or {}).get(bound) for bound in BOUNDS]


def _rank_text(entry: LeaderboardEntry) -> str | None:
    if not entry.ranks:
        return None
    return gettext("%(ranks)s of %(n)s") % {"ranks": format_ranks(list(entry.ranks)), "n": entry.group_size}


def _notes(uid: str, entries: Sequence[LeaderboardEntry]) -> list[str]:
    """Return the lines that state the run, the estimator, and the leaderboards with their hashes."""
    settings = DEFAULT_SETTINGS
    snapshots = [entry.snapshot for entry in entries if entry.snapshot is not None]
    return [
        f"Ratings of run {uid} on {len(entries)} leaderboards, comparable only within a tournament",
        f"Bradley-Terry strengths on the Elo scale, ties as half wins; {100 * settings.level:g} % Student's t"
        f" intervals, clustered by {settings.unit}; mean {settings.init:g}",
        *(f"tournament {snapshot.tournament_id}: n = {snapshot.votes} verdicts, hash {snapshot.digest}"
          for snapshot in snapshots),
    ]  # fmt: skip
