"""Find what is wrong with a trace before it misleads anyone."""
