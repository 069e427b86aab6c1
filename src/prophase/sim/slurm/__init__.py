"""A Slurm site: its rules, and replays by them."""
