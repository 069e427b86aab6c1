"""Figures of predictions: how far answers lay from what happened."""
