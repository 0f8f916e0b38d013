"""Allowances of users for WebSockets: how many are open at the same time, and how many messages they send.

They belong to the user and not to the socket, so that closing a socket and opening another one gains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

MAX_SOCKETS = 50
"""Pages of one user that are open and not hidden: hidden pages disconnect."""
MAX_MESSAGES = 100
MESSAGES_PER_SECOND = 5.0
"""A page sends one message when it opens, and one when it shows further runs."""


@dataclass
class Allowance:
    """The allowance of one user: `messages` are left now, and more come with time, up to MAX_MESSAGES."""

    sockets: int = 0
    messages: float = float(MAX_MESSAGES)
    counted_at: float = field(default_factory=lambda: monotonic())

    def open_socket(self) -> bool:
        """Count a socket and return True; return False if as many are open as may be."""
        if self.sockets >= MAX_SOCKETS:
            return False
        self.sockets += 1
        return True

    def close_socket(self) -> None:
        """Count a socket as closed."""
        self.sockets -= 1

    def take_message(self) -> bool:
        """Count a message and return True; return False if none is left."""
        self._refill()
        if self.messages < 1:
            return False
        self.messages -= 1
        return True

    def is_unused(self) -> bool:
        """Return whether it is as good as new."""
        self._refill()
        return self.sockets == 0 and self.messages == MAX_MESSAGES

    def _refill(self) -> None:
        now = monotonic()
        earned = (now - self.counted_at) * MESSAGES_PER_SECOND
        self.messages, self.counted_at = min(float(MAX_MESSAGES), self.messages + earned), now


class Allowances:
    """The allowances of all users of a web process."""

    def __init__(self) -> None:
        self._by_person: dict[int, Allowance] = {}

    def __len__(self) -> int:
        return len(self._by_person)

    def allowance(self, person_id: int) -> Allowance:
        """Return the user's allowance. Forget those of users who have closed their sockets long ago."""
        if person_id not in self._by_person:
            self._by_person = {key: used for key, used in self._by_person.items() if not used.is_unused()}
            self._by_person[person_id] = Allowance()
        return self._by_person[person_id]
