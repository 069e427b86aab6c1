"""Alembic's scripts: every change of the tables since the first."""
