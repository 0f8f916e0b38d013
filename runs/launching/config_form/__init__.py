"""The forms people fill in. The launch form is made from RunConfig: a new knob is a new field, with help and bounds.

Nothing is validated here that the config validates itself: what was typed becomes JSON, `RunConfig.from_json` finds
every problem in one pass, and each is shown at its field. So the form, the API and run.json say the same things.
"""

from runs.launching.config_form.fields import KNOBS, assembled, explained, field_name, initial_from, label, read, seeds
from runs.launching.config_form.form import COPY, NAME_LENGTH, LaunchForm

__all__ = (
    "COPY", "KNOBS", "NAME_LENGTH", "LaunchForm", "assembled", "explained", "field_name",
    "initial_from", "label", "read", "seeds",
)  # fmt: skip
