"""A description told in words and tables: one section for each part."""
