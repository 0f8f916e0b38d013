"""Fill a site with the rows that the examples of the API name: python -m tests.releases.sample_site.

`DATABASE_URL` and `ESWEB_DATA` name the site.
"""

from __future__ import annotations

import django

django.setup()

from judging import boards  # noqa: E402  (models exist only once Django is set up)
from judging.models import Tournament  # noqa: E402
from runs.models import Cluster, Experiment, Run, Scoring  # noqa: E402
from runs.service_registry import commands  # noqa: E402
from tests.conftest import person  # noqa: E402
from tests.judging.sample_tournament import count_from_one, meeting  # noqa: E402
from tests.judging.tournament_factory import make_gold_set  # noqa: E402
from tests.runs import full_runs  # noqa: E402
from tests.runs.http.test_api_examples import fill  # noqa: E402


def main() -> None:
    """Create a user, runs with every kind of record, a sweep, a view, limits, services, scores, judges and a board."""
    ada = person("ada")
    Cluster.objects.get_or_create(name="local", defaults={"kind": "local"})
    fill(ada)
    run = Run.objects.filter(sweep=None).order_by("pk")[0]
    count_from_one()
    meeting(ada, run.experiment)
    Run.objects.filter(attempts__state="succeeded").update(state="succeeded")
    make_gold_set(ada)
    tournament = Tournament.objects.get()
    boards.save_board(tournament, tournament.rubrics.order_by("pk")[0])
    commands.register(ada, commands.Registration("scorer", "beaver", "4f1c9a52e0b7", "http://127.0.0.1:9"))
    Scoring.objects.create(id=1, run=run, scorer="beaver", asked_by=ada, state="failed")
    failed = full_runs.make_run(
        Experiment.objects.create(name="Words that ended", owner=ada), "grpo-micro", state="failed"
    )
    full_runs.record(failed, full_runs.a_bit_of_everything((0, 5)))


if __name__ == "__main__":
    main()
