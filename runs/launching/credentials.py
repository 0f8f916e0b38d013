"""Give an attempt access to this site and to a scorer: addresses in its environment, tokens in files of mode 0600.

The site creates the token of an attempt itself, bound to its run (scope run). A scorer's token comes from a named
secret that the run's creator may use. No path comes from a config.
"""

from __future__ import annotations

from django.conf import settings

from runs import access
from runs.models import Attempt, Cluster, Job, Run, ScorerSecret
from workers.attempt import PRIVATE, SCORER_TOKEN, SITE_TOKEN, write_whole
from workers.config import ConfigError, Problem, RunConfig, SafetyOptions
from workers.config.resources import (
    RUN_HOSTS,
    RUN_PUSHES,
    RUN_SCORER,
    RUN_SCORER_HOSTS,
    RUN_SCORER_TOKEN,
    RUN_SITE,
    RUN_SITE_TOKEN,
)
from workers.config.tasks import EMBEDDED
from workers.outgoing.run_hosts import format_hosts


def site_url_of(cluster: Cluster) -> str:
    """Return this site's address as the cluster's nodes call it; empty if it is not configured."""
    return str(cluster.config.get("site_url", "") or (settings.SITE_URL if cluster.kind == "local" else ""))


def credentials_environment(job: Job) -> dict[str, str]:
    """Return the environment variables with the addresses that the trainer may call and the files of their tokens."""
    config, cluster = job.run.run_config, job.cluster
    if cluster is None or not job.executes_run:
        return {}
    env: dict[str, str] = {}
    if _needs_site(config, cluster):
        env |= {RUN_SITE: site_url_of(cluster), RUN_SITE_TOKEN: SITE_TOKEN}
    if cluster.config.get("site_url"):
        env[RUN_PUSHES] = "1"
    if _names_address(config):
        env[RUN_HOSTS] = format_hosts(access.allowed_hosts(job.run.created_by))
    if secret := _secret_of(job.run):
        env[RUN_SCORER_TOKEN] = SCORER_TOKEN
        if config.scorer is None:
            env[RUN_SCORER] = secret.address
            env[RUN_SCORER_HOSTS] = format_hosts(access.allowed_hosts(secret.owner))
    return env


def write_credentials(attempt: Attempt) -> None:
    """Write the attempt's tokens into its directory. Raise ConfigError for a secret that cannot be opened, OSError."""
    config, cluster = attempt.run.run_config, attempt.cluster
    if cluster is not None and _needs_site(config, cluster):
        token = access.issue_run_token(attempt.run, attempt.key)
        write_whole(attempt.directory / SITE_TOKEN, token, sync=True, mode=PRIVATE)
    if secret := _secret_of(attempt.run):
        try:
            write_whole(attempt.directory / SCORER_TOKEN, access.token_of(secret), sync=True, mode=PRIVATE)
        except access.SecretLost as error:
            raise ConfigError([Problem("scorer", str(error))]) from error


def _names_address(config: RunConfig) -> bool:
    """Return whether a run calls an address that its config names. Registered services bring their own hosts."""
    options, server = config.task.options, config.es.adapter_server if config.es is not None else None
    has_scorer = isinstance(options, SafetyOptions) and options.scorer != EMBEDDED and not options.is_scorer_registered
    return has_scorer or (server is not None and not server.is_registered)


def _needs_site(config: RunConfig, cluster: Cluster) -> bool:
    """Return whether a run pushes its records, registers the scorer that it serves, or looks up a service."""
    options, server = config.task.options, config.es.adapter_server if config.es is not None else None
    looks_up = isinstance(options, SafetyOptions) and options.is_scorer_registered
    looks_up = looks_up or (server is not None and server.is_registered)
    return bool(site_url_of(cluster)) and bool(cluster.config.get("site_url") or config.scorer or looks_up)


def _secret_of(run: Run) -> ScorerSecret | None:
    """Return the secret that the run names: of a scorer that it serves, or of one that it calls."""
    config, person = run.run_config, run.created_by
    if config.scorer is not None:
        return ScorerSecret.objects.filter(owner=person, name=config.scorer.secret).first()
    options = config.task.options
    if not isinstance(options, SafetyOptions) or not options.is_scorer_registered:
        return None
    secret = access.find_secret(person, options.scorer)
    return secret if secret is not None and secret.address else None
