"""Ways to make profiles, all behind ``clustering.Generator``."""
