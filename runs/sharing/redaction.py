"""The one rule about what readers outside see of a config, a series and a text: nothing about the site's machines,
other runs, and secrets.

A config may be another program's, in which any key may hold anything. So a secret is recognized by the name beside it,
and a path, a reference to a run and an address with a password by their form, wherever they are in a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from runs.run_page import SYSTEM

HIDDEN = "…"
UNSHARED = ("compute", "tracking")
"""Sections of a config about the site and not about the training."""
SECRET_PARTS = (
    "secret", "password", "passwd", "passphrase", "passcode", "credential", "authorization", "cookie", "apikey",
    "accesskey", "privatekey", "signingkey", "encryptionkey", "sshkey", "authkey", "connectionstring",
)  # fmt: skip
"""Parts of names of secrets, in which capitals and the signs between words do not matter."""
SECRET_WORDS = frozenset({"auth", "bearer", "pwd", "pass", "pw"})
TOKEN_ENDS = ("token", "tokens")
"""Ends of names of secrets, and of counts of a text's tokens: their numbers are shown, their texts are not."""
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
REFERENCE = re.compile(r"\brun:[0-9a-z]{10}\b(?:@\d{1,9})?", re.ASCII)
TOKEN_TEXT = re.compile(
    r"\b(?:esw_|hf_|sk-|rk-|pk-|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|AKIA)[\w-]{8,}|(?<=bearer )\S+",
    re.ASCII | re.IGNORECASE,
)
"""Tokens that are recognized by their form, and those of an Authorization header."""
NAME = re.compile(
    r"""(?<![\w.-])(?:(?P<name>[A-Za-z_-][\w.-]*+)(?P<assigned>["']?\s*+[=:]\s*+)|(?P<option>--?[A-Za-z][\w.-]*+)\s++)"""
)
"""The name before a value: NAME=value, "name": "value", name: value, or --name value."""
ASSIGNED = re.compile(r""""[^"]*+"|'[^']*+'|(?:(?i:bearer|basic)\s++)?+[^\s&,;"']++""")
PATH = re.compile(
    r"(?<![\w<.\\~])(?<!:/)(?:file:/{1,3}+|(?:~[\w.-]*+|\.\.?+|/[\w.+-]++)(?=/)|[A-Za-z]:(?=[\\/][\w.])|\\(?=\\\w))"
    r"[^\s,;:\"'()<>\[\]{}|]*+"
)
"""A path of at least two parts within a text, absolute or from a folder above, of any system."""
SEPARATORS = re.compile(r"[\\/]")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
MAX_CACHED_LENGTH = 1000


def shared_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config without clusters, the files of tokens, folders, the names of other runs, and secrets."""
    shown = {name: value for name, value in config.items() if name not in UNSHARED}
    return dict(_entries(shown, _setting_text, is_secret=False))


def without_secrets(value: Any) -> Any:
    """Return a config, or another JSON value, without what its names or its form show to be secret; paths and
    references to runs stay. For files that users with an account take with them."""
    return _value("", value, _secret_free, is_secret=False)


def is_shared_key(key: str) -> bool:
    """Return whether a series of this key is shown: it is not about the site's machines, and names no secret."""
    return not key.startswith(SYSTEM) and shared_text(key) == key


def shared_text(text: str) -> str:
    """Return a text without passwords, tokens, references to other runs, and the folders of paths."""
    return _cached_text(text) if len(text) <= MAX_CACHED_LENGTH else _text(text)


@lru_cache(maxsize=10_000)
def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name holds a secret, whatever its value."""
    words = [word.lower() for word in WORDS.findall(name)]
    return not SECRET_WORDS.isdisjoint(words) or any(part in "".join(words) for part in SECRET_PARTS)


@lru_cache(maxsize=10_000)
def is_token_name(name: str) -> bool:
    """Return whether a setting of this name holds a token, or a number of tokens."""
    return any(word.lower().endswith(TOKEN_ENDS) for word in WORDS.findall(name))


def _entries(
    config: Mapping[str, Any], text_rule: Callable[[str], str], *, is_secret: bool
) -> Iterator[tuple[str, Any]]:
    """Yield the shown entries of a mapping. {"name": "API_KEY", "value": …} is an entry of that name.

    text_rule: what is shown of a text.
    """
    named = next((value for key in ("name", "key") if isinstance(value := config.get(key), str)), "")
    taken = set[str]()
    for name, value in config.items():
        owner = named if name == "value" else name
        shown = _secret_free(name) if text_rule is _secret_free else shared_text(name)
        while shown in taken:
            shown += HIDDEN
        taken.add(shown)
        yield shown, _value(owner, value, text_rule, is_secret=is_secret)


def _value(name: str, value: Any, text_rule: Callable[[str], str], *, is_secret: bool) -> Any:
    """Return the shown value of a setting. is_secret: it is part of a setting with the name of a token."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return value
    if is_secret_name(name):
        return HIDDEN
    is_secret = is_secret or is_token_name(name)
    if isinstance(value, Mapping):
        return dict(_entries(value, text_rule, is_secret=is_secret))
    if isinstance(value, Sequence) and not isinstance(value, str):
        # An option in a list of arguments names the argument after it.
        options = ["", *(item if isinstance(item, str) and item.startswith("-") else "" for item in value)]
        return [
            _value(option, item, text_rule, is_secret=is_secret) for option, item in zip(options, value, strict=False)
        ]
    if not isinstance(value, str):
        return value
    return HIDDEN if is_secret else text_rule(value)


def _setting_text(value: str) -> str:
    """Return the shown text of a setting. One that is a path may contain spaces."""
    if value.startswith(("/", "~")) and "\n" not in value:
        return f"{HIDDEN}/{shared_text(PurePosixPath(value).name)}"
    return shared_text(value)


@lru_cache(maxsize=10_000)
def _cached_text(text: str) -> str:
    return _text(text)


def _secret_free(text: str) -> str:
    if "://" in text and "@" in text:
        text = re.sub(r"\S++", _without_user, text)
    return TOKEN_TEXT.sub(HIDDEN, _without_values(text))


def _text(text: str) -> str:
    text = _secret_free(text)
    text = REFERENCE.sub(f"run:{HIDDEN}", text)
    return PATH.sub(_without_folder, text)


def _without_user(word: re.Match[str]) -> str:
    """Hide the user and the password of an address: all up to the last @, which a password may contain."""
    scheme, separator, rest = word[0].partition("://")
    return f"{scheme}{separator}{HIDDEN}@{rest.rpartition('@')[2]}" if separator and "@" in rest else word[0]


def _without_values(text: str) -> str:
    """Hide what is assigned to names of secrets and of tokens; leave counts of tokens, and prose."""
    shown, end = list[str](), 0
    for name in NAME.finditer(text):
        value = ASSIGNED.match(text, name.end()) if name.start() >= end else None
        if value is not None and _hides(name, value[0]):
            shown += [text[end : value.start()], HIDDEN]
            end = value.end()
    return "".join([*shown, text[end:]])


def _hides(match: re.Match[str], value: str) -> bool:
    name, sign = match["name"] or match["option"], (match["assigned"] or "=").strip()
    # A colon after a single word may be one of a sentence.
    is_assigned = sign != ":" or len(WORDS.findall(name)) > 1
    is_token = is_assigned and is_token_name(name) and not NUMBER.fullmatch(value)
    return is_secret_name(name) or is_token


def _without_folder(match: re.Match[str]) -> str:
    return f"{HIDDEN}/{SEPARATORS.split(match[0].rstrip('/'))[-1]}"
