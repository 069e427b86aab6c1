"""Traces made from a seed, with known truth."""
