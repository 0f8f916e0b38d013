"""The launch form, adapted to the cluster that it names."""

from __future__ import annotations

from runs.launching.config_form import LaunchForm, initial_from
from runs.launching.presets.adaptation import Adaptation, find_adaptation
from workers.config import ConfigError, RunConfig, presets


def find_form_adaptation(form: LaunchForm) -> Adaptation | None:
    """Return how the form's config is adapted to its cluster; None if nothing has to change, or the form is not valid.

    An unknown cluster becomes a problem of its field.
    """
    if not form.is_valid():
        return None
    try:
        return find_adaptation(RunConfig.from_json(form.configs[0]), presets().get(form.cleaned_data["preset"]))
    except ConfigError as error:
        form.add_problems(error.problems)
        return None


def fill_form(form: LaunchForm, config: RunConfig) -> LaunchForm:
    """Return a form with the values of this config, and with the preset, seeds and name of the valid form."""
    typed = {name: form.cleaned_data[name] for name in ("preset", "seeds", "name")}
    return LaunchForm(initial={**initial_from(config.to_json()), **typed}, cloned=form.cloned)
