"""Replies of DNS that a test sets, for the names that it chooses."""

from __future__ import annotations

import socket
from typing import Any

import pytest

Dns = dict[str, list[str]]


def fake_dns(monkeypatch: pytest.MonkeyPatch, answers: Dns) -> Dns:
    """Let the names in `answers` resolve to their addresses, in turn, the last one repeatedly. Return `answers`.

    Other names are resolved as usual.
    """
    original = socket.getaddrinfo

    def look_up(name: str, port: int, *options: Any, **keywords: Any) -> Any:
        if name not in answers:
            return original(name, port, *options, **keywords)
        remaining = answers[name]
        address = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers
