"""Diagnostics of a board as text: position, agreement, fit, controls, online Elo."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from judging.boards.report.cells import count_noun, estimate_cells, format_table, number_text, percent_text, share_text
from judging.boards.report.report import ORDERS, Report
from judging.stats.agreement import Pair
from judging.stats.ratings import ELO_PER_NAT, POSITION, ControlledRatings
from judging.stats.ratings.goodness_of_fit import COIN_LOG_LOSS
from judging.stats.ratings.intervals import standard_errors


def notes_text(report: Report) -> str:
    """Return one line for each reason to doubt the board."""
    return "\n".join(_note_lines(report))


def _note_lines(report: Report) -> Iterator[str]:
    slot, swaps = report.slot_share, report.swaps
    if slot.value is not None:
        yield f"The first response won {percent_text(slot)} of decided comparisons."
    if swaps.consistent is not None:
        first, second = swaps.slots
        yield (
            f"{count_noun(len(swaps.games), 'pair')} judged in both orders: {swaps.consistent:.1%} with the same "
            f"verdict; {first:g} won by the first position both times, {second:g} by the second."
        )
    if report.misfit:
        worst = report.misfit
        yield (
            f"Worst fit: {worst.contestant} against {worst.other}, {worst.errors:+.1f} standard errors from "
            "what their ratings predict."
        )
    if report.held_out:
        yield f"Log loss on held-out prompts: {report.held_out.log_loss:.3f} nats (a coin: {COIN_LOG_LOSS:.3f})."
    if report.triples.all:
        yield f"{report.triples.cyclic} of {count_noun(report.triples.all, 'triple')} are cyclic."
    if report.most_informative_pair:
        yield "The most informative next vote is between {} and {}.".format(*report.most_informative_pair)
    if report.raters:
        alpha = report.raters.alpha_nominal
        yield f"Judges agree with α = {number_text(alpha)} on {count_noun(report.raters.items, 'comparison')}."


def judges_table(report: Report) -> str:
    """Return a table of all pairs of judges, with their tie rates, which are needed to interpret κ."""
    head = ["judges", "alike", "of", "without ties", "κ", "interval", "ties of each"]
    rows = [[" and ".join(pair.raters), *_agreement_cells(pair)] for pair in report.pairs]
    return format_table(head, rows) if rows else ""


def _agreement_cells(pair: Pair) -> list[str]:
    ties = " and ".join(f"{rate:.0%}" for rate in pair.tie_rates)
    return [share_text(pair.raw), str(pair.items), share_text(pair.without_ties), *estimate_cells(pair.kappa), ties]


def controlled_text(report: Report) -> str:
    """Return the ratings with the controls' effects removed, or the reason why there are none."""
    controlled = report.controlled
    if not isinstance(controlled, ControlledRatings):
        return f"Not controlled: {controlled}" if controlled else ""
    effects = [
        f"{name}: {effect.value * ELO_PER_NAT:+.0f} ± {effect.error * ELO_PER_NAT:.0f} Elo "
        + ("for being first" if name == POSITION else "for one standard deviation")
        for name, effect in controlled.effects.items()
    ]
    title = (
        f"Controlled for {', '.join(controlled.effects)}, ties as half wins, over {controlled.votes} votes "
        f"({controlled.left_out} lack this information):"
    )
    rating = report.board.options.init + ELO_PER_NAT * controlled.theta
    error = ELO_PER_NAT * standard_errors(controlled.covariance)
    best = [int(k) for k in np.argsort(-rating, kind="stable")]
    rows = [[report.contestants[k], f"{rating[k]:.0f}", f"± {error[k]:.0f}"] for k in best]
    return "\n".join([title, *effects, format_table(["contestant", "rating", "error"], rows)])


def online_elo_text(report: Report) -> str:
    """Return the table of online Elo in one order, with the statistics of other orders."""
    online = report.online
    if online is None:
        return ""
    elo, orders = online.elo, online.orders
    order = "file order" if elo.shuffle is None else f"shuffled with seed {elo.shuffle}"
    title = (
        f"Online Elo, K = {elo.k:g}, {order}; over {ORDERS} other orders of the same votes, {orders.kept:.0%} of which "
        "rank all contestants as their mean does:"
    )
    best = [int(k) for k in np.argsort(-online.single, kind="stable")]
    columns = (online.single, orders.mean, orders.sd, orders.spread)
    rows = [[report.contestants[k], *(f"{column[k]:.0f}" for column in columns)] for k in best]
    return "\n".join([title, format_table(["contestant", "this order", "mean", "sd", "spread"], rows)])
