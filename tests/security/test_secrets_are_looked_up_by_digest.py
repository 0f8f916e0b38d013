"""Secrets are looked up by SHA-256 or compared in constant time: response times reveal no correct part of a secret."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection, models
from django.test.utils import CaptureQueriesContext

from judging.models import Invitation
from judging.voting import invitations
from runs import access
from runs.access import digest
from runs.models import ApiToken
from tests.cases import each_case

ROOT = Path(__file__).resolve().parents[2]
SECRETS = ("token", "secret", "fingerprint", "password", "nonce", "signature", "authorization", "hmac")
NO_SECRETS = (
    "tokens",
    "text_signatures",
    "token_id",
    "pad_token",
    "eos_token",
    "max_tokens",
    "password_file",
    "new_tokens",
    "token_limit",
    "_tokens",
)
"""Names that contain one of SECRETS and are none: tokens of a language model, and files named after a secret."""
ALLOWED = {
    # Fingerprints of code and of collected files, and digits of a formula.
    "workers/code/bundle.py": "fingerprint",
    "esweb/bootstrap/collectstatic.py": "fingerprint",
    "workers/tasks/arithmetic.py": "token",
}


def find_comparisons(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each side of an == or != that is a name, an attribute, an item or a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            for side in (node.left, *node.comparators):
                if not isinstance(side, ast.Constant):
                    yield node.lineno, ast.unparse(side)


def is_secret(text: str) -> bool:
    """Return whether an expression is named after a secret."""
    name = text.lower()
    for other in NO_SECRETS:
        name = name.replace(other, "")
    return any(secret in name for secret in SECRETS)


def test_secrets_are_not_compared_by_equality() -> None:
    comparisons = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for side in ("esweb", "runs", "judging", "workers")
        for path in sorted((ROOT / side).rglob("*.py"))
        for line, text in find_comparisons(ast.parse(path.read_text(encoding="utf-8")))
        if is_secret(text) and ALLOWED.get(str(path.relative_to(ROOT)), "?") not in text
    ]
    assert comparisons == []


@each_case(
    "code", ["token == other", "a != request.token", "said['hash'] != _fingerprint(user)", "x == settings.SECRET_KEY"]
)
def test_comparison_of_secrets_is_detected(code: str) -> None:
    assert [text for _, text in find_comparisons(ast.parse(code)) if is_secret(text)]


@pytest.mark.django_db
def test_tokens_and_invitations_are_looked_up_by_their_sha256(ada: User) -> None:
    token, text = access.issue(ada, "read")
    assert token.digest == digest(text) == sha256(text.encode()).hexdigest()
    for look_up, wrong in ((access.verify, "esw_wrong"), (invitations.find_invitation, "wrong")):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert look_up(wrong) is None
        (query,) = [captured["sql"] for captured in queries]
        assert sha256(wrong.encode()).hexdigest() in query
        assert f"'{wrong}'" not in query


def test_secret_rows_store_only_digests() -> None:
    for row in (ApiToken, Invitation):
        digest = row._meta.get_field("digest")
        assert isinstance(digest, models.CharField)
        assert (digest.unique, digest.max_length) == (True, 64)
        assert {"text", "token", "secret", "code", "key"} & {field.name for field in row._meta.fields} == set()
