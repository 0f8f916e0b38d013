"""What calls cost: counted by the server, else by length and said so, and never more than was set aside."""

from __future__ import annotations

from decimal import Decimal

from judging.model_judge import Pair, Price, Reply, Rubric, Sampling, request

ASKED = request("gpt", Rubric("helpfulness", "Which helps more."), Pair("p", "one", "other"), Sampling())
PRICE = Price(Decimal("0.4"), Decimal("1.6"))


def reply(tokens_in: int | None, tokens_out: int | None) -> Reply:
    return Reply("x" * 10, "stop", "", "gpt", tokens_in, tokens_out)


def test_tokens_are_paid_by_the_million() -> None:
    assert PRICE.spent(ASKED, reply(1050, 355)).amount == Decimal("0.000988")


def test_what_the_server_does_not_count_is_estimated_and_said_so() -> None:
    counted, guessed = PRICE.spent(ASKED, reply(500, 3)), PRICE.spent(ASKED, reply(None, None))
    assert not counted.is_estimated and guessed.is_estimated
    assert (guessed.tokens_in, guessed.tokens_out) == (-(-ASKED.characters // 4), 3)


def test_more_is_set_aside_than_a_call_can_cost() -> None:
    most = PRICE.at_most(ASKED)
    assert most.tokens_in > ASKED.characters and most.amount > PRICE.spent(ASKED, reply(None, 2048)).amount


def test_a_free_judge_costs_nothing() -> None:
    assert Price(Decimal(0), Decimal(0)).likely(2000, 10**6).amount == 0
