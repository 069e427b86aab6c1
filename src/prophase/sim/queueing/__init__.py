"""Queueing theory: what formulas say about a cluster, and when they do not apply."""
