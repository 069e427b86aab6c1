"""Connections to other systems, one file each; found through entry points."""
