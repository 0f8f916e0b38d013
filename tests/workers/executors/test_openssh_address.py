"""Which machine is meant, and what ssh is told about it: nothing that could be taken for an option or a command."""

from __future__ import annotations

import pytest

from workers.executors.openssh import Access, Address, BadAddress
from workers.executors.openssh.connection import in_words


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ssh://ada@login.example.org:2222", Address("login.example.org", "ada", 2222)),
        ("ssh://login.example.org", Address("login.example.org")),
        ("Cluster-A", Address("Cluster-A")),
        ("ada@cluster", Address("cluster", "ada")),
        ("ssh://ada@[fe80::1]:22", Address("fe80::1", "ada", 22)),
    ],
)
def test_an_address_or_an_alias_is_understood(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text", ["", "-oProxyCommand=x", "ssh://-oProxyCommand=x", "a b", "a;b", "$(x)", "ssh://a/b", "-l@host", "a:99999",
             "ssh://x@y@z -p", "a\nb", "http://a"],
)  # fmt: skip
def test_what_is_none_is_refused_with_what_one_looks_like(text: str) -> None:
    with pytest.raises(
        BadAddress, match="must be ssh://user@host:port, or a host that this machine's ssh_config knows"
    ):
        Address.parse(text)


def test_a_password_has_no_place_in_it() -> None:
    with pytest.raises(BadAddress, match="must hold no password"):
        Address.parse("ssh://ada:hunter2@login")


def test_nobody_is_asked_anything_and_the_host_key_must_be_known() -> None:
    options = Access(Address("login", "ada", 22), "/keys/a b", "/keys/known%h").options("/tmp/c")
    for option in ("-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oForwardAgent=no", "-oControlPath=/tmp/c",
                   "-lada", "-p22", '-oIdentityFile="/keys/a b"', "-oIdentitiesOnly=yes",
                   '-oUserKnownHostsFile="/keys/known%%h"'):  # fmt: skip
        assert option in options


def test_what_ssh_says_becomes_a_sentence_with_its_own_word_behind() -> None:
    said = in_words("Warning: x\nada@login: Permission denied (publickey).\n")
    assert said == (
        "it does not let esweb in: see key_file in the cluster's config, or the ssh agent "
        "(ssh: ada@login: Permission denied (publickey).)"
    )
    assert in_words("something new") == "ssh: something new" and in_words("") == "ssh: it said nothing"
