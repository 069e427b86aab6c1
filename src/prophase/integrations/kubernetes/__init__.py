"""Runs as Kubernetes Jobs."""
