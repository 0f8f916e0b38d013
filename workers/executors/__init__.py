"""Where a run runs. One module a kind of cluster, all with the same few verbs."""
