"""Views that compare responses: a row for each prompt, a column for each of up to six runs or checkpoints.

The URL holds the whole state of the page.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from runs.http import (
    SignedIn,
    UnknownChoice,
    chart_response,
    choice_or_default,
    named_experiment,
    search_slot,
    visible_run,
)
from runs.models import Preference, Response, Run, Score
from runs.responses.viewer.active_filters import address_with, address_without, describe_filters, same_page_address
from runs.responses.viewer.annotations import PickOptions, chips, notes, picked
from runs.responses.viewer.categories import categories
from runs.responses.viewer.cells import Cell, PromptRow, rows_of
from runs.responses.viewer.columns import MAX_COLUMNS, SPLIT, Column, Columns, columns_of
from runs.responses.viewer.cursor import InvalidCursor, ResponseCursor
from runs.responses.viewer.forms import cleared_address, form_context, heads
from runs.responses.viewer.queries import QueryFailed, ResponsePage, find, points, sums
from runs.responses.viewer.response_query import ResponseQuery, parse_response_query
from runs.responses.viewer.scatter import Cloud, reward_cost

ROWS_PER_PAGE = 10
MAX_OFFERED_RUNS = 60
FORMS = ("csv", "table")
LAYOUT_COOKIES = ("whole", "together")
"""Choices that the script stores as cookies, so that a page has its final layout when it arrives."""
SHOWN_SESSION_KEY = "answers_shown"
LARGEST_DIFFERENCES = "-difference"
"""Value of `sort` that puts the rows first in which a column differs most from the pinned one."""


@require_safe
def viewer(request: SignedIn) -> HttpResponse:
    """Render the whole page; if no column is selected yet, offer runs to select from."""
    if any(not all(values) for _, values in request.GET.lists()):
        # A form also submits its empty fields: redirect to a short address that users can share.
        return redirect(reverse("viewer") + same_page_address(request.GET))
    # From here on, because the form and the sums of the columns take as long as a quick search.
    with search_slot(request.user.pk) if request.GET.get("q") else nullcontext():
        return _render_viewer(request)


def _render_viewer(request: SignedIn) -> HttpResponse:
    columns, response_query, choices = _parse_request(request)
    problems = [*columns.problems, *response_query.problems]
    is_refused = bool(problems or (columns.missing and not columns.all))
    context: dict[str, Any] = {
        "columns": columns,
        "asked": response_query,
        "scorers": choices.scorers,
        "is_refused": is_refused,
    }
    context["offered"] = _offered(request, columns)
    if columns.all:
        context |= _form(request, columns, response_query, choices)
    if columns.all and not is_refused:
        context |= _page(request, columns, response_query)
    notices = [*columns.missing, *problems, *response_query.notices, *context.get("troubles", [])]
    context |= {"most": MAX_COLUMNS, "problems": notices}
    # Show the form even so, so that users can fix the query.
    return TemplateResponse(request, "responses/viewer.html", context, status=404 if is_refused else 200)


@require_safe
def viewer_scatter(request: SignedIn) -> HttpResponse:
    """Render the scatter plot of all responses of the columns, or its numbers as a table or CSV."""
    form, query = _form_of_chart(request)
    columns, response_query, _ = _parse_request(request, query)
    check_all(columns, response_query)
    points_by_column = points(columns, response_query) if columns.all else []
    clouds = [
        Cloud(column.letter, column.run.name, column.method, dots, total, column.missing)
        for column, (dots, total) in zip(columns.all, points_by_column, strict=True)
    ]
    chart = reward_cost(clouds, response_query.lasso)
    if form:
        return chart_response(request, chart, chart.name)
    context = {"chart": chart, "ask_address": address_with(query, lasso="")}
    return TemplateResponse(request, "responses/viewer.html#scatter", context)


def check_all(columns: Columns, response_query: ResponseQuery) -> None:
    """Raise UnknownChoice if a parameter is invalid or a column is missing: a file cannot show a notice."""
    if problems := [*columns.missing, *columns.problems, *response_query.problems, *response_query.notices]:
        raise UnknownChoice(" ".join(problems))


@require_POST
def viewer_cover(request: SignedIn) -> HttpResponse:
    """Show responses that may disturb, or cover them, and redirect to the page that `next` names.

    `show` is now (until the user signs out), always, or never (cover them).
    """
    show = request.POST.get("show", "")
    request.session[SHOWN_SESSION_KEY] = show in ("now", "always")
    if show in ("always", "never"):
        Preference.objects.update_or_create(person=request.user, defaults={"shows_answers": show == "always"})
    next_url = request.POST.get("next", "")
    is_safe_url = url_has_allowed_host_and_scheme(next_url, {request.get_host()}, require_https=request.is_secure())
    return redirect(next_url if is_safe_url and next_url.startswith("/") else reverse("viewer"))


def is_covered(request: SignedIn) -> bool:
    """Return whether responses that may disturb are covered: the user has not selected to see them."""
    if request.session.get(SHOWN_SESSION_KEY):
        return False
    return not Preference.objects.filter(person=request.user, shows_answers=True).exists()


@dataclass(frozen=True)
class _Choices:
    """Choices for these columns: scorers, choices of annotation sources, and how many prompts each category has."""

    scorers: list[str]
    picks: dict[str, PickOptions]
    kinds: dict[str, int]


def _form_of_chart(request: HttpRequest) -> tuple[str, QueryDict]:
    """Return csv or table if `as` names one, and the remaining parameters.

    `as` also names how the text search is read.
    """
    values = request.GET.getlist("as")
    form = next((value for value in values if value in FORMS), "")
    if not form:
        return "", request.GET
    query = request.GET.copy()
    query.setlist("as", [value for value in values if value not in FORMS])
    return form, query


def _parse_request(request: HttpRequest, query: QueryDict | None = None) -> tuple[Columns, ResponseQuery, _Choices]:
    query = request.GET if query is None else query
    columns = columns_of(request.user, query.getlist("run"), query.get("pin", ""))
    choices = _Choices(scorers_of(columns), picked(columns), categories(columns))
    return columns, parse_response_query(query, columns.letters, choices.scorers, choices.picks, choices.kinds), choices


def scorers_of(columns: Columns) -> list[str]:
    """Return the names of the scorers that have scored responses of these runs afterwards."""
    rows = Score.objects.filter(response__run__in=[column.run.pk for column in columns.all])
    return list(rows.order_by("scorer").values_list("scorer", flat=True).distinct())


def _form(request: SignedIn, columns: Columns, response_query: ResponseQuery, choices: _Choices) -> dict[str, Any]:
    query = request.GET
    return {
        "in_words": describe_filters(response_query, query, choices.picks), "clear": cleared_address(query),
        "form": form_context(query, columns, response_query, choices.picks, choices.kinds),
        "all_samples": address_with(query, samples="" if query.get("samples") else "all"),
        "bare": address_with(QueryDict(mutable=True), run=[column.word for column in columns.all]),
    }  # fmt: skip


def _page(request: SignedIn, columns: Columns, response_query: ResponseQuery) -> dict[str, Any]:
    page, problems = _find_page(request, columns, response_query)
    differing = choice_or_default(request, "diff", ("", "pinned"), "") == "pinned" and len(columns.all) > 1
    summaries = sums(columns, response_query)
    chips_by_response = chips(columns, [row.answers for row in page.rows])
    rows = [
        _with_category_links(row, request)
        for row in rows_of(page.rows, columns, response_query, differing=differing, chips=chips_by_response)
    ]
    has_costs = any(summary.cost is not None for summary in summaries)
    # Only texts are blurred; of some imported runs only the scores are known.
    is_sensitive = has_costs and any(cell.has_text for row in rows for cell in row.cells)
    return {
        "found": page, "rows": rows, "troubles": problems, "differing": differing,
        "heads": heads(request.GET, columns, summaries), "is_sensitive": is_sensitive,
        "is_covered": is_sensitive and is_covered(request), "notes": notes(columns),
        "has_costs": has_costs,
        "layout": {name: request.COOKIES.get(f"responses-{name}") == "on" for name in LAYOUT_COOKIES},
        "has_right_answers": response_query.needs_correctness or any(_has_correctness(row) for row in rows),
        **_page_links(request, page), **_difference_link(request, columns),
    }  # fmt: skip


def _has_correctness(row: PromptRow) -> bool:
    return any(cell.correctness for cell in row.cells)


def _with_category_links(row: PromptRow, request: SignedIn) -> PromptRow:
    """Return the row with links from its categories to the rows that have them too."""
    return replace(row, kinds=[(name, address_with(request.GET, category=name)) for name in row.prompt.categories])


def _find_page(request: SignedIn, columns: Columns, response_query: ResponseQuery) -> tuple[ResponsePage, list[str]]:
    problems = []
    cursors: dict[str, ResponseCursor | None] = {"after": None, "before": None}
    for name in cursors:
        try:
            cursors[name] = ResponseCursor.read(request.GET[name]) if request.GET.get(name) else None
        except InvalidCursor:
            problems.append(gettext("Unknown position %(name)s: showing the first page.") % {"name": name})
    try:
        return find(columns, response_query, ROWS_PER_PAGE, cursors["after"], cursors["before"]), problems
    except QueryFailed as error:
        problems.append(gettext("The query cannot be answered: %(why)s.") % {"why": error})
        return ResponsePage([], 0, 0, has_before=False, has_after=False), problems


def _page_links(request: SignedIn, page: ResponsePage) -> dict[str, str]:
    """Return the URLs of the previous and next page, of the toggled diff, of the export and of the scatter plot."""
    query = request.GET
    first, last = (page.rows[0].cursor, page.rows[-1].cursor) if page.rows else (None, None)
    return {
        "previous": f"{address_without(query)}&before={first}" if page.has_before and first else "",
        "next": f"{address_without(query)}&after={last}" if page.has_after and last else "",
        "diff_address": same_page_address(query, diff="" if query.get("diff") else "pinned"),
        "export": reverse("viewer-export") + address_without(query),
        "scatter": reverse("viewer-scatter") + address_without(query),
    }  # fmt: skip


def _difference_link(request: SignedIn, columns: Columns) -> dict[str, Any]:
    """Return the URL that sorts by the largest differences, or by row if it is sorted so; empty for a single column."""
    query = request.GET
    if len(columns.all) < 2:
        return {"difference_address": ""}
    is_active = query.get("sort") == LARGEST_DIFFERENCES
    sort = "" if is_active else LARGEST_DIFFERENCES
    address = address_with(query, sort=sort, pin=columns.pinned.word)
    return {"difference_address": address, "is_by_difference": is_active}


def _offered(request: SignedIn, columns: Columns) -> list[Run]:
    """Return runs with responses to select from that this user may see, the newest first.

    They belong to the experiments of the columns and of the URL, or to any experiment if there are none.
    """
    runs = Run.objects.visible_to(request.user).select_related("experiment").filter(archived_at__isnull=True)
    experiment = named_experiment(request, request.GET.get("experiment", ""))
    at_hand = {column.run.experiment_id for column in columns.all} | ({experiment.pk} if experiment else set())
    runs = runs.filter(experiment__in=at_hand) if at_hand else runs
    answers = Response.objects.filter(run=OuterRef("pk"), split=SPLIT)
    others = runs.exclude(pk__in=[column.run.pk for column in columns.all]).filter(Exists(answers))
    return list(others.order_by("-pk")[:MAX_OFFERED_RUNS])


@require_safe
def viewer_response(request: SignedIn, uid: str, step: int, digest: str) -> HttpResponse:
    """Render a response with all stored data about it."""
    run = visible_run(request, uid)
    sample = request.GET.get("sample", "0")
    is_number = sample.isascii() and sample.isdigit() and len(sample) < 9
    response = answers_of(run, step, digest).filter(sample=int(sample) if is_number else -1).first()
    if response is None:
        raise Http404("this run has no such response")
    cell = Cell(Column("A", run, step), response, response.reward, response.cost)
    scores = response.scores.order_by("scorer", "key")
    context = {
        "run": run, "cell": cell, "prompt": response.prompt, "scores": scores, "step": step, "sample": response.sample,
        "is_covered": response.cost is not None and cell.has_text and is_covered(request),
        "parts": sorted(response.parts.items()),
        "others": answers_of(run, step, digest).exclude(pk=response.pk).order_by("sample"),
    }  # fmt: skip
    return TemplateResponse(request, "responses/viewer_response.html", context)


def answers_of(run: Run, step: int, digest: str) -> QuerySet[Response]:
    """Return the held-out responses of a step to the prompts with this digest prefix.

    Superseded responses are left out.
    """
    responses = Response.objects.filter(run=run, step=step, split="eval", is_superseded=False)
    return responses.filter(prompt__digest__startswith=digest).select_related("prompt")
