"""A controller that resizes running pods by a saved policy."""
