"""What a trace looks like: counts, distributions, laws that fit and laws that do not."""
