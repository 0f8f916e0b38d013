"""What calls cost: the most that one may, what one did, and what many are likely to. Prices are per million tokens."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from judging.model_judge.replies import Reply
from judging.model_judge.request import Request

SMALLEST = Decimal("1e-8")
MILLION = Decimal(1_000_000)
CHARACTERS_A_TOKEN = 4
"""Of English, measured on judges' prompts; only for estimates before a start, never against the cap."""
TOKENS_OUT = 355
"""Of a verdict with its reasons, measured over a thousand."""


@dataclass(frozen=True)
class Cost:
    """Tokens and what they cost. is_estimated: a count that the server did not make."""

    tokens_in: int
    tokens_out: int
    amount: Decimal
    is_estimated: bool = False


@dataclass(frozen=True)
class Price:
    """Per million tokens read and written, in the currency of whoever wrote it down. A local judge's is zero."""

    tokens_in: Decimal
    tokens_out: Decimal

    def of(self, tokens_in: int, tokens_out: int) -> Decimal:
        """What so many tokens cost."""
        cost = (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / MILLION
        # As it is kept: what is set aside and what is taken back are the same to the last digit.
        return cost.quantize(SMALLEST, ROUND_UP)

    def at_most(self, request: Request) -> Cost:
        """What a request may cost, whatever is answered: this much is set aside before it is sent."""
        return self._cost(request.most_tokens_in, request.most_tokens_out, is_estimated=True)

    def spent(self, request: Request, reply: Reply) -> Cost:
        """What a reply did cost; by its length where the server did not count."""
        if reply.tokens_in is not None and reply.tokens_out is not None:
            return self._cost(reply.tokens_in, reply.tokens_out, is_estimated=False)
        read = _tokens(request.characters) if reply.tokens_in is None else reply.tokens_in
        written = _tokens(len(reply.text)) if reply.tokens_out is None else reply.tokens_out
        return self._cost(read, written, is_estimated=True)

    def likely(self, calls: int, characters: int) -> Cost:
        """What so many calls, reading so many characters together, are likely to cost."""
        return self._cost(_tokens(characters), calls * TOKENS_OUT, is_estimated=True)

    def _cost(self, tokens_in: int, tokens_out: int, *, is_estimated: bool) -> Cost:
        return Cost(tokens_in, tokens_out, self.of(tokens_in, tokens_out), is_estimated)


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_A_TOKEN)
