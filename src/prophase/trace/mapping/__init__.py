"""Foreign columns as ours: a mapping the user writes, or one proposed from names and values."""
