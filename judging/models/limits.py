"""Bounds that the field of a model states, in forms and the API."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models


def limits(field: models.Field[Any, Any]) -> dict[str, Any]:
    """Return `min_value` and `max_value` of a number, as far as it has them."""
    names = {MinValueValidator: "min_value", MaxValueValidator: "max_value"}
    return {
        name: validator.limit_value
        for validator in field.validators
        for kind, name in names.items()
        if isinstance(validator, kind)
    }


def form_field(field: models.Field[Any, Any], **options: Any) -> forms.Field | None:
    """Return the form's field, with its bounds: a `formfield_callback`."""
    options |= limits(field)
    return field.formfield(**options)
