"""Diagnostics of a board as text: position, agreement, fit, controls, online Elo."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from judging.boards.format import COEFFICIENTS, SHARES, BoardData
from judging.boards.other_estimates import controlled_table, online_table
from judging.boards.report.report import ORDERS, Report
from judging.boards.tables import judge_pairs_table
from judging.stats.agreement import Estimate
from judging.stats.ratings import ELO_PER_NAT, POSITION, ControlledRatings
from judging.stats.ratings.goodness_of_fit import COIN_LOG_LOSS
from runs.tables import table_text


def notes_text(report: Report) -> str:
    """Return one line for each reason to doubt the board."""
    return "\n".join(_note_lines(report))


def _note_lines(report: Report) -> Iterator[str]:
    slot, swaps = report.slot_share, report.swaps
    if slot.value is not None:
        yield f"The first response won {estimate_text(slot, SHARES.text)} of decided comparisons."
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
        alpha = estimate_text(report.raters.alpha_nominal, COEFFICIENTS.text)
        yield f"Judges agree with α = {alpha} on {count_noun(report.raters.items, 'comparison')}."


def judges_text(board: BoardData) -> str:
    """Return a table of all pairs of judges."""
    titles = {"judges": "judges", "alike": "alike", "items": "of", "without_ties": "without ties", "kappa": "κ"}
    return table_text(judge_pairs_table(board["agreement"]["pairs"]).select(**titles, tie_rates="ties of each"))


def controlled_text(report: Report, board: BoardData) -> str:
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
    best = [int(k) for k in np.argsort(-controlled.theta, kind="stable")]
    table = controlled_table(board, best).select(contestant="contestant", controlled_rating="rating", error="error")
    return "\n".join([title, *effects, table_text(table)])


def online_elo_text(report: Report, board: BoardData) -> str:
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
    titles = {"contestant": "contestant", "single": "this order", "mean": "mean", "std": "sd"}
    return "\n".join([title, table_text(online_table(board).select(**titles, spread="spread"))])


def estimate_text(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Return a number with its interval as text, or the reason why there is none."""
    if estimate.value is None:
        return estimate.why
    low, high = estimate.low, estimate.high
    return write(estimate.value) + ("" if low is None or high is None else f" [{write(low)}, {write(high)}]")


def count_noun(count: int, noun: str) -> str:
    """Return the count with its noun: `1 prompt`, `2 prompts`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
