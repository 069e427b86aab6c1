"""Figures of an assessment of requests, and of the bins of memory."""
