"""Typed readers of the environment, for settings. They fail loudly, naming the variable and what it may be."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

YES = frozenset({"1", "true", "yes", "on"})
NO = frozenset({"", "0", "false", "no", "off"})


def text(name: str, default: str = "") -> str:
    """The variable's value; the default where it is not set or empty."""
    return os.environ.get(name) or default


def flag(name: str, default: bool = False) -> bool:
    """True for 1, true, yes, on; False for 0, false, no, off; the default where it is not set."""
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() not in YES | NO:
        raise ImproperlyConfigured(f"{name} must be 1 or 0 (also true, false, yes, no, on, off), not {value!r}.")
    return value.lower() in YES


def number(name: str, default: int, *, at_least: int = 0) -> int:
    """A whole number that is not below `at_least`; the default where the variable is not set or empty."""
    value = text(name)
    if not value:
        return default
    try:
        parsed = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if parsed < at_least:
        raise ImproperlyConfigured(f"{name} must be at least {at_least}, not {parsed}.")
    return parsed


def words(name: str, default: str = "") -> list[str]:
    """Values separated by commas, spaces around them left out."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def folder(name: str, default: Path) -> Path:
    """An absolute path; a leading ~ is the home directory."""
    return Path(text(name, str(default))).expanduser().absolute()


def secret(name: str) -> str:
    """A secret from NAME, or the content of the file that NAME_FILE names; empty where neither is set."""
    value, file = text(name), text(f"{name}_FILE")
    if value and file:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: keep one.")
    if not file:
        return value
    try:
        content = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which cannot be read: {error.strerror}.") from error
    if not content:
        raise ImproperlyConfigured(f"{name}_FILE names {file}, which is empty.")
    return content
