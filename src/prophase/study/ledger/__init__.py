"""Was a recommendation worth it? What was predicted and what happened, in whole numbers."""
