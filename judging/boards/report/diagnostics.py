"""What stands beside a board, as text: position, agreement, fit, controls, online Elo."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from judging.boards.report.cells import estimate, many, number, percent, share, table
from judging.boards.report.report import ORDERS, Report
from judging.stats.agreement import Pair
from judging.stats.ratings import ELO_PER_NAT, POSITION, Adjusted
from judging.stats.ratings.goodness_of_fit import COIN
from judging.stats.ratings.intervals import standard_errors


def notes(report: Report) -> str:
    """A line for each thing that the board should be doubted for."""
    return "\n".join(_noted(report))


def _noted(report: Report) -> Iterator[str]:
    slot, swaps = report.slot_share, report.swaps
    if slot.value is not None:
        yield f"Who stood first won {percent(slot)} of decided comparisons."
    if swaps.consistent is not None:
        first, second = swaps.slots
        yield (
            f"{many(len(swaps.games), 'pair')} judged both ways round: {swaps.consistent:.1%} alike; "
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
        yield f"{report.triples.cyclic} of {many(report.triples.all, 'triple')} beat each other in a circle."
    if report.telling:
        yield f"One more vote tells most between {report.telling[0]} and {report.telling[1]}."
    if report.raters:
        alpha = report.raters.alpha_nominal
        yield f"Judges agree with α = {number(alpha)} on {many(report.raters.items, 'comparison')}."


def judges(report: Report) -> str:
    """Every two judges; what they call ties stands beside, as no κ can be read without."""
    head = ["judges", "alike", "of", "without ties", "κ", "interval", "ties of each"]
    rows = [[" and ".join(pair.raters), *_agreed(pair)] for pair in report.pairs]
    return table(head, rows) if rows else ""


def _agreed(pair: Pair) -> list[str]:
    ties = " and ".join(f"{rate:.0%}" for rate in pair.tie_rates)
    return [share(pair.raw), str(pair.items), share(pair.without_ties), *estimate(pair.kappa), ties]


def controlled(report: Report) -> str:
    """Ratings with the controls taken out, or why there are none."""
    found = report.controlled
    if not isinstance(found, Adjusted):
        return f"Not controlled: {found}" if found else ""
    effects = [
        f"{name}: {effect.value * ELO_PER_NAT:+.0f} ± {effect.error * ELO_PER_NAT:.0f} Elo "
        + ("for standing first" if name == POSITION else "for one standard deviation")
        for name, effect in found.effects.items()
    ]
    said = (
        f"Controlled for {', '.join(found.effects)}, ties as half wins, over {found.votes} votes "
        f"({found.left_out} say nothing of it):"
    )
    rating = report.board.asked.init + ELO_PER_NAT * found.theta
    error = ELO_PER_NAT * standard_errors(found.covariance)
    best = [int(k) for k in np.argsort(-rating, kind="stable")]
    rows = [[report.contestants[k], f"{rating[k]:.0f}", f"± {error[k]:.0f}"] for k in best]
    return "\n".join([said, *effects, table(["contestant", "rating", "error"], rows)])


def online_elo(report: Report) -> str:
    """The table of one order, and what other orders say."""
    online = report.online
    if online is None:
        return ""
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
