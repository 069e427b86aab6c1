"""Is a recommendation proven? The user's own history replayed with and without it."""
