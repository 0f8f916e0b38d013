"""The decoder on a GPU: captured steps over slots that are refilled."""
