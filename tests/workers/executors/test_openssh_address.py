"""Addresses of machines and the options passed to ssh: no text can become an option or a command."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from workers.executors.openssh import Access, Address, BadAddress
from workers.executors.openssh.connection import describe_error


@each_case(
    ("text", "address"),
    [
        ("ssh://ada@login.example.org:2222", Address("login.example.org", "ada", 2222)),
        ("ssh://login.example.org", Address("login.example.org")),
        ("Cluster-A", Address("Cluster-A")),
        ("ada@cluster", Address("cluster", "ada")),
        ("ssh://ada@[fe80::1]:22", Address("fe80::1", "ada", 22)),
    ],
)
def test_address_or_alias_is_parsed(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@each_case(
    "text", ["", "-oProxyCommand=x", "ssh://-oProxyCommand=x", "a b", "a;b", "$(x)", "ssh://a/b", "-l@host", "a:99999",
             "ssh://x@y@z -p", "a\nb", "http://a"],
)  # fmt: skip
def test_invalid_address_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(BadAddress, match="must be ssh://user@host:port, or a host in this machine's ssh_config"):
        Address.parse(text)


def test_address_with_password_is_refused() -> None:
    with pytest.raises(BadAddress, match="must not contain a password"):
        Address.parse("ssh://ada:hunter2@login")


def test_ssh_runs_in_batch_mode_with_strict_host_keys() -> None:
    options = Access(Address("login", "ada", 22), "/keys/a b", "/keys/known%h").options("/tmp/c")
    for option in ("-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oForwardAgent=no", "-oControlPath=/tmp/c",
                   "-lada", "-p22", '-oIdentityFile="/keys/a b"', "-oIdentitiesOnly=yes",
                   '-oUserKnownHostsFile="/keys/known%%h"'):  # fmt: skip
        assert option in options


def test_ssh_error_is_described_with_its_message() -> None:
    text = describe_error("Warning: x\nada@login: Permission denied (publickey).\n")
    assert text == (
        "it refuses to let esweb sign in: see key_file in the cluster's config, or the ssh agent "
        "(ssh: ada@login: Permission denied (publickey).)"
    )
    assert describe_error("something new") == "ssh: something new" and describe_error("") == "ssh: no error message"
