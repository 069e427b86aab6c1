"""Fetch public traces: what is known of them, and a download that can be believed."""
