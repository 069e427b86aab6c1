"""Who goes first: one file per policy. An order is plain NumPy: a key per job, smallest first."""
