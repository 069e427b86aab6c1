"""Does the simulation do what the real cluster did? Replays of traces with known waits."""
