"""Was an advice worth it? What was promised beside what happened, to the last unit."""
