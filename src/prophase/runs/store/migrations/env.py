"""Run by Alembic: apply the scripts over the connection that was handed in."""

from __future__ import annotations

from alembic import context

from prophase.runs.store.tables import metadata


def apply_scripts() -> None:
    """Bring the tables up to date in the caller's transaction."""
    context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
    context.run_migrations()


# Alembic runs this file under a name of its own; whoever only imports it changes nothing
if not __name__.startswith("prophase"):
    apply_scripts()
