"""Who scores the answers: the tiny models in the process, a service found by its name, or one at an address.

A scorer that fails is asked again by its client, a few times. Whether training then waits until it is back, found anew
at each try, or ends, the config says. What does not mend by waiting, such as a wrong token, ends it in either case.
Nothing stands in for scores that were not given.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
from collections.abc import Callable, Sequence

from workers.client.registry import Refused, found
from workers.config import SafetyOptions
from workers.config.resources import is_started_by_site
from workers.config.tasks import EMBEDDED
from workers.scorer.client import FINAL, Scorer, ScorerClient, ScorerFailed, ScorerRefused, Scores
from workers.scorer.embedded import EmbeddedScorer
from workers.tasks.base import BadData

KIND = "scorer"
TRIES = 3
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
Wait = Callable[[float, str], None]
"""Waits so many seconds, and tells why. It may raise what ends the wait for good."""


class Asking:
    """The scorer of a config. `wait` may be replaced by whoever can hear that the run is to stop."""

    def __init__(self, options: SafetyOptions) -> None:
        if options.is_scorer_registered and not (options.scorer_site and options.scorer_site_token_file):
            raise BadData(
                f"the scorer {options.scorer!r} is found by its name at a site: give scorer_site and "
                f"scorer_site_token_file, an address as the scorer, or {EMBEDDED}"
            )
        self._options = options
        self._embedded = EmbeddedScorer() if options.scorer == EMBEDDED else None
        self.wait: Wait = lambda seconds, why: time.sleep(seconds)

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """One for each pair, in order. Raises ScorerFailed once there is no more waiting, ScorerRefused at once."""
        if self._embedded is not None:
            return self._embedded.score(prompts, responses)
        patience = self._options.scorer_wait_seconds if self._options.on_scorer_failure == "wait" else 0.0
        until, pause = time.monotonic() + patience, FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._found().score(prompts, responses)
            except ScorerRefused:
                raise
            except ScorerFailed as error:
                left = until - time.monotonic()
                if left <= 0:
                    raise
                seconds = min(pause, left)
                self.wait(seconds, f"{error}; asked again in {seconds:.0f} s")
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _found(self) -> Scorer:
        """A client of the scorer, where it is now. Raises ScorerFailed, ScorerRefused."""
        options = self._options
        if not options.is_scorer_registered:
            return self._client(options.scorer, token_file=options.scorer_token_file)
        try:
            offer = found(options.scorer_site, options.scorer_site_token_file, KIND, options.scorer)
        except (Refused, OSError, http.client.HTTPException, ValueError) as error:
            said = f"{options.scorer_site} does not say where the scorer {options.scorer} is: {error}"
            raise (ScorerRefused if _lasts(error) else ScorerFailed)(said) from error
        if offer is None:
            raise ScorerFailed(f"no scorer of the name {options.scorer} is alive on {options.scorer_site}")
        if is_started_by_site():
            # This process has the site's rights, and the path of an offer is what some program said.
            return self._client(offer.address, token=offer.token)
        return self._client(offer.address, token=offer.token, token_file=offer.token_file)

    def _client(self, url: str, token: str = "", token_file: str = "") -> ScorerClient:
        return ScorerClient(
            url,
            token=token,
            token_file=token_file,
            batch_size=self._options.scorer_batch,
            tries=TRIES,
            timeout_seconds=self._options.scorer_timeout_seconds,
            pause=lambda seconds: self.wait(seconds, f"the scorer at {url} is asked again in {seconds:.1f} s"),
        )


def _lasts(error: Exception) -> bool:
    """True where a site's silence is not mended by waiting: it refuses, is none, or the token for it is not there."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in FINAL
    return isinstance(error, (Refused, FileNotFoundError, PermissionError))
