"""Read chart layouts: from the address of a page, or as the user stored it."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, QueryDict

from runs.chart_layouts.arrangement import PARAMETER, Layout, query_with
from runs.chart_layouts.cards import Card, parse_cards
from runs.models import ChartLayout, Experiment


def layout_of(request: HttpRequest, page: str, experiment: Experiment | None = None) -> Layout:
    """Return the layout of a page's charts: that of the address if it has `charts`, else the user's own, else the
    default. One query if the user is signed in.

    page: one of ChartLayout.Page. experiment: only of the page `experiment`, where each experiment has its own layout.
    """
    can_change = request.user.is_authenticated
    experiment_id = experiment.pk if experiment else None
    own = stored_cards(request.user, page, experiment_id)
    if PARAMETER not in request.GET:
        return Layout(page, own, experiment_id, can_change=can_change)
    cards, problems = parse_cards(request.GET.getlist(PARAMETER))
    return Layout(page, cards, experiment_id, True, can_change and cards != own, can_change, problems)


def shared_layout(request: HttpRequest, page: str) -> Layout:
    """Return the layout of a page that a link shares: that of the address, for every reader, who cannot change it."""
    cards, problems = parse_cards(request.GET.getlist(PARAMETER))
    return Layout(page, cards, is_from_address=True, problems=problems)


def stored_cards(person: User | AnonymousUser, page: str, experiment_id: int | None) -> tuple[Card, ...]:
    """Return the cards that this user stored for the page; none if there are none, or nobody is signed in."""
    if not person.is_authenticated:
        return ()
    rows = ChartLayout.objects.filter(person_id=person.pk, page=page, experiment=experiment_id)
    texts: list[str] = rows.values_list("cards", flat=True).first() or []
    return parse_cards(texts)[0]


def with_layout(params: QueryDict, person: User, page: str, experiment: Experiment | None) -> QueryDict:
    """Return the parameters of a page's address with the charts that the user sees there.

    Parameters that have `charts` already, and those of a page without charts, stay as they are.
    """
    if PARAMETER in params or page not in ChartLayout.Page.values:
        return params
    return query_with(params, stored_cards(person, page, experiment.pk if experiment else None))
