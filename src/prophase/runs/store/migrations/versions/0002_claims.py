"""Claims with leases, workers, versions of the job code, and what profiling found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables; runs that are there already can be claimed at once."""
    op.create_table(
        "claims",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id"), primary_key=True, autoincrement=False
        ),
        sa.Column("worker", sa.String(200)),
        sa.Column("token", sa.Integer, nullable=False),
        sa.Column("leased_until_s", sa.Float(53), nullable=False),
        sa.Column("looked_at_s", sa.Float(53), nullable=False),
        sa.Column("changed_at_s", sa.Float(53), nullable=False),
        sa.Column("beginnings", sa.Integer, nullable=False),
        sa.Column("resets", sa.Integer, nullable=False),
    )
    op.execute(
        "INSERT INTO claims (run, token, leased_until_s, looked_at_s, changed_at_s, beginnings,"
        " resets) SELECT id, COALESCE((SELECT MAX(token) FROM history WHERE run = runs.id), 0),"
        " 0, 0, COALESCE((SELECT MAX(time_s) FROM history WHERE run = runs.id), 0), 0,"
        " (SELECT COUNT(*) FROM history WHERE run = runs.id AND event LIKE 'reset%') FROM runs"
    )
    op.create_table(
        "versions",
        sa.Column("version", sa.String(64), primary_key=True),
        sa.Column("pipeline", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("made_at_s", sa.Float(53), nullable=False),
    )
    op.create_table(
        "workers",
        sa.Column("worker", sa.String(200), primary_key=True),
        sa.Column("started_at_s", sa.Float(53), nullable=False),
        sa.Column("seen_at_s", sa.Float(53), nullable=False),
    )
    op.create_table(
        "task_rows",
        sa.Column(
            "run", sa.Integer, sa.ForeignKey("runs.id"), primary_key=True, autoincrement=False
        ),
        sa.Column("task", sa.String(200), primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("measured", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    """Remove them."""
    for table in ("task_rows", "workers", "versions", "claims"):
        op.drop_table(table)
