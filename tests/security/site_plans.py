"""Small sites, drawn at random: who there is, what is whose, who holds which token and which shared link. Only data."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

ROLES = ("viewer", "member", "admin")
SCOPES = ("read", "ingest", "launch", "admin")


@dataclass(frozen=True)
class Person:
    """`role` is what they are now; everybody was a member when they made what is theirs."""

    role: str
    active: bool
    took_back: bool
    """They took back their shared links, or changed the password: either ends the links."""


@dataclass(frozen=True)
class Experiment:
    """`owner` is a place in the list of people; `shelf` says where it lies."""

    owner: int
    private: bool
    shelf: str


@dataclass(frozen=True)
class Run:
    """`maker` launched it: its owner, or an admin of that time."""

    experiment: int
    maker: int
    state: str
    shelf: str


@dataclass(frozen=True)
class View:
    """A saved view, of an experiment where there is one."""

    owner: int
    experiment: int | None
    shared: bool


@dataclass(frozen=True)
class Token:
    """One of scope ingest is bound to the run; the run means nothing to others."""

    person: int
    scope: str
    run: int
    expired: bool


@dataclass(frozen=True)
class Link:
    """To a run's page or a comparison of all, made while they were all public and there."""

    person: int
    runs: tuple[int, ...]
    expired: bool


@dataclass(frozen=True)
class Plan:
    """A whole site. Person 0 is an active admin, because a site has one; person 1 an active member.

    The first experiment is the member's and public, the last the admin's and private: there always is something to be
    seen and not changed, and something not to be seen.
    """

    people: tuple[Person, ...]
    experiments: tuple[Experiment, ...]
    runs: tuple[Run, ...]
    views: tuple[View, ...]
    tokens: tuple[Token, ...]
    links: tuple[Link, ...]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Four people with a few things each; more is private than on a real site."""
    mostly = st.sampled_from((True, True, True, False))
    people = [Person("admin", True, False), Person("member", True, False)]
    people += [Person(draw(st.sampled_from(ROLES)), draw(mostly), not draw(mostly)) for _ in range(2)]
    someone = st.integers(0, len(people) - 1)
    shelves = st.sampled_from(("current", "current", "current", "current", "archived", "bin"))
    drawn = draw(_several(st.builds(Experiment, someone, st.booleans(), shelves), 0, 1))
    experiments = (Experiment(1, False, "current"), *drawn, Experiment(0, True, draw(shelves)))
    states = st.sampled_from(("running", "running", "queued", "failed", "interrupted", "succeeded"))
    some_experiment = st.integers(0, len(experiments) - 1)
    # One each at least, so that there is always something to be seen or not.
    homes = [*range(len(experiments)), draw(some_experiment)]
    runs = tuple(Run(home, draw(someone), draw(states), draw(shelves)) for home in homes)
    some_run = st.integers(0, len(runs) - 1)
    some_runs = st.lists(some_run, min_size=1, max_size=3, unique=True).map(tuple)
    return Plan(
        people=tuple(people), experiments=experiments, runs=runs,
        views=draw(_several(st.builds(View, someone, st.none() | some_experiment, st.booleans()), 1, 2)),
        tokens=draw(_several(st.builds(Token, someone, st.sampled_from(SCOPES), some_run, mostly.map(_no)), 2, 4)),
        links=draw(_several(st.builds(Link, someone, some_runs, mostly.map(_no)), 1, 2)),
    )  # fmt: skip


def _several(one: st.SearchStrategy, least: int, most: int) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.lists(one, min_size=least, max_size=most).map(tuple)


def _no(value: bool) -> bool:
    return not value
