"""Figures of phases: strips, series, boxes, transitions."""
