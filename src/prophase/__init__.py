"""Prophase: know what ML jobs on a shared cluster need, and prove it on your own history."""

__version__ = "0.1.0"
