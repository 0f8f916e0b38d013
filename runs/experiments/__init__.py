"""Home, lists of experiments, their pages, the trash, saved views and the command palette."""

from runs.experiments.edit_run import RunEditForm
from runs.experiments.lambda_page.charts import LAMBDA
from runs.experiments.list import ExperimentForm
from runs.experiments.saved_views.views import SavedViewForm

__all__ = [
    "LAMBDA",
    "ExperimentForm",
    "RunEditForm",
    "SavedViewForm",
]
