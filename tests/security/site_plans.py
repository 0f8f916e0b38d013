"""Plans of small random sites, as plain data: users, their rows, tokens and shared links."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

ROLES = ("viewer", "member", "admin")
SCOPES = ("read", "ingest", "report", "launch", "admin")


@dataclass(frozen=True)
class Person:
    """A user. `role` is the present role; all users were members when they created their rows."""

    role: str
    active: bool
    links_revoked: bool
    """True if the user revoked their shared links or changed the password: either ends the links."""


@dataclass(frozen=True)
class Experiment:
    """An experiment. `owner` is an index in the list of users; `shelf` is current, archived or bin."""

    owner: int
    private: bool
    shelf: str


@dataclass(frozen=True)
class Run:
    """A run. `maker` launched it: the experiment's owner, or an admin of that time."""

    experiment: int
    maker: int
    state: str
    shelf: str


@dataclass(frozen=True)
class View:
    """A saved view, of an experiment if `experiment` is not None."""

    owner: int
    experiment: int | None
    shared: bool


@dataclass(frozen=True)
class Token:
    """A token. Scope ingest is bound to `run`; other scopes ignore it."""

    person: int
    scope: str
    run: int
    expired: bool


@dataclass(frozen=True)
class Link:
    """A link to a run's page or a comparison of all runs, created while they were all public and not deleted."""

    person: int
    runs: tuple[int, ...]
    expired: bool


@dataclass(frozen=True)
class Plan:
    """A whole site. Person 0 is an active admin, because a site has one; person 1 an active member.

    The first experiment is the member's and public, the last the admin's and private: there is always a visible row
    that some users may not change, and an invisible one.
    """

    people: tuple[Person, ...]
    experiments: tuple[Experiment, ...]
    runs: tuple[Run, ...]
    views: tuple[View, ...]
    tokens: tuple[Token, ...]
    links: tuple[Link, ...]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a plan of four users with a few rows each; more of them are private than on a real site."""
    mostly = st.sampled_from((True, True, True, False))
    people = [Person("admin", True, False), Person("member", True, False)]
    people += [Person(draw(st.sampled_from(ROLES)), draw(mostly), not draw(mostly)) for _ in range(2)]
    someone = st.integers(0, len(people) - 1)
    shelves = st.sampled_from(("current", "current", "current", "current", "archived", "bin"))
    drawn_experiments = draw(_draw_several(st.builds(Experiment, someone, st.booleans(), shelves), 0, 1))
    experiments = (Experiment(1, False, "current"), *drawn_experiments, Experiment(0, True, draw(shelves)))
    states = st.sampled_from(("running", "running", "queued", "failed", "interrupted", "succeeded"))
    some_experiment = st.integers(0, len(experiments) - 1)
    # At least one run in each experiment, so that there are always visible and hidden ones.
    run_experiments = [*range(len(experiments)), draw(some_experiment)]
    runs = tuple(Run(experiment, draw(someone), draw(states), draw(shelves)) for experiment in run_experiments)
    some_run = st.integers(0, len(runs) - 1)
    some_runs = st.lists(some_run, min_size=1, max_size=3, unique=True).map(tuple)
    return Plan(
        people=tuple(people), experiments=experiments, runs=runs,
        views=draw(_draw_several(st.builds(View, someone, st.none() | some_experiment, st.booleans()), 1, 2)),
        tokens=draw(
            _draw_several(st.builds(Token, someone, st.sampled_from(SCOPES), some_run, mostly.map(_negate)), 2, 4)
        ),
        links=draw(_draw_several(st.builds(Link, someone, some_runs, mostly.map(_negate)), 1, 2)),
    )  # fmt: skip


def _draw_several(element: st.SearchStrategy, min_size: int, max_size: int) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.lists(element, min_size=min_size, max_size=max_size).map(tuple)


def _negate(value: bool) -> bool:
    return not value
