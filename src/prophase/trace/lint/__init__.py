"""Is this trace sound? Checks that find, explain and count defects before they cost a result."""
