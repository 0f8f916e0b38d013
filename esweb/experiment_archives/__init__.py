"""The archive of an experiment: its runs, notes, sweeps, views, labels and tournaments. Composed here, because judging
looks at runs, and runs never at judging."""
