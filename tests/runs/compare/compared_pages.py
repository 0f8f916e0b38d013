"""Pages of comparisons of runs, for tests: their addresses, their text, and their sections."""

import re

from django.urls import reverse

from runs.models import Run


def address(runs, route="compare", **query):
    pairs = [*(("run", run.uid) for run in runs), *query.items()]
    return f"{reverse(route)}?{'&'.join(f'{key}={value}' for key, value in pairs)}"


def page_of(client, runs, route="compare", **query):
    answer = client.get(address(runs, route, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def text_of(page):
    """Return the text of a page without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def section_of(page, name):
    """Return the section of a page with this heading."""
    (section,) = re.findall(rf'<section [^>]*aria-labelledby="{name}-title".*?</section>', page, re.DOTALL)
    return section


def copy_of(run):
    return Run.objects.create(
        experiment=run.experiment, name="again", method=run.method, seed=run.seed, config=run.config,
        created_by=run.created_by,
    )  # fmt: skip
