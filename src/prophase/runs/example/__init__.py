"""A pipeline of 27 small tasks that really allocate memory, to try a campaign with."""
