"""The steps of the Slurm loop: limits, nodes that are free in time, choice of nodes, passes."""
