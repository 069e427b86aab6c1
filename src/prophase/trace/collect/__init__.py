"""Take from a running system what ended since the last time: one protocol, one way to keep it."""
