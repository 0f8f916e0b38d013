"""Recipes of typical changes, applied and tested: how many existing files each modifies."""
