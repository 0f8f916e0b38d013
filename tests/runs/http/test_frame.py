import pytest
from django.urls import reverse

from tests.cases import each_case

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("cookie", "attribute"), [("dark", ' data-theme="dark"'), ("light", ' data-theme="light"')])
def test_the_theme_that_was_chosen_is_rendered_by_the_server(ada_client, cookie, attribute):
    ada_client.cookies["theme"] = cookie
    assert f'<html lang="en"{attribute}>' in ada_client.get("/").content.decode()


@each_case("cookie", ["system", '"><script>', ""])
def test_anything_else_leaves_it_to_the_system(ada_client, cookie):
    ada_client.cookies["theme"] = cookie
    assert '<html lang="en">' in ada_client.get("/").content.decode()


def test_scripts_come_from_files_of_our_own(ada_client, experiment):
    page = ada_client.get(experiment.get_absolute_url())
    assert "script-src 'self';" in page["Content-Security-Policy"] + ";"
    assert "<script>" not in page.content.decode()
    assert "https://" not in page.content.decode()


def test_wrong_password_shows_a_message(client, ada):
    page = client.post(reverse("login"), {"username": "ada", "password": "wrong"}).content.decode()
    assert "Please enter a correct username and password" in page


def test_signing_out_is_a_post(ada_client):
    assert ada_client.get(reverse("logout")).status_code == 405
    assert ada_client.post(reverse("logout")).status_code == 302


def test_page_of_a_404_links_onward(ada_client):
    response = ada_client.get("/runs/nosuch/")
    assert response.status_code == 404
    assert "All experiments" in response.content.decode()
