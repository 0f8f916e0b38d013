"""The runs table of an experiment as a file: CSV with every digit, or LaTeX for a paper."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from runs.compare.run_table import MAX_EXPORTED_ROWS, data_table, notes, paper_table, runs_table
from runs.http import FILES, SignedIn, UnknownChoice, require_choice, table_response, visible_experiment


@require_safe
def experiment_table(request: SignedIn, pk: int) -> HttpResponse:
    """Return all matching rows, up to a limit, of the table that the address selects, as `as` says: csv or latex.

    Without `as`, redirect to the CSV. Raise UnknownChoice for a query with a problem.
    """
    experiment = visible_experiment(request, pk)
    if "as" not in request.GET:
        query = request.GET.copy()
        query["as"] = FILES[0]
        return redirect(f"{request.path}?{query.urlencode()}")
    form = require_choice(request, "as", FILES, FILES[0])
    table = runs_table(request, experiment, MAX_EXPORTED_ROWS)
    if table.problems:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in table.problems))
    content = data_table(table) if form == "csv" else paper_table(table)
    return table_response(request, content, f"{experiment.name} runs", notes(table, experiment.name))
