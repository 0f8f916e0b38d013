"""Table of a run's ratings on leaderboards, as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from judging.boards import DEFAULT_SETTINGS
from judging.boards.format import POINTS, WIN_RATES, interval_of
from judging.viewer_integration.views import LeaderboardEntry, list_leaderboard_entries
from runs.http import FILES, SignedIn, require_choice, table_response, visible_run
from runs.tables import Column, Interval, Ranks, Table


@require_safe
def run_ratings_table(request: SignedIn, uid: str) -> HttpResponse:
    """Return the ratings of a run on leaderboards that the user may see, as a file. Raise UnknownChoice for an unknown
    `as`."""
    run = visible_run(request, uid)
    form = require_choice(request, "as", FILES, FILES[0])
    entries = list_leaderboard_entries(request.user, run)
    table = _csv_table(entries) if form == "csv" else _latex_table(entries)
    return table_response(request, table, f"{run.name} ratings", _notes(run.uid, entries))


def _ratings_table(entries: Sequence[LeaderboardEntry]) -> Table:
    """Return a row for each leaderboard. `number` is the tournament's, whose name may repeat."""
    ends = ("value", "low", "high")
    columns = (
        Column("tournament", gettext("Leaderboard"), str), Column("number"), Column("step", gettext("Step")),
        Column("criterion", kind=str), Column("rubric", gettext("Criterion"), str),
        Column("rating", gettext("Rating"), Interval, POINTS),
        Column("ranks", kind=Ranks, parts=("rank_from", "rank_to")), Column("rank_of"), Column("rank", gettext("Rank")),
        Column("votes", gettext("Votes")),
        Column("win_rate", gettext("Win rate"), Interval, WIN_RATES, tuple(f"win rate {end}" for end in ends)),
    )  # fmt: skip
    rows = [
        (
            entry.contestant.tournament.name, entry.contestant.tournament_id, entry.contestant.step,
            entry.rubric.criterion.slug, str(entry.rubric), interval_of(entry.rating),
            Ranks(*entry.ranks) if entry.ranks else None, entry.group_size or None, _rank_text(entry),
            entry.votes, entry.win_rate,
        )
        for entry in entries
    ]  # fmt: skip
    return Table(columns, tuple(rows))


def _csv_table(entries: Sequence[LeaderboardEntry]) -> Table:
    return _ratings_table(entries).select(
        "tournament", "number", "step", "criterion", "rating", "ranks", "rank_of", "votes", "win_rate"
    )


def _latex_table(entries: Sequence[LeaderboardEntry]) -> Table:
    """Return the table for papers, with win rates if a rating is missing."""
    win_rate = ["win_rate"] if any(entry.rating is None and entry.win_rate for entry in entries) else []
    return _ratings_table(entries).select("tournament", "step", "rubric", "rating", "rank", "votes", *win_rate)


def _rank_text(entry: LeaderboardEntry) -> str | None:
    if not entry.ranks:
        return None
    return gettext("%(ranks)s of %(n)s") % {"ranks": Ranks(*entry.ranks), "n": entry.group_size}


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
