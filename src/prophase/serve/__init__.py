"""Everything over HTTP and in a browser."""
