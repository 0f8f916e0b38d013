"""Recipes of typical changes, one a file: `RECIPE` names every edit, and the tests that pass after it."""
