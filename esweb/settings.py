"""All settings: values of the environment, else defaults for one user on one machine.

`.env.example` lists every variable that is read here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF, UNSAFE_INLINE

from esweb import embedded, env, languages
from esweb.bootstrap import secret_key

BASE_DIR = Path(__file__).resolve().parent.parent

# Where state lives ---------------------------------------------------------------------------------------------------

DATA_DIR = env.folder("ESWEB_DATA", BASE_DIR / ".esweb")
RUNS_DIR = DATA_DIR / "runs"
CACHE_DIR = env.folder("ESWEB_CACHE", DATA_DIR / "cache")
DATABASE_URL = env.secret("DATABASE_URL") or embedded.database_url(DATA_DIR)
REDIS_URL = env.secret("REDIS_URL") or embedded.redis_url(DATA_DIR)
# A container or a batch job may have fewer cores than the machine; macOS cannot report them.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LOCAL_SLOTS = env.number("ESWEB_LOCAL_SLOTS", CORES, at_least=1)

DATABASES: dict[str, Any] = {"default": env.database(DATABASE_URL)}
# A pool, because an ASGI server runs each request on whichever thread is free: connections that last would pile up.
POOL = {"max_size": 8, "timeout": 3.0}
DATABASES["default"]["OPTIONS"] = {"connect_timeout": 3, **DATABASES["default"]["OPTIONS"], "pool": POOL}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": env.redis_limits(1.0),
    }
}

# Who may come in -----------------------------------------------------------------------------------------------------

DEBUG = env.flag("ESWEB_DEBUG")
SECRET_KEY = env.secret("SECRET_KEY") or secret_key.load_secret_key(DATA_DIR)
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
# Hosts of Ray dashboards that a cluster's config may name: the server sends them jobs, and tokens.
RAY_HOSTS = env.words("ESWEB_RAY_HOSTS", "localhost,127.0.0.1,[::1]")
# Hosts of model judges, which get the judges' keys: workers/outgoing defines the rule of this list and the next.
JUDGE_HOSTS = env.words("ESWEB_JUDGE_HOSTS", "localhost,127.0.0.1,[::1]")
# Hosts of services that are called for members: runs/access/scorer_hosts.py.
SCORER_HOSTS = env.words("ESWEB_SCORER_HOSTS", "localhost,127.0.0.1,[::1]")
# This site's address for runs on this machine; `manage.py up` sets it. Other clusters have it in their config.
SITE_URL = env.text("ESWEB_SITE_URL")
HTTPS = env.flag("ESWEB_HTTPS")
# Proxies in front of this site, whose X-Forwarded-For names the client: middleware/client_address.py.
PROXIES = env.networks("ESWEB_PROXIES")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
# Health checks of this machine speak plain HTTP to the web itself, not to the proxy before it.
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
# No script reads it: pages hold the token themselves.
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "runs.accounts.password_rules.DistinctCharactersValidator"},
]
# How often, a minute: calls of a token or session, pushes of a run's records, calls without a good token from one
# address, and tries to sign in from one address.
CALLS_PER_MINUTE = env.number("ESWEB_CALLS_PER_MINUTE", 1200, at_least=1)
PUSHES_PER_MINUTE = env.number("ESWEB_PUSHES_PER_MINUTE", 12_000, at_least=1)
STRANGERS_PER_MINUTE = env.number("ESWEB_STRANGERS_PER_MINUTE", 60, at_least=1)
SIGN_INS_PER_MINUTE = env.number("ESWEB_SIGN_INS_PER_MINUTE", 10, at_least=1)
# How many connections a web process takes, and how many of them from one address that is no proxy of ESWEB_PROXIES.
MAX_CONNECTIONS = env.number("ESWEB_MAX_CONNECTIONS", 1000, at_least=10)
CONNECTIONS_PER_ADDRESS = env.number("ESWEB_CONNECTIONS_PER_ADDRESS", 500, at_least=10)
# The memory for the points that all requests of a web process read at the same time.
SERIES_MEMORY_MB = env.number("ESWEB_SERIES_MEMORY_MB", 512, at_least=16)
# Free space below which pages and the terminal warn of a disk: esweb/bootstrap/disk_room.py.
LOW_DISK_MB = env.number("ESWEB_LOW_DISK_MB", 2048)
# The longest message that a page sends over a WebSocket, in bytes: it names at most a hundred runs.
SOCKET_MESSAGE_BYTES = 64 * 1024
# What one import may cost, over all its files and archives together.
IMPORT_INFLATED_MB = env.number("ESWEB_IMPORT_INFLATED_MB", 1024, at_least=1)
IMPORT_FILES = env.number("ESWEB_IMPORT_FILES", 10_000, at_least=1)
IMPORT_SECONDS = env.number("ESWEB_IMPORT_SECONDS", 600, at_least=1)
IMPORT_CPU_SECONDS = env.number("ESWEB_IMPORT_CPU_SECONDS", 300, at_least=1)
IMPORT_MEMORY_MB = env.number("ESWEB_IMPORT_MEMORY_MB", 4096, at_least=1024)
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        # Charts place their parts with style attributes.
        "style-src": [SELF, UNSAFE_INLINE],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
        "base-uri": [NONE],
        "object-src": [NONE],
    }
}

# The longest form, in bytes, without its files; middleware/body_limits.py has the limits of strangers and of uploads.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
DATA_UPLOAD_MAX_NUMBER_FILES = 100

# What answers a request ----------------------------------------------------------------------------------------------

ROOT_URLCONF = "esweb.urls"
ASGI_APPLICATION = "esweb.asgi.application"
INSTALLED_APPS = [
    "esweb.apps.EswebAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "esweb.apps.EswebConfig",
    "runs",
    "judging",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    # Before everything that looks at the Host header.
    "esweb.bootstrap.health.LocalHealth",
    "esweb.middleware.static_files.StaticFiles",
    "esweb.middleware.cache_headers.PrivateResponses",
    "esweb.middleware.compression.Compression",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "esweb.middleware.locale.ApiLocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "esweb.middleware.fragments.FragmentPages",
    # Last, so that its refusals carry the headers that protect; sessions are looked up lazily, when it has let through.
    "esweb.middleware.body_limits.BodyRefusals",
    # Pushes wait for a slot before their token is looked up, because a request keeps its connection to the database.
    "esweb.middleware.back_pressure.BackPressure",
    "esweb.middleware.rate_limits.Limits",
    "esweb.middleware.unstorable.Unstorable",
    "esweb.middleware.series_memory.SeriesMemory",
    "esweb.middleware.busy_slots.BusySlots",
]
LOADERS = ["django.template.loaders.filesystem.Loader", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            # The partials loader finds page.html#fragment; the cached loader must be inside it.
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    LOADERS if DEBUG else [("django.template.loaders.cached.Loader", LOADERS)],
                )
            ],
            "builtins": [
                "template_partials.templatetags.partials",
                "django.templatetags.static",
                "django.templatetags.i18n",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "esweb.bootstrap.disk_room.scarce_disks",
            ],
        },
    }
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# With this flag `collectstatic` fills STATIC_ROOT, and pages name files there: with a digest, small, cached for ever.
STATIC_COLLECTED = env.flag("ESWEB_STATIC_COLLECTED")
STATIC_ROOT = env.folder("ESWEB_STATIC_ROOT", DATA_DIR / "static") if STATIC_COLLECTED else None
WHITENOISE_USE_FINDERS = not STATIC_COLLECTED
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "esweb.middleware.static_files.BundledStorage"
        if STATIC_COLLECTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
USE_I18N = True
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGES = languages.languages(LOCALE_PATHS[0])
TIME_ZONE = "UTC"
USE_TZ = True

# Jobs: short, safe to repeat, never waiting for a run ----------------------------------------------------------------

TICK_SECONDS = env.number("ESWEB_TICK_SECONDS", 2, at_least=1)
# As in nice(1): trainings on this machine leave the cores to the site, which needs little and should answer soon.
RUN_NICENESS = env.number("ESWEB_RUN_NICENESS", 10, at_least=0)
# A second, loaded process of the web and of the follower, which takes over if the first one ends.
SPARE_PROCESSES = env.flag("ESWEB_SPARE_PROCESSES", default=True)
RESUME_AFTER_STOP = env.flag("ESWEB_RESUME_AFTER_STOP", default=True)
SWEEP_RUNS = env.number("ESWEB_SWEEP_RUNS", 1000, at_least=1)
CELERY_BROKER_URL = env.celery_broker(REDIS_URL)
# A frozen Valkey delays nothing for longer: not the web, not beat, not a job that queues others.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "socket_keepalive": True}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SOFT_TIME_LIMIT = 60
CELERY_TASK_TIME_LIMIT = 120
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A job whose queue has gone is started again from the beginning, which is safe: no need to finish it.
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Ticks have their own queue, so that a slow cluster, given its own worker, cannot starve submits.
CELERY_TASK_DEFAULT_QUEUE = "jobs"
CELERY_TASK_ROUTES = {"runs.jobs.tick_*": {"queue": "ticks"}, "esweb.jobs.tick": {"queue": "ticks"}}
# Never asleep for longer, so that a clock that was set back is noticed.
CELERY_BEAT_MAX_LOOP_INTERVAL = TICK_SECONDS
WAITING_JOBS_SECONDS = 2
CELERY_BEAT_SCHEDULE: dict[str, Any] = {
    "tick": {
        "task": "esweb.jobs.tick",
        "schedule": float(TICK_SECONDS),
        # Ticks that nobody took while the worker was away are worth nothing.
        "options": {"expires": 2.0 * TICK_SECONDS},
    },
    "compact-series": {"task": "runs.jobs.compact_series", "schedule": 60.0, "options": {"expires": 60.0}},
    "check-flags": {"task": "runs.jobs.check_flags", "schedule": 10.0, "options": {"expires": 20.0}},
    "measure-collapse": {"task": "runs.jobs.measure_collapse", "schedule": 15.0, "options": {"expires": 30.0}},
    "keep-boards": {"task": "judging.jobs.keep_boards", "schedule": 10.0, "options": {"expires": 10.0}},
    "purge-tournaments": {"task": "judging.jobs.purge_bin", "schedule": 600.0, "options": {"expires": 600.0}},
    "check-external-runs": {"task": "runs.jobs.check_external_runs", "schedule": 15.0, "options": {"expires": 15.0}},
    "purge-bin": {"task": "runs.jobs.purge_bin", "schedule": 600.0, "options": {"expires": 600.0}},
    "measure-disk": {"task": "runs.jobs.measure_disk", "schedule": 60.0, "options": {"expires": 60.0}},
    "purge-copies": {"task": "runs.jobs.purge_copies", "schedule": 3600.0, "options": {"expires": 3600.0}},
}
if TICK_SECONDS > WAITING_JOBS_SECONDS:
    # A tick queues the waiting jobs too.
    CELERY_BEAT_SCHEDULE["queue-waiting-jobs"] = {
        "task": "esweb.jobs.queue_waiting_jobs",
        "schedule": float(WAITING_JOBS_SECONDS),
        "options": {"expires": 2.0 * WAITING_JOBS_SECONDS},
    }

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"one-line": {"()": "esweb.middleware.outage_errors.OneLineFilter"}},
    "formatters": {
        "line": {
            "()": "esweb.middleware.log_lines.LineFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {name: {"level": env.text("ESWEB_LOG_LEVEL", "INFO")} for name in ("esweb", "runs", "judging")}
    | {name: {"filters": ["one-line"]} for name in ("django.request", "django.db.backends.base", "celery.worker")},
}
