"""Which clustering? The grid of the paper's Table III, its statistics and its scores."""
