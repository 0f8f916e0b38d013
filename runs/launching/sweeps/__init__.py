"""Plan sweeps and report their status: the runs of a grid or of a list of cells, and their states."""
