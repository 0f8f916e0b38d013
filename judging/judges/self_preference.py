"""Judges favour their own kin: which contestants come from the same base model as a judge."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext

from judging.models import Contestant, Judge


def kin(judge: Judge, contestants: Sequence[Contestant]) -> str:
    """A warning that names them; empty where there are none, or where the judge's family is not known."""
    family = judge.family.strip().casefold()
    found = [one.name for one in contestants if one.run is not None and family in _base(one.run.config)]
    if not family or not found:
        return ""
    said = gettext("%(judge)s and %(names)s are of one family, %(family)s: judges favour their own kin.")
    return said % {"judge": judge.name, "names": ", ".join(found), "family": judge.family.strip()}


def _base(config: dict[str, object]) -> str:
    model = config.get("model")
    return str(model.get("path", "")).casefold() if isinstance(model, dict) else ""
