"""The journal of a local cloud: an SQLite database that everything is written to before a call returns.

moto keeps its state in memory only. What is kept here outlives a `kill -9` at any moment: items of tables, objects, secrets,
keys, schedules, definitions of machines, histories of executions, and records, events and timers that are still on their
way to a function. A loss of power may cost the last moments, since nothing waits for the disk. The file holds secrets and
keys: only its owner may read it.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from infra.local.runtime import Write

VERSION = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS items (tab TEXT, key TEXT, body TEXT NOT NULL, PRIMARY KEY (tab, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (bucket TEXT, key TEXT, body BLOB NOT NULL, meta TEXT NOT NULL, PRIMARY KEY (bucket, key));
CREATE TABLE IF NOT EXISTS kept (kind TEXT, name TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS history (arn TEXT, id INTEGER, body TEXT NOT NULL, PRIMARY KEY (arn, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS histories (number INTEGER PRIMARY KEY AUTOINCREMENT, arn TEXT UNIQUE, body BLOB NOT NULL);
"""
KEPT_HISTORIES = 5_000  # of executions that have ended; a later run looks into the history of the one before it


class JournalError(Exception):
    """A journal that cannot be used: in use by another process, no journal, or made by a newer version."""


class Journal:
    """One database. Every method that writes has written when it returns."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._closed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise JournalError(f"the journal {path} cannot be opened: {error}") from None
        try:
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise JournalError(f"the journal {path} was made by a newer version")
            self._db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        except sqlite3.OperationalError as error:
            self._db.close()
            if "locked" in str(error):
                raise JournalError(f"the journal {path} is in use by another process") from None
            raise JournalError(f"the journal {path} cannot be used: {error}") from None
        except (JournalError, sqlite3.Error) as error:
            self._db.close()
            raise JournalError(str(error) if isinstance(error, JournalError) else f"{path} is no journal: {error}") from None

    def write(self, writes: Sequence[Write], queued: Sequence[tuple[str, str]], number: int) -> list[int]:
        """Items as they are now, and records (target, body) for who reads the stream, at once; the rows of the records.

        `number` is that of the stream's last record.
        """
        with self._lock, self._db:
            self._db.execute("BEGIN")
            for write in writes:
                key = json.dumps(write.key, sort_keys=True)
                if write.after is None:
                    self._db.execute("DELETE FROM items WHERE tab = ? AND key = ?", (write.table, key))
                else:
                    self._db.execute("REPLACE INTO items VALUES (?, ?, ?)", (write.table, key, json.dumps(write.after)))
            rows = [self._insert(target, body) for target, body in queued]
            if queued:
                self._keep("number", "", number)
            return rows

    def queue(self, target: str, body: str) -> int:
        """Something for a function; its row."""
        with self._lock:
            return self._insert(target, body)

    def acknowledge(self, rows: Sequence[int]) -> None:
        """What these rows hold has arrived. After the end nothing happens: what a function that hung had comes again."""
        with self._lock:
            if self._closed:
                return
            with self._db:
                self._db.execute("BEGIN")
                self._db.executemany("DELETE FROM queue WHERE id = ?", [(row,) for row in rows])

    def keep(self, kind: str, name: str, value: Any) -> None:
        """Keeps a value (JSON, with bytes) under a name."""
        with self._lock:
            self._keep(kind, name, value)

    def drop(self, kind: str, name: str) -> None:
        with self._lock:
            self._db.execute("DELETE FROM kept WHERE kind = ? AND name = ?", (kind, name))

    def kept(self, kind: str) -> list[tuple[str, Any]]:
        with self._lock:
            rows = self._db.execute("SELECT name, body FROM kept WHERE kind = ? ORDER BY name", (kind,)).fetchall()
        return [(name, json.loads(body, object_hook=_bytes)) for name, body in rows]

    def keep_object(self, bucket: str, key: str, body: bytes) -> None:
        with self._lock:
            self._db.execute("REPLACE INTO objects VALUES (?, ?, ?, '{}')", (bucket, key, body))

    def describe_object(self, bucket: str, key: str, meta: Any) -> None:
        with self._lock:
            text = json.dumps(dict(meta))
            self._db.execute("UPDATE objects SET meta = ? WHERE bucket = ? AND key = ?", (text, bucket, key))

    def drop_object(self, bucket: str, key: str) -> None:
        with self._lock:
            self._db.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket, key))

    def objects(self) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
        for bucket, key, body, meta in self._db.execute("SELECT bucket, key, body, meta FROM objects"):
            yield bucket, key, body, json.loads(meta)

    def items(self, table: str) -> Iterator[dict[str, Any]]:
        """Items of a table as DynamoDB's JSON, bytes in base64."""
        for (body,) in self._db.execute("SELECT body FROM items WHERE tab = ?", (table,)):
            yield json.loads(body)

    def drop_items(self, table: str) -> None:
        with self._lock:
            self._db.execute("DELETE FROM items WHERE tab = ?", (table,))

    def queued(self) -> list[tuple[int, str, str]]:
        """Everything that has not arrived yet: row, target, body; in order."""
        with self._lock:
            return list(self._db.execute("SELECT id, target, body FROM queue ORDER BY id"))

    def consumers(self) -> list[tuple[str, str]]:
        """Table and function of every stream that was attached."""
        return [(name.partition(":")[0], name.partition(":")[2]) for name, _ in self.kept("consumer")]

    def add_event(self, arn: str, event: dict[str, Any]) -> None:
        """The next event of an execution's history."""
        with self._lock:
            body = json.dumps(event, default=str)
            self._db.execute("REPLACE INTO history VALUES (?, ?, ?)", (arn, event["id"], body))

    def pack_history(self, arn: str) -> None:
        """Makes the history of an execution that has ended small; the oldest ones go."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            events = self._events(arn)
            if events:
                body = gzip.compress(json.dumps(events).encode(), 6)
                self._db.execute("REPLACE INTO histories (arn, body) VALUES (?, ?)", (arn, body))
                self._db.execute("DELETE FROM history WHERE arn = ?", (arn,))
                self._db.execute(
                    "DELETE FROM histories WHERE number <= (SELECT max(number) FROM histories) - ?", (KEPT_HISTORIES,)
                )

    def unpacked(self) -> list[str]:
        """Executions whose histories are not packed."""
        with self._lock:
            return [arn for (arn,) in self._db.execute("SELECT DISTINCT arn FROM history")]

    def history(self, arn: str) -> list[dict[str, Any]]:
        """The events of an execution, in order; none for one that is not known."""
        with self._lock:
            row = self._db.execute("SELECT body FROM histories WHERE arn = ?", (arn,)).fetchone()
            if row is None:
                return self._events(arn)
        events: list[dict[str, Any]] = json.loads(gzip.decompress(row[0]))
        return events

    def _events(self, arn: str) -> list[dict[str, Any]]:
        rows = self._db.execute("SELECT body FROM history WHERE arn = ? ORDER BY id", (arn,))
        return [json.loads(body) for (body,) in rows]

    @property
    def number(self) -> int:
        """The number of the stream's last record."""
        return int(dict(self.kept("number")).get("", 0))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._db.close()

    def _insert(self, target: str, body: str) -> int:
        return int(self._db.execute("INSERT INTO queue (target, body) VALUES (?, ?)", (target, body)).lastrowid or 0)

    def _keep(self, kind: str, name: str, value: Any) -> None:
        self._db.execute("REPLACE INTO kept VALUES (?, ?, ?)", (kind, name, json.dumps(value, default=_text)))


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} is not kept")


def _bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["$bytes"]) if set(value) == {"$bytes"} else value
