"""Saved views: pages with their settings, saved by users under a name."""
