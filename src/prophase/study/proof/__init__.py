"""Is an advice proven? The user's own history replayed with and without it."""
