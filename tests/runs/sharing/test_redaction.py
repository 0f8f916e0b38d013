"""What readers outside see of a config, a series and a text: `runs.sharing.redaction`."""

from __future__ import annotations

from typing import Any

from runs.sharing.redaction import is_shared_key, shared_config, shared_text
from tests.cases import each_case

TEXTS = [
    ("see /srv/models/x.bin and ~/notes/y", "see …/x.bin and …/y"),
    ("../up/a.csv, C:\\Users\\ada\\b.csv, \\\\nas\\c.csv, file:///srv/d.csv", "…/a.csv, …/b.csv, …/c.csv, …/d.csv"),
    ("git clone https://ada:p@ss@host:80/a/b.git", "git clone https://…@host:80/a/b.git"),
    ("postgresql://ada:pw@db/x,redis://:pw@cache/0", "postgresql://…@cache/0"),
    ("http://host/x?api_key=abc&page=2", "http://host/x?api_key=…&page=2"),
    ("Authorization: Bearer abc.def", "Authorization: …"),
    ("from run:k3m9x2p7qa@3, run:k3m9x2p7qa", "from run:…, run:…"),
    ("WANDB_API_KEY=abc python x.py --hf-token abc --lr 3", "WANDB_API_KEY=… python x.py --hf-token … --lr 3"),
    ('{"clientSecret": "abc", "n": 1}', '{"clientSecret": …, "n": 1}'),
    ("password = 'a b c'", "password = …"),
    ("uses esw_0123456789abcdef", "uses …"),
]
PLAIN_TEXTS = [
    "What does es.sigma: 0.1 do per token: nothing?", "max_tokens=512", "accuracy/contains", "1/2 of </think> and /x",
    "https://host/a/b", "tiny", "org/model-1.5b", "run: abc", "a password is long", "", "ada@example.org",
]  # fmt: skip
SECRET_NAMES = (
    "api_key", "apiKey", "API-KEY", "openai.api.key", "WANDB_API_KEY", "secret", "clientSecret", "password",
    "db_passwd", "PWD", "auth", "Authorization", "privateKey", "ssh_key", "aws_secret_access_key", "cookie",
    "credentials",
)  # fmt: skip
TOKEN_NAMES = ("token", "hfToken", "GITHUB_TOKEN", "access-token", "tokens")
VALUES: list[tuple[Any, Any]] = [
    (["/srv/a.csv", ["run:k3m9x2p7qa@3"]], ["…/a.csv", ["run:…"]]),
    ("/srv/my models/a", "…/a"),
    ([{"path": "~/x/y"}], [{"path": "…/y"}]),
    ({"/srv/a.csv": 0.5, "/etc/a.csv": 0.5}, {"…/a.csv": 0.5, "…/a.csv…": 0.5}),
    ({"name": "API_KEY", "value": "abc"}, {"name": "API_KEY", "value": "…"}),
    (["--api-key", "abc", "--lr", "3"], ["--api-key", "…", "--lr", "3"]),
    ({"tokens": {"hf": "abc", "most": 3}}, {"tokens": {"hf": "…", "most": 3}}),
    (
        {"use_auth_token": True, "password": None, "api_key": ""},
        {"use_auth_token": True, "password": None, "api_key": ""},
    ),
    ({"max_new_tokens": 64, "tokenizer": "org/model"}, {"max_new_tokens": 64, "tokenizer": "org/model"}),
]


@each_case(("text", "shown"), [*TEXTS, *((text, text) for text in PLAIN_TEXTS)])
def test_text_is_shown_without_secrets_and_folders(text: str, shown: str) -> None:
    assert shared_text(text) == shown
    # A long text takes another way.
    assert shared_text(f"{'. ' * 600}{text}") == f"{'. ' * 600}{shown}"


@each_case("name", SECRET_NAMES)
def test_value_of_a_secret_name_is_hidden(name: str) -> None:
    for value in ("abc", 123, ["abc"], {"inner": "abc"}):
        assert shared_config({"other": [{name: value}]}) == {"other": [{name: "…"}]}


@each_case("name", TOKEN_NAMES)
def test_token_is_hidden_and_a_count_of_tokens_shown(name: str) -> None:
    assert shared_config({name: "abc"}) == {name: "…"}
    assert shared_config({name: 64}) == {name: 64}


@each_case(("value", "shown"), VALUES)
def test_nested_value_is_shown_without_secrets_and_folders(value: Any, shown: Any) -> None:
    assert shared_config({"foreign": value, "compute": value, "tracking": value}) == {"foreign": shown}


@each_case(
    ("key", "is_shared"),
    [
        ("val/loss", True), ("es/sigma", True), ("time/tokens_per_second", True), ("system/gpu.0/power", False),
        ("eval//srv/data/a.csv", False), ("probe/run:k3m9x2p7qa@3", False), ("loss api_key=abc", False),
    ],
)  # fmt: skip
def test_series_about_machines_and_other_runs_are_hidden(key: str, is_shared: bool) -> None:
    assert is_shared_key(key) is is_shared
