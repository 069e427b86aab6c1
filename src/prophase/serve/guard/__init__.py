"""What stands before every request: size, time and rate limits, other sites, headers, tokens."""
