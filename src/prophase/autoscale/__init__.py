"""Allocate ahead of what comes: policies that learn from fit series, judged on others."""
