"""The forms people fill in. The launch form is made from RunConfig: a new knob is a new field, with help and bounds.

Nothing is validated here that the config validates itself: what was typed becomes JSON, `RunConfig.from_json` finds
every problem in one pass, and each is shown at its field. So the form, the API and run.json say the same things.
"""

from runs.forms.configs import assembled, initial_from
from runs.forms.experiment import ExperimentForm
from runs.forms.knob_field import explained, label, read
from runs.forms.knobs import KNOBS, field_name
from runs.forms.launch import COPY, NAME_LENGTH, LaunchForm
from runs.forms.seeds import seeds

__all__ = (
    "COPY", "KNOBS", "NAME_LENGTH", "ExperimentForm", "LaunchForm", "assembled", "explained", "field_name",
    "initial_from", "label", "read", "seeds",
)  # fmt: skip
