"""Sign-in links work once, within the hour, while the password is the same."""

from __future__ import annotations

from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils import timezone

from runs.accounts import sign_in_links


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def test_a_link_signs_in_and_goes_to_the_first_page(ada: User, client: Client) -> None:
    answer = client.get(sign_in_links.link_for(ada))
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(ada.pk)


def test_the_same_link_does_not_work_again(ada: User) -> None:
    link = sign_in_links.link_for(ada)
    Client().get(link)
    second = Client()
    answer = second.get(link)
    assert answer["Location"].startswith("/login/")
    assert not is_signed_in(second)
    assert b"already used or has expired" in second.get("/login/").content


def test_a_link_is_too_old_after_an_hour(ada: User, client: Client) -> None:
    link = sign_in_links.link_for(ada)
    later = (timezone.now() + timedelta(seconds=sign_in_links.VALID_SECONDS + 1)).timestamp()
    with mock.patch.object(signing.time, "time", return_value=later):
        client.get(link)
    assert not is_signed_in(client)


def test_a_new_password_makes_a_link_void(ada: User, client: Client) -> None:
    link = sign_in_links.link_for(ada)
    ada.set_unusable_password()
    ada.save()
    client.get(link)
    assert not is_signed_in(client)


def test_a_closed_account_is_not_signed_in(ada: User, client: Client) -> None:
    link = sign_in_links.link_for(ada)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    client.get(link)
    assert not is_signed_in(client)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "token",
    ["x", "e30:abc:def", signing.dumps({"user": 1, "nonce": "n", "hash": ""})],
    ids=["short", "badly signed", "of no link"],
)
def test_a_made_up_link_does_nothing(client: Client, token: str) -> None:
    answer = client.get(f"/sign-in/{token}/")
    assert answer["Location"].startswith("/login/")
    assert not is_signed_in(client)
