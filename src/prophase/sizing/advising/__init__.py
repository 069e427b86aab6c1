"""What each task should ask for from now on, and whether that is worth it."""
