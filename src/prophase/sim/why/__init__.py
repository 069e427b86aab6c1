"""Why do jobs wait? Every second of waiting has one cause, and removing a cause has an effect."""
