"""Prophase: know what ML jobs on a shared cluster need, and prove it on your own history."""

from prophase.version import __version__ as __version__
