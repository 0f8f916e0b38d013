"""Types of ASGI as the applications of `esweb/asgi.py` use them.

`asgiref.typing` has a class for each kind of scope and message, which code would have to distinguish before every
access to a key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

Scope: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Any, Any], Awaitable[None]]
