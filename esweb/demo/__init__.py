"""The demonstration: one question, a handful of runs that answer it, and a table of what came out."""
