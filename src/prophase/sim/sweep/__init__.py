"""Which policy, how large a cluster, how much load? Many replays with intervals."""
