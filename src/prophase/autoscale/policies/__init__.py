"""Ways to allocate over time, one file each."""
