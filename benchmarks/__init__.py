"""Promises on speed: each module measures one, side by side with a named peer, and prints the ratio."""
