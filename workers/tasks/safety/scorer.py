"""The scorer of the answers: the tiny models in the process, a service found by its name, or one at an address.

The client retries a scorer that fails a few times. The config then decides whether training waits until it is back,
looking it up again at each try, or ends. An error that waiting does not fix, such as a wrong token, ends it in either
case. Missing scores are never replaced.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
from collections.abc import Callable, Sequence

from workers.client.registry import Refused, find_service
from workers.config import SafetyOptions
from workers.config.resources import is_started_by_site
from workers.config.tasks import EMBEDDED
from workers.outgoing import Entries
from workers.outgoing.run_hosts import offered_hosts, run_hosts
from workers.scorer.client import FINAL, Scorer, ScorerClient, ScorerFailed, ScorerRefused, Scores
from workers.scorer.embedded import EmbeddedScorer
from workers.tasks.base import BadData

KIND = "scorer"
TRIES = 3
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 30.0
Wait = Callable[[float, str], None]
"""Wait so many seconds, for a reason. The function may raise to end the wait for good."""


class PatientScorer:
    """The scorer of a config. `wait` may be replaced by a function that can tell that the run is to stop."""

    def __init__(self, options: SafetyOptions) -> None:
        if options.is_scorer_registered and not (options.scorer_site and options.scorer_site_token_file):
            raise BadData(
                f"the scorer {options.scorer!r} is looked up by its name on a site: give scorer_site and "
                f"scorer_site_token_file, an address as the scorer, or {EMBEDDED}"
            )
        self._options = options
        self._embedded = EmbeddedScorer() if options.scorer == EMBEDDED else None
        self.wait: Wait = lambda seconds, reason: time.sleep(seconds)

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """Return the scores of each pair, in order. Raise ScorerFailed when the time to wait is over, ScorerRefused
        immediately."""
        if self._embedded is not None:
            return self._embedded.score(prompts, responses)
        patience = self._options.scorer_wait_seconds if self._options.on_scorer_failure == "wait" else 0.0
        deadline, pause = time.monotonic() + patience, FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._find_client().score(prompts, responses)
            except ScorerRefused:
                raise
            except ScorerFailed as error:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                seconds = min(pause, left)
                self.wait(seconds, f"{error}; retrying in {seconds:.0f} s")
                pause = min(2 * pause, MAX_PAUSE_SECONDS)

    def _find_client(self) -> Scorer:
        """Return a client of the scorer at its current address. Raise ScorerFailed or ScorerRefused."""
        options = self._options
        if not options.is_scorer_registered:
            return self._client(options.scorer, run_hosts(options.scorer), token_file=options.scorer_token_file)
        try:
            offer = find_service(options.scorer_site, options.scorer_site_token_file, KIND, options.scorer)
        except (Refused, OSError, http.client.HTTPException, ValueError) as error:
            message = f"{options.scorer_site} did not return the address of the scorer {options.scorer}: {error}"
            raise (ScorerRefused if _is_permanent(error) else ScorerFailed)(message) from error
        if offer is None:
            raise ScorerFailed(f"no scorer named {options.scorer} is alive on {options.scorer_site}")
        # A process of a site has its rights, and the path of an offer comes from another program.
        token_file = "" if is_started_by_site() else offer.token_file
        return self._client(offer.address, offered_hosts(offer.hosts), offer.token, token_file)

    def _client(self, url: str, hosts: Entries, token: str = "", token_file: str = "") -> ScorerClient:
        return ScorerClient(
            url,
            hosts=hosts,
            token=token,
            token_file=token_file,
            batch_size=self._options.scorer_batch,
            tries=TRIES,
            timeout_seconds=self._options.scorer_timeout_seconds,
            pause=lambda seconds: self.wait(seconds, f"retrying the scorer at {url} in {seconds:.1f} s"),
        )


def _is_permanent(error: Exception) -> bool:
    """Return whether waiting does not help: the site refuses or is none, or the token for it is missing."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in FINAL
    return isinstance(error, (Refused, FileNotFoundError, PermissionError))
