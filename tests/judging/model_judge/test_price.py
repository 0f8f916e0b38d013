"""Costs of calls: counted by the server, else estimated by length, and never more than was reserved."""

from __future__ import annotations

from decimal import Decimal

from judging.model_judge import Pair, Price, Reply, Rubric, Sampling, request

REQUEST = request("gpt", Rubric("helpfulness", "Which helps more."), Pair("p", "one", "other"), Sampling())
PRICE = Price(Decimal("0.4"), Decimal("1.6"))


def reply(tokens_in: int | None, tokens_out: int | None) -> Reply:
    return Reply("x" * 10, "stop", "", "gpt", tokens_in, tokens_out)


def test_tokens_are_paid_by_the_million() -> None:
    assert PRICE.actual_cost(REQUEST, reply(1050, 355)).amount == Decimal("0.000988")


def test_uncounted_tokens_are_estimated() -> None:
    counted, guessed = PRICE.actual_cost(REQUEST, reply(500, 3)), PRICE.actual_cost(REQUEST, reply(None, None))
    assert not counted.is_estimated and guessed.is_estimated
    assert (guessed.tokens_in, guessed.tokens_out) == (-(-REQUEST.characters // 4), 3)


def test_reserved_amount_exceeds_possible_cost() -> None:
    most = PRICE.max_cost(REQUEST)
    assert most.tokens_in > REQUEST.characters and most.amount > PRICE.actual_cost(REQUEST, reply(None, 2048)).amount


def test_a_free_judge_costs_nothing() -> None:
    assert Price(Decimal(0), Decimal(0)).likely_cost(2000, 10**6).amount == 0
