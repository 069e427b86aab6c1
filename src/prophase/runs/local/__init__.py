"""Runs as real processes on this machine."""
