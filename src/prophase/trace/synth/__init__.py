"""Synthetic traces with known truth, shipped as code: seeded and fast."""
