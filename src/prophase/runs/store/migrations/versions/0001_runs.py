"""The run table of the thesis, its history and the live settings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("scenario", sa.String(200), nullable=False),
        sa.Column("scenario_attributes", sa.JSON, nullable=False),
        sa.Column("scenario_version", sa.String(64), nullable=False),
        sa.Column("execution_date", sa.Date, nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("dag_id", sa.String(300)),
        sa.Column("run_id", sa.String(300)),
        sa.Column("profiling_id", sa.String(300)),
        sa.Column("notes", sa.Text),
        sa.UniqueConstraint("scenario", "execution_date", "scenario_version", name="one_run_each"),
    )
    op.create_index("runs_by_state", "runs", ["state", "id"])
    op.create_table(
        "history",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("time_s", sa.Float(53), nullable=False),
        sa.Column("from_state", sa.Integer),
        sa.Column("to_state", sa.Integer, nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("actor", sa.String(200), nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("token", sa.Integer),
        sa.UniqueConstraint("run", "token", name="one_move_per_claim"),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("changed_at_s", sa.Float(53), nullable=False),
        sa.Column("changed_by", sa.String(200), nullable=False),
    )


def downgrade() -> None:
    """Remove them."""
    for table in ("settings", "history", "runs"):
        op.drop_table(table)
