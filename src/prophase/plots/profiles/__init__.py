"""Figures of profiles: what a clustering found, and how far to trust it."""
