"""Labels as files of an experiment's archive: those that a user may see, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from django.contrib.auth.models import User

from runs.labels.csv_import import ImportResult, import_labels
from runs.labels.queries import labels_with_places, visible_labels
from runs.models import Experiment, LabelSet
from runs.models.experiment import Person
from workers.analysis.labels import label_lines

MAX_READERS = 100


def label_file_lines(label_set: LabelSet, person: Person) -> Iterator[str]:
    """Yield the lines of the CSV with the labels that the user may see, read by `import_labels`."""
    return label_lines(labels_with_places(label_set, person))


def unlabelled_count(label_set: LabelSet, person: Person) -> int:
    """Return the number of responses without a label that the user may see: the file does not name them."""
    return label_set.items.count() - visible_labels(label_set, person).values("item").distinct().count()


def import_label_file(experiment: Experiment, person: User, file: BinaryIO, name: str, readers: int) -> ImportResult:
    """Read a file of labels as `import_labels`. A new set discloses labels from so many readers of a response on."""
    result = import_labels(experiment, person, file, name)
    if result.is_new and result.label_set is not None and 1 <= readers <= MAX_READERS:
        LabelSet.objects.filter(pk=result.label_set.pk).update(readers=readers)
    return result
