from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import inspect, text

from prophase.errors import DatabaseError, StorageError
from prophase.runs.states import BRANCHES
from prophase.runs.store.database import Database, newest_revision
from prophase.runs.store.run_store import RunStore
from prophase.runs.store.tables import metadata


def test_the_scripts_make_exactly_the_tables_the_program_uses(database):
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_an_older_schema_is_brought_up_to_date_and_its_runs_go_on(database_url):
    old = Database(database_url)
    config = Config()
    config.set_main_option("script_location", "prophase.runs.store:migrations")
    with old.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO runs (scenario, scenario_attributes, scenario_version, "
                "execution_date, state) VALUES ('eu', '{}', 'v1', '2024-01-01', 17)"
            )
        )
    old.migrate()
    store = RunStore(old)
    (claim,) = store.claim(BRANCHES["execute"], "a", most=5)
    assert claim.run.scenario == "eu"
    old.migrate()
    old.close()


def test_a_schema_of_a_newer_program_is_left_alone(database_url):
    database = Database(database_url)
    database.migrate()
    database.write(lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    with pytest.raises(DatabaseError, match="newer Prophase"):
        database.migrate()
    database.close()


def test_workers_that_migrate_at_the_same_time_do_not_meet(database_url):
    failures = []

    def migrate() -> None:
        try:
            database = Database(database_url)
            database.migrate()
            database.close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=migrate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    database = Database(database_url)
    assert database.read(lambda c: inspect(c).has_table("claims"))
    database.close()


def test_sqlite_keeps_a_write_ahead_log(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/runs.db")
    assert database.read(lambda c: c.execute(text("PRAGMA journal_mode")).scalar()) == "wal"
    database.close()


def test_a_server_that_is_away_is_waited_for_then_named():
    database = Database("postgresql://prophase:secret@127.0.0.1:9/none", patience_s=0.5)
    began = time.monotonic()
    with pytest.raises(
        DatabaseError, match=r"127\.0\.0\.1:9/none: does not answer for 0\.5 s"
    ) as e:
        database.migrate()
    assert time.monotonic() - began >= 0.25
    assert "secret" not in str(e.value)


def test_a_killed_connection_is_replaced_without_a_word(new_postgres):
    database = Database(new_postgres())
    database.migrate()
    killed = []

    def suicidal(connection: object) -> int:
        if not killed:
            killed.append(True)
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        return connection.execute(text("SELECT 7")).scalar()

    assert database.write(suicidal) == 7
    database.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "runs.db", "oracle:", ""])
def test_an_address_of_another_kind_is_refused_with_the_two_known_ones(url):
    with pytest.raises(DatabaseError, match="sqlite:///FILE or postgresql://"):
        Database(url)


def test_a_file_that_is_no_database_is_named(tmp_path):
    (tmp_path / "runs.db").write_text("not a database " * 100)
    with pytest.raises(DatabaseError, match=r"runs\.db: .*not a database"):
        Database(f"sqlite:///{tmp_path}/runs.db").migrate()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(StorageError, match="cannot be opened"):
        Database(f"sqlite:///{tmp_path}/no/runs.db").migrate()


def test_the_newest_revision_is_that_of_the_last_script():
    assert newest_revision() == "0002"
