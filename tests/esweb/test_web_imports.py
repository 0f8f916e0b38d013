"""Processes load what they need: no deep-learning library, which would cost a gigabyte and half a minute; beat and
commands no pages."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "transformers", "trl", "ray", "vllm", "datasets", "peft", "accelerate")
PAGES = ("esweb.urls", "esweb.api", "runs.clusters.views", "runs.responses.viewer.views", "ninja")
START = """
import sys
import esweb.beat
print(*sys.modules)
import django
django.setup()
print(*sys.modules)
import esweb.asgi, esweb.urls, esweb.celery
from django.urls import get_resolver
get_resolver().url_patterns
esweb.celery.app.loader.import_default_modules()
print(*sys.modules)
"""


def test_starting_the_web_and_the_worker_imports_nothing_heavy() -> None:
    output = subprocess.run([sys.executable, "-c", START], env=None, capture_output=True, text=True, check=True).stdout
    of_beat, of_commands, of_web = (set(line.split()) for line in output.splitlines())
    assert not of_beat.intersection(("runs.models", "django.contrib.auth.models", *PAGES))
    assert not of_commands.intersection(PAGES)
    assert "runs.models" in of_commands
    assert of_web.issuperset(PAGES)
    assert not of_web.intersection(HEAVY)
