"""Views that compare responses: a row for each prompt, a column for each of up to six runs or checkpoints.

The URL holds the whole state of the page.
"""

from __future__ import annotations

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

from runs.http import SignedIn, UnknownChoice, chart_response, choice, named_experiment, visible_run
from runs.models import Preference, Response, Run, Score
from runs.responses.viewer.active_filters import having, in_words, staying, without
from runs.responses.viewer.annotations import Picked, chips, notes, picked
from runs.responses.viewer.categories import categories
from runs.responses.viewer.cells import Asking, Cell, rows_of
from runs.responses.viewer.columns import COLUMNS_AT_MOST, SPLIT, Column, Columns, columns_of
from runs.responses.viewer.cursor import NotAPlace, ResponseCursor
from runs.responses.viewer.forms import cleared, form_of, heads
from runs.responses.viewer.queries import ResponsePage, Slow, find, points, sums
from runs.responses.viewer.response_query import ResponseQuery, asked_of
from runs.responses.viewer.scatter import Cloud, reward_cost

ROWS_A_PAGE = 10
OFFERED = 60
FORMS = ("csv", "table")
SHOWN = "answers_shown"


@require_safe
def viewer(request: SignedIn) -> HttpResponse:
    """Render the whole page; if no column is chosen yet, offer runs to choose from."""
    if any(not all(values) for _, values in request.GET.lists()):
        # A form says also what it does not ask: the address is to be one that people can send.
        return redirect(reverse("viewer") + staying(request.GET))
    columns, asked, choices = _asked(request)
    problems = [*columns.problems, *asked.problems]
    is_refused = bool(problems or (columns.missing and not columns.all))
    context: dict[str, Any] = {"columns": columns, "asked": asked, "scorers": choices.scorers, "is_refused": is_refused}
    context["offered"] = _offered(request, columns)
    if columns.all:
        context |= _form(request, columns, asked, choices)
    if columns.all and not is_refused:
        context |= _page(request, columns, asked)
    notices = [*columns.missing, *problems, *asked.notices, *context.get("troubles", [])]
    context |= {"most": COLUMNS_AT_MOST, "problems": notices}
    # The form still comes, so that people can mend what they asked for.
    return TemplateResponse(request, "responses/viewer.html", context, status=404 if is_refused else 200)


@require_safe
def viewer_scatter(request: SignedIn) -> HttpResponse:
    """Render the scatter plot of all responses of the columns, or its numbers as a table or CSV."""
    form, query = _form_of_chart(request)
    columns, asked, _ = _asked(request, query)
    check_all(columns, asked)
    drawn = points(columns, asked) if columns.all else []
    clouds = [
        Cloud(column.letter, column.run.name, column.method, dots, total, column.missing)
        for column, (dots, total) in zip(columns.all, drawn, strict=True)
    ]
    chart = reward_cost(clouds, asked.lasso)
    if form:
        return chart_response(request, chart, chart.name)
    context = {"chart": chart, "ask_address": having(query, lasso="")}
    return TemplateResponse(request, "responses/viewer.html#scatter", context)


def check_all(columns: Columns, asked: ResponseQuery) -> None:
    """Raise UnknownChoice if a parameter is invalid or a column is missing: a file has no place for a notice."""
    if problems := [*columns.missing, *columns.problems, *asked.problems, *asked.notices]:
        raise UnknownChoice(" ".join(problems))


@require_POST
def viewer_cover(request: SignedIn) -> HttpResponse:
    """Show responses that may disturb, or cover them, and redirect to the page that `next` names.

    `show` is now (until the person signs out), always, or never (cover them).
    """
    show = request.POST.get("show", "")
    request.session[SHOWN] = show in ("now", "always")
    if show in ("always", "never"):
        Preference.objects.update_or_create(person=request.user, defaults={"shows_answers": show == "always"})
    there = request.POST.get("next", "")
    is_here = url_has_allowed_host_and_scheme(there, {request.get_host()}, require_https=request.is_secure())
    return redirect(there if is_here and there.startswith("/") else reverse("viewer"))


def is_covered(request: SignedIn) -> bool:
    """Return whether responses that may disturb are covered: the person has not chosen to see them."""
    if request.session.get(SHOWN):
        return False
    return not Preference.objects.filter(person=request.user, shows_answers=True).exists()


@dataclass(frozen=True)
class _Choices:
    """Choices for these columns: scorers, choices of annotation sources, and how many prompts each category has."""

    scorers: list[str]
    picks: dict[str, Picked]
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


def _asked(request: HttpRequest, query: QueryDict | None = None) -> tuple[Columns, ResponseQuery, _Choices]:
    query = request.GET if query is None else query
    columns = columns_of(request.user, query.getlist("run"), query.get("pin", ""))
    there = _Choices(scorers_of(columns), picked(columns), categories(columns))
    return columns, asked_of(query, columns.letters, there.scorers, there.picks, there.kinds), there


def scorers_of(columns: Columns) -> list[str]:
    """Return the names of the scorers that have scored responses of these runs afterwards."""
    rows = Score.objects.filter(response__run__in=[column.run.pk for column in columns.all])
    return list(rows.order_by("scorer").values_list("scorer", flat=True).distinct())


