"""Published experiments run again: every table and figure with a verdict, and one report each."""
