"""Published comparisons of GPU cluster schedulers: Hydra, Helios, Tiresias."""
