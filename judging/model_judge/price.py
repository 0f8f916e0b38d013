"""Cost of calls: the highest possible cost of one, the actual cost, and the likely cost of many. Prices are per million
tokens."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from judging.model_judge.replies import Reply
from judging.model_judge.request import Request

SMALLEST = Decimal("1e-8")
MILLION = Decimal(1_000_000)
CHARACTERS_A_TOKEN = 4
"""For English, measured on judges' prompts; used only for estimates before a start, never for the cap."""
TOKENS_OUT = 355
"""The tokens of a verdict with its reasons, measured over a thousand."""


@dataclass(frozen=True)
class Cost:
    """Tokens and their cost. is_estimated: a count that the server did not make."""

    tokens_in: int
    tokens_out: int
    amount: Decimal
    is_estimated: bool = False


@dataclass(frozen=True)
class Price:
    """Price per million tokens read and written, in the currency of the judge's owner. The price of a local judge is
    zero."""

    tokens_in: Decimal
    tokens_out: Decimal

    def amount(self, tokens_in: int, tokens_out: int) -> Decimal:
        """Return the cost of so many tokens."""
        cost = (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / MILLION
        # Rounded as it is stored: the reserved and the released amount are equal to the last digit.
        return cost.quantize(SMALLEST, ROUND_UP)

    def max_cost(self, request: Request) -> Cost:
        """Return the highest possible cost of a request, whatever the reply: this amount is reserved before it is
        sent."""
        return self._cost(request.max_tokens_in, request.max_tokens_out, is_estimated=True)

    def actual_cost(self, request: Request, reply: Reply) -> Cost:
        """Return the actual cost of a reply; estimated by its length if the server did not count."""
        if reply.tokens_in is not None and reply.tokens_out is not None:
            return self._cost(reply.tokens_in, reply.tokens_out, is_estimated=False)
        read = _tokens(request.characters) if reply.tokens_in is None else reply.tokens_in
        written = _tokens(len(reply.text)) if reply.tokens_out is None else reply.tokens_out
        return self._cost(read, written, is_estimated=True)

    def likely_cost(self, calls: int, characters: int) -> Cost:
        """Return the likely cost of so many calls that read so many characters together."""
        return self._cost(_tokens(characters), calls * TOKENS_OUT, is_estimated=True)

    def _cost(self, tokens_in: int, tokens_out: int, *, is_estimated: bool) -> Cost:
        return Cost(tokens_in, tokens_out, self.amount(tokens_in, tokens_out), is_estimated)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
