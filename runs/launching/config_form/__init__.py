"""The launch form, built from RunConfig: each setting is a field, with help and bounds.

The form does not repeat the validation of the config. Typed values become JSON, `RunConfig.from_json` finds every
problem in one pass, and each problem is displayed at its field. So the form, the API and run.json report the same.
"""

from runs.launching.config_form.fields import (
    SETTINGS,
    can_be_cloned,
    config_from_fields,
    field_name,
    help_of,
    initial_from,
    label,
    parse_seeds,
    parse_value,
    problems_of,
)
from runs.launching.config_form.form import LaunchForm
from runs.launching.config_form.section_lists import short_text

__all__ = (
    "SETTINGS",
    "LaunchForm",
    "can_be_cloned",
    "config_from_fields",
    "field_name",
    "help_of",
    "initial_from",
    "label",
    "parse_seeds",
    "parse_value",
    "problems_of",
    "short_text",
)  # fmt: skip
