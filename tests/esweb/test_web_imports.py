"""The web process loads no deep-learning library: it would cost a gigabyte and half a minute."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "transformers", "trl", "ray", "vllm", "datasets", "peft", "accelerate")
START = """
import sys
import django
django.setup()
import esweb.asgi, esweb.urls, esweb.celery
from django.urls import get_resolver
get_resolver().url_patterns
esweb.celery.app.loader.import_default_modules()
print(*sys.modules)
"""


def test_starting_the_web_and_the_worker_imports_nothing_heavy() -> None:
    output = subprocess.run([sys.executable, "-c", START], env=None, capture_output=True, text=True, check=True).stdout
    loaded = set(output.split())
    assert "runs.models" in loaded
    assert not loaded.intersection(HEAVY)
