"""Which kind of job is it? Profiles from history, and predictions from metadata."""
