"""The steps of the dynamic loop."""
