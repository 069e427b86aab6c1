"""Compiled loops over plain arrays. They check nothing; their callers have."""
