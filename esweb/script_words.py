"""The words of the scripts, in the reader's language, as a script that defines `gettext`."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.views.decorators.cache import cache_control
from django.views.i18n import JavaScriptCatalog

# Pages for people who are not signed in have scripts too.
script_words = login_not_required(cache_control(max_age=300, private=True)(JavaScriptCatalog.as_view()))
