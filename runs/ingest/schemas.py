"""What the API answers to pushed records, as JSON."""

from __future__ import annotations

from ninja import Schema


class KeptOut(Schema):
    """Report how many records were new, as `kept`, and the seq that the next one must have, as `next_seq`."""

    kept: int
    next_seq: int
