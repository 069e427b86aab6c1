"""Slurm as it runs: its accounting, nodes, partitions and shares, and jobs that are requeued."""
