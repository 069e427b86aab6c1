"""Finished jobs that are reported: kept safely, then learnt from without a refit."""
