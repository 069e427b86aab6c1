"""Figures of sizing: one task explained, cold start, waste against kills."""
