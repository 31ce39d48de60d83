"""An MCP server with a SQLite file behind it: the ground that the example applications stand on.

A call runs in one transaction: all of it happened, or nothing of it. The result of a call with an `idempotency_key` in its
`_meta` is kept in the same transaction, so that the same key never does the same thing twice, also after a restart.
"""

import json
import os
import sqlite3

from mcp_stdio import Server, ToolError


class App(Server):
    """An application: its tools, and the database that they work on."""

    def __init__(self, name, about, tables, samples):
        super().__init__(name, about)
        self.tables, self.samples = tables, samples

    def options(self, parser):
        parser.add_argument(
            "--db",
            default=":memory:",
            help="the SQLite file, made on first start; without it, nothing is kept",
        )

    def start(self, arguments=None):
        """Opens the database, and fills it when it is new."""
        super().start(arguments)
        path = os.path.expanduser(self.set.db)
        if path != ":memory:":
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("BEGIN IMMEDIATE")
        if not self.db.execute("SELECT 1 FROM sqlite_master").fetchone():
            for table in self.tables:
                self.db.execute(table)
            self.db.execute(
                "CREATE TABLE done (key TEXT PRIMARY KEY, request TEXT NOT NULL, result TEXT NOT NULL)"
            )
            for statement, rows in self.samples:
                self.db.executemany(statement, rows)
        self.db.execute("COMMIT")

    def rows(self, statement, *values):
        return [dict(row) for row in self.db.execute(statement, values)]

    def one(self, kind, statement, label, id=None, words=None):
        """The row that an id or words mean; `statement` selects all. Equal words win over words that are only part of a label."""
        if id is None and not words:
            raise ToolError("field_required", f"id or {label}")
        rows = self.rows(statement)
        if id is not None:
            found = [row for row in rows if row["id"] == id]
        else:
            said = words.casefold()
            found = [row for row in rows if row[label].casefold() == said]
            found = found or [row for row in rows if said in row[label].casefold()]
        if not found:
            raise ToolError(
                "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
            )
        if len(found) > 1:
            names = ", ".join(f"{row['id']} {json.dumps(row[label], ensure_ascii=False)}" for row in found)
            raise ToolError("ambiguous", f"{kind} {json.dumps(words, ensure_ascii=False)} may be {names}")
        return found[0]

    def change(self, table, id, **values):
        """Sets what was given, and says so when nothing was."""
        values = {name: value for name, value in values.items() if value is not None}
        if not values:
            raise ToolError("field_required", "at least one thing to change")
        names = ", ".join(f"{name} = ?" for name in values)
        self.db.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*values.values(), id))

    def run(self, tool, arguments, key):
        """Runs a tool in one transaction. A key that is known gives the result that is written beside it."""
        name = tool["name"]
        keyed = key if isinstance(key, str) and not tool["annotations"]["readOnlyHint"] else None
        request = json.dumps([name, arguments], sort_keys=True)
        self.db.execute("BEGIN IMMEDIATE")
        try:
            if keyed and (done := self.rows("SELECT request, result FROM done WHERE key = ?", keyed)):
                if done[0]["request"] != request:
                    raise ToolError("key_reused", f"{keyed} was given with another call")
                result = json.loads(done[0]["result"])
            else:
                result = self.functions[name](**arguments)
                if keyed:
                    self.db.execute("INSERT INTO done VALUES (?, ?, ?)", (keyed, request, json.dumps(result)))
            self.db.execute("COMMIT")
            return result
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
