"""Prometheus as a source: usage series, and the jobs, usage and nodes of a Kubernetes cluster."""
