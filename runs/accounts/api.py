"""API of the caller's own account and tokens."""

from __future__ import annotations

from django.http import Http404

from runs import access
from runs.accounts.schemas import MadeTokenOut, MeOut, NewToken, TokenOut, TokensOut
from runs.http import ApiRequest, Invalid, RowId, idempotent_secret, needs, router
from runs.models import ApiToken, Run
from workers.config import Problem

NEW = {"scope": "read", "name": "notebook", "days": 30}


@router.get("/me", response=MeOut, auth=needs("read"), tags=["tokens"], summary="Read your account")
def read_me(request: ApiRequest) -> MeOut:
    """The user that you act for, their role, and the token of this request."""
    person, token = request.auth.person, request.auth.token
    return MeOut(
        username=person.get_username(),
        role=access.role_of(person).value,
        scope=token.scope if token else None,
        expires_at=token.expires_at if token else None,
    )


@router.get("/tokens", response=TokensOut, auth=needs("read"), tags=["tokens"], summary="List your tokens")
def list_tokens(request: ApiRequest) -> TokensOut:
    """Your tokens, newest first, with the time of each token's last use. The text of a token is not stored."""
    tokens = ApiToken.objects.filter(user=request.auth.person).created_by_users().select_related("run")
    return TokensOut(items=[TokenOut.from_row(token) for token in tokens.order_by("-pk")])


@router.post(
    "/tokens",
    response={201: MadeTokenOut},
    auth=needs("admin"),
    tags=["tokens"],
    summary="Create a token",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": NEW}}}},
)
@idempotent_secret
def make_token(request: ApiRequest, new: NewToken) -> tuple[int, MadeTokenOut]:
    """Creates a token that acts for you, and returns its text this once. Needs scope admin, or a browser. A repetition
    with the same Idempotency-Key creates no token and gets 409."""
    try:
        token, text = access.issue(
            request.auth.person, new.scope, days=new.days, name=new.name, run=_run(request, new.run)
        )
    except access.CannotIssue as error:
        raise Invalid(Problem("run", str(error))) from error
    return 201, MadeTokenOut(token=TokenOut.from_row(token), text=text)


@router.delete("/tokens/{pk}", response={204: None}, auth=needs("admin"), tags=["tokens"], summary="Revoke a token")
def revoke_token(request: ApiRequest, pk: RowId) -> tuple[int, None]:
    """Revokes one of your tokens immediately. Needs scope admin, or a browser."""
    token = ApiToken.objects.filter(user=request.auth.person, pk=pk).first()
    if token is None:
        raise Http404(f"You have no token {pk}")
    access.revoke(token)
    return 204, None


def _run(request: ApiRequest, uid: str | None) -> Run | None:
    """Return the run that a token is to write, or None. Raise Invalid if the caller sees no such run."""
    if uid is None:
        return None
    run = Run.objects.visible_to(request.auth.person).select_related("experiment").filter(uid=uid).first()
    if run is None:
        raise Invalid(Problem("run", f"must be the uid of a run of yours, not {uid!r}"))
    return run