def _form(request: SignedIn, columns: Columns, asked: ResponseQuery, choices: _Choices) -> dict[str, Any]:
    query = request.GET
    return {
        "in_words": in_words(asked, query, choices.picks), "clear": cleared(query),
        "form": form_of(query, columns, asked, choices.picks, choices.kinds),
        "all_samples": having(query, samples="" if query.get("samples") else "all"),
        "bare": having(QueryDict(mutable=True), run=[column.word for column in columns.all]),
    }  # fmt: skip


def _page(request: SignedIn, columns: Columns, asked: ResponseQuery) -> dict[str, Any]:
    found, troubles = _found(request, columns, asked)
    differing = choice(request, "diff", ("", "pinned"), "") == "pinned" and len(columns.all) > 1
    each = sums(columns, asked)
    told = chips(columns, [row.answers for row in found.rows])
    rows = [_leading(one, request) for one in rows_of(found.rows, columns, asked, differing=differing, told=told)]
    is_sensitive = any(one.cost is not None for one in each)
    return {
        "found": found, "rows": rows, "troubles": troubles, "differing": differing,
        "heads": heads(request.GET, columns, each), "is_sensitive": is_sensitive,
        "is_covered": is_sensitive and is_covered(request), "notes": notes(columns),
        "has_costs": is_sensitive,
        **_ways(request, found),
    }  # fmt: skip


def _leading(row: Asking, request: SignedIn) -> Asking:
    """Return the row with links from its categories to the rows that have them too."""
    return replace(row, kinds=[(name, having(request.GET, category=name)) for name in row.prompt.categories])


def _found(request: SignedIn, columns: Columns, asked: ResponseQuery) -> tuple[ResponsePage, list[str]]:
    troubles = []
    places: dict[str, ResponseCursor | None] = {"after": None, "before": None}
    for name in places:
        try:
            places[name] = ResponseCursor.read(request.GET[name]) if request.GET.get(name) else None
        except NotAPlace:
            troubles.append(
                gettext("%(name)s is no place that a page here has given out: showing the first.") % {"name": name}
            )
    try:
        return find(columns, asked, ROWS_A_PAGE, places["after"], places["before"]), troubles
    except Slow as slow:
        troubles.append(gettext("What is asked cannot be answered: %(why)s.") % {"why": slow})
        return ResponsePage([], 0, 0, has_before=False, has_after=False), troubles


def _ways(request: SignedIn, found: ResponsePage) -> dict[str, str]:
    """Return the URLs of the previous and next page, of the toggled diff, of the export and of the scatter plot."""
    query = request.GET
    first, last = (found.rows[0].place, found.rows[-1].place) if found.rows else (None, None)
    return {
        "previous": f"{without(query)}&before={first}" if found.has_before and first else "",
        "next": f"{without(query)}&after={last}" if found.has_after and last else "",
        "diff_address": staying(query, diff="" if query.get("diff") else "pinned"),
        "export": reverse("viewer-export") + without(query), "scatter": reverse("viewer-scatter") + without(query),
    }  # fmt: skip


def _offered(request: SignedIn, columns: Columns) -> list[Run]:
    """Return runs with responses to choose from that this person may see, the newest first.

    They belong to the experiments of the columns and of the URL, or to any experiment if there are none.
    """
    runs = Run.objects.visible_to(request.user).select_related("experiment").filter(archived_at__isnull=True)
    experiment = named_experiment(request, request.GET.get("experiment", ""))
    at_hand = {column.run.experiment_id for column in columns.all} | ({experiment.pk} if experiment else set())
    runs = runs.filter(experiment__in=at_hand) if at_hand else runs
    answers = Response.objects.filter(run=OuterRef("pk"), split=SPLIT)
    others = runs.exclude(pk__in=[column.run.pk for column in columns.all]).filter(Exists(answers))
    return list(others.order_by("-pk")[:OFFERED])


@require_safe
def viewer_response(request: SignedIn, uid: str, step: int, digest: str) -> HttpResponse:
    """Render a response with all that is known about it."""
    run = visible_run(request, uid)
    sample = request.GET.get("sample", "0")
    is_number = sample.isascii() and sample.isdigit() and len(sample) < 9
    found = answers_of(run, step, digest).filter(sample=int(sample) if is_number else -1).first()
    if found is None:
        raise Http404("this run has kept no such answer")
    cell = Cell(Column("A", run, step), found, found.reward, found.cost)
    scores = found.scores.order_by("scorer", "key")
    context = {
        "run": run, "cell": cell, "prompt": found.prompt, "scores": scores, "step": step, "sample": found.sample,
        "is_covered": found.cost is not None and is_covered(request), "parts": sorted(found.parts.items()),
        "others": answers_of(run, step, digest).exclude(pk=found.pk).order_by("sample"),
    }  # fmt: skip
    return TemplateResponse(request, "responses/viewer_response.html", context)


def answers_of(run: Run, step: int, digest: str) -> QuerySet[Response]:
    """Return the held-out responses of a step to the prompts with this digest prefix.

    Superseded responses are left out.
    """
    found = Response.objects.filter(run=run, step=step, split="eval", is_superseded=False)
    return found.filter(prompt__digest__startswith=digest).select_related("prompt")
