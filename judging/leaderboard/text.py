"""A report as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from judging.agreement import Estimate, Pair
from judging.leaderboard.report import ORDERS, Online, Report
from judging.ratings import ELO_PER_NAT, POSITION, UNITS, Adjusted, Range, Standing
from judging.ratings.goodness import COIN
from judging.ratings.groups import Rated, order
from judging.ratings.intervals import standard_errors
from judging.ratings.standings import difference

NONE = "–"
METHODS = {
    "half-win": "Bradley–Terry, a tie is half a win for each",
    "davidson": "Davidson, ties have a strength of their own (not the scale of half-win ratings)",
}


def text(report: Report, pairs: bool = False) -> str:
    """Title, board, and what stands beside it; every pair too where asked for."""
    parts = [_title(report), _board(report), _pairs(report) if pairs else "", _notes(report), _judges(report)]
    if isinstance(report.controlled, Adjusted):
        parts.append(_controlled(report, report.controlled))
    elif report.controlled:
        parts.append(f"Not controlled: {report.controlled}")
    if report.online:
        parts.append(_online(report, report.online))
    return "\n\n".join(part for part in parts if part)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads; the first to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) if not k else cell.rjust(width) for k, (cell, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in [head, *rows])
    ]
    return "\n".join(line.rstrip() for line in lines)


def _title(report: Report) -> str:
    tally, asked = report.board.tally, report.board.asked
    counted = f"{tally.counted} of {tally.votes} judgments count"
    missing = ", ".join(f"{count} {name}" for name, count in tally.missing.items() if count)
    size = f"{_many(tally.prompts, 'prompt')}, {_many(tally.annotators, 'judge')}"
    rates = f"{tally.tie_rate:.1%} ties ({tally.both_bad_rate:.1%} both bad)"
    how = asked.resampling
    return "\n".join(
        [
            f"{report.criterion or '(no criterion)'}: {counted}{f' ({missing})' if missing else ''}; {size}; {rates}",
            f"{METHODS[asked.ties]}. {asked.level:.0%} intervals: {how.resamples} resamples of {UNITS[how.unit]}, "
            f"seed {how.seed}.",
            *report.board.sentences,
        ]
    )


def _board(report: Report) -> str:
    anchor, several = report.board.asked.anchor, len(report.board.groups) > 1
    head = ["contestant", *(["group"] if several else []), "rating", "interval"]
    head += [*([f"{anchor} = {report.board.asked.init:g}", "interval"] if anchor else [])]
    head += ["votes", "won", "lost", "tied", "P(best)", "rank", "ahead of the next by"]
    return table(head, [_row(one, bool(anchor), several) for one in report.board.standings])


def _row(one: Standing, has_anchor: bool, several: bool) -> list[str]:
    ranks = one.rank_range
    rank = NONE if ranks is None else f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]}–{ranks[1]}"
    counts = (one.record.votes, one.record.wins, one.record.losses, one.record.ties)
    return [
        one.contestant, *([str(one.group)] if several else []), *_range(one.rating),
        *(_range(one.anchored) if has_anchor else []), *(f"{count:g}" for count in counts),
        NONE if one.p_first is None else f"{one.p_first:.3f}", rank,
        NONE if one.ahead is None else " ".join(cell for cell in _range(one.ahead.by, "+") if cell),
    ]  # fmt: skip


def _range(one: Range | None, sign: str = "") -> list[str]:
    if one is None:
        return [NONE, ""]
    between = "" if one.low is None or one.high is None else f"[{one.low:{sign}.0f}, {one.high:{sign}.0f}]"
    return [f"{one.value:{sign}.0f}", between]


def _pairs(report: Report) -> str:
    """Every two of a group, the better one first; shares are of those who met."""
    head = ["pair", "apart by", "interval", "won", "interval", "of", "tied", "both bad"]
    rows = [
        _pair(report, group, one, other)
        for group in report.board.groups
        for one, other in combinations(order(group), 2)
    ]
    return table(head, rows) if rows else ""


def _pair(report: Report, group: Rated, one: int, other: int) -> list[str]:
    i, j = group.members[one], group.members[other]
    found, share = report.matrix, report.matrix.share[i, j]
    low, high = found.interval.low[i, j], found.interval.high[i, j]
    return [
        f"{report.contestants[i]} over {report.contestants[j]}", *_range(difference(group, one, other), "+"),
        *([NONE, ""] if np.isnan(share) else [f"{share:.1%}", f"[{low:.1%}, {high:.1%}]"]),
        *(f"{counts[i, j]:g}" for counts in (found.games, found.ties, found.both_bad)),
    ]  # fmt: skip


def _notes(report: Report) -> str:
    return "\n".join(_noted(report))


def _noted(report: Report) -> Iterator[str]:
    share, swaps = report.slot_share, report.swaps
    if share.value is not None:
        yield f"Who stood first won {_percent(share)} of decided comparisons."
    if swaps.consistent is not None:
        first, second = swaps.slots
        yield (
            f"{_many(len(swaps.games), 'pair')} judged both ways round: {swaps.consistent:.1%} alike; "
            f"{first:g} went to the first slot both times, {second:g} to the second."
        )
    if report.misfit:
        worst = report.misfit
        yield (
            f"Least well explained: {worst.contestant} against {worst.other}, {worst.errors:+.1f} standard errors from "
            "what their ratings say."
        )
    if report.held_out:
        yield f"Log loss on held-out prompts: {report.held_out.log_loss:.3f} nats (a coin: {COIN:.3f})."
    if report.triples.all:
        yield f"{report.triples.cyclic} of {_many(report.triples.all, 'triple')} beat each other in a circle."
    if report.raters:
        alpha = report.raters.alpha_nominal
        yield f"Judges agree with α = {_number(alpha)} on {_many(report.raters.items, 'comparison')}."


def _judges(report: Report) -> str:
    """Every two judges; what they call ties stands beside, as no κ can be read without."""
    head = ["judges", "alike", "of", "without ties", "κ", "interval", "ties of each"]
    rows = [[" and ".join(pair.raters), *_agreed(pair)] for pair in report.pairs]
    return table(head, rows) if rows else ""


def _agreed(pair: Pair) -> list[str]:
    ties = " and ".join(f"{rate:.0%}" for rate in pair.tie_rates)
    return [_share(pair.raw), str(pair.items), _share(pair.without_ties), *_kappa(pair.kappa), ties]


def _share(one: Estimate) -> str:
    return "n/a" if one.value is None else f"{one.value:.1%}"


def _kappa(one: Estimate) -> list[str]:
    if one.value is None:
        return ["n/a", ""]
    return [f"{one.value:.3f}", "" if one.low is None else f"[{one.low:.3f}, {one.high:.3f}]"]


def _controlled(report: Report, found: Adjusted) -> str:
    effects = [
        f"{name}: {effect.value * ELO_PER_NAT:+.0f} ± {effect.error * ELO_PER_NAT:.0f} Elo "
        + ("for standing first" if name == POSITION else "for one standard deviation")
        for name, effect in found.effects.items()
    ]
    said = f"Controlled for {', '.join(found.effects)}, over {found.votes} votes ({found.left_out} say nothing of it):"
    rating = report.board.asked.init + ELO_PER_NAT * found.theta
    error = ELO_PER_NAT * standard_errors(found.covariance)
    best = [int(k) for k in np.argsort(-rating, kind="stable")]
    rows = [[report.contestants[k], f"{rating[k]:.0f}", f"± {error[k]:.0f}"] for k in best]
    return "\n".join([said, *effects, table(["contestant", "rating", "error"], rows)])


def _online(report: Report, online: Online) -> str:
    elo, orders = online.elo, online.orders
    order = "file order" if elo.shuffle is None else f"shuffled with seed {elo.shuffle}"
    said = (
        f"Online Elo, K = {elo.k:g}, {order}; over {ORDERS} other orders of the same votes, {orders.kept:.0%} of which "
        "rank everybody as their mean does:"
    )
    best = [int(k) for k in np.argsort(-online.single, kind="stable")]
    columns = (online.single, orders.mean, orders.sd, orders.spread)
    rows = [[report.contestants[k], *(f"{column[k]:.0f}" for column in columns)] for k in best]
    return "\n".join([said, table(["contestant", "this order", "mean", "sd", "spread"], rows)])


def _percent(one: Estimate) -> str:
    if one.value is None:
        return one.why
    return f"{one.value:.1%}" + ("" if one.low is None else f" [{one.low:.1%}, {one.high:.1%}]")


def _number(one: Estimate) -> str:
    if one.value is None:
        return one.why
    return f"{one.value:.3f}" + ("" if one.low is None else f" [{one.low:.3f}, {one.high:.3f}]")


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
