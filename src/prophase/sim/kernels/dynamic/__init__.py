"""The event loop for whatever moves: keys, capacity, speeds, and jobs that start again."""
