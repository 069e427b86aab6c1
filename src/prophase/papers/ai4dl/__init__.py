"""AI4DL itself: the class with the names of its README, and its model files."""
