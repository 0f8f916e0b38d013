"""Compute ratings, intervals and agreement between judges from votes. Nothing here imports Django."""
