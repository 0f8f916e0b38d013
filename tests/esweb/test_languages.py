"""A folder in locale/ adds a language: pages and scripts use it for clients that request it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.translation import trans_real
from pytest_django.fixtures import Settings

from esweb.languages import languages
from tests.runs.api_client import calls, paths

HEAD = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
BOUND = "A token of scope ingest needs a run, and tokens of other scopes must name none"
BOUND_IN_GERMAN = "Ein Token zum Schreiben gehört zu einem Lauf, ein anderer zu keinem"
GERMAN = {"": HEAD, "Sign in": "Anmelden", "Experiments": "Versuche", BOUND: BOUND_IN_GERMAN}


def catalogue(words: Mapping[str, str]) -> bytes:
    """Words as gettext's machine object (GNU gettext manual, "The Format of GNU MO Files")."""
    pairs = [(a.encode(), b.encode()) for a, b in sorted(words.items())]
    at, tables, texts = 28 + 16 * len(pairs), ([], []), b""
    for column, table in enumerate(tables):
        for pair in pairs:
            table.append(struct.pack("<II", len(pair[column]), at + len(texts)))
            texts += pair[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    return head + b"".join(tables[0] + tables[1]) + texts


@pytest.fixture
def german(tmp_path: Path, settings: Settings) -> Iterator[None]:
    """Return a site with a folder of German words."""
    folder = tmp_path / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    for domain in ("django", "djangojs"):
        (folder / f"{domain}.mo").write_bytes(catalogue(GERMAN))
    before = dict(trans_real._translations)
    trans_real._translations.clear()
    settings.LOCALE_PATHS, settings.LANGUAGES = [tmp_path], languages(tmp_path)
    trans_real.get_languages.cache_clear()
    yield
    trans_real._translations.clear()
    trans_real._translations.update(before)
    trans_real.get_languages.cache_clear()


def test_a_folder_is_a_language(tmp_path: Path) -> None:
    assert languages(tmp_path) == [("en", "English")]
    for name in ("de", "pt_BR", "tlh"):
        (tmp_path / name / "LC_MESSAGES").mkdir(parents=True)
    assert languages(tmp_path)[1:] == [("de", "Deutsch"), ("pt-br", "Português Brasileiro"), ("tlh", "tlh")]


@pytest.mark.usefixtures("german", "db")
def test_requested_language_is_used_and_english_otherwise() -> None:
    for requested, heading, code in (("de", "Anmelden", "de"), ("fr", "Sign in", "en"), ("", "Sign in", "en")):
        page = Client(headers={"accept-language": requested}).get("/login/").content.decode()
        assert f"<h1>{heading}</h1>" in page
        assert f'<html lang="{code}"' in page


@pytest.mark.usefixtures("german", "db")
def test_scripts_have_translated_words() -> None:
    words = Client(headers={"accept-language": "de"}).get("/words.js")
    assert words["Content-Type"].startswith("text/javascript")
    assert '"Experiments": "Versuche"' in words.content.decode()


@pytest.mark.usefixtures("german")
def test_refusal_is_translated_on_pages_and_english_in_the_api(ada: User) -> None:
    headers = {"accept-language": "de"}
    browser = Client(headers=headers)
    browser.force_login(ada)
    page = browser.post("/settings/tokens/", {"name": "x", "scope": "ingest", "days": 3}).content.decode()
    assert f"{BOUND_IN_GERMAN}." in page
    refused = calls(ada, "admin").post("/api/v1/tokens", {"scope": "ingest"}, "application/json", headers=headers)
    assert paths(refused) == {"run": BOUND}
    assert '<html lang="de"' in browser.get("/api/v1/docs").content.decode()
