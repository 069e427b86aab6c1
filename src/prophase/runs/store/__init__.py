"""The tables of a campaign in SQLite or PostgreSQL."""
