"""Mutations of schema and data against verified answers.

    cargo build --workspace --example answer_lines
    python3 bench/verified/mutations.py TARGET/debug/examples/answer_lines [COUNT] [SEED]

A SQLite file with the demo shop of `bench/metrics/` has verified answers. Each mutation starts from the same file: rows are
added, changed and removed, columns and tables renamed, added, dropped and retyped, indexes and views made. SQLite itself says
which of the statements then give other rows, other columns or an error. `steward verify run` must report exactly those. The
exit code is 0 when it does.
"""

import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "metrics"))
import shop  # noqa: E402

STATEMENTS = [
    ("total of all orders", "SELECT sum(order_total) AS total FROM orders"),
    ("orders for each channel", "SELECT channel, count(*) AS orders FROM orders GROUP BY channel"),
    ("largest orders", "SELECT order_id, order_total FROM orders ORDER BY order_total DESC, order_id LIMIT 5"),
    ("average order in web", "SELECT avg(order_total) AS average FROM orders WHERE channel = 'web'"),
    ("customers by country", "SELECT country, count(*) AS customers FROM customers GROUP BY country"),
    ("sales by segment", "SELECT c.segment, sum(o.order_total) AS total FROM orders o JOIN customers c ON "
     "o.customer_id = c.customer_id GROUP BY c.segment"),
    ("units by category", "SELECT p.category, sum(i.quantity) AS units FROM order_items i JOIN products p ON "
     "i.product_id = p.product_id GROUP BY p.category"),
    ("stores", "SELECT store_id, region FROM stores ORDER BY store_id"),
    ("orders without a customer", "SELECT count(*) AS orders FROM orders WHERE customer_id IS NULL"),
    ("brands", "SELECT DISTINCT brand FROM products"),
    ("profit of completed orders", "SELECT sum(order_total - order_cost) AS profit FROM orders WHERE status = 'completed'"),
    ("first signup", "SELECT min(signed_up_at) AS first FROM customers"),
]
COLUMNS = {
    "orders": ["customer_id", "store_id", "ordered_at", "channel", "status", "packing", "order_total", "order_cost"],
    "customers": ["signed_up_at", "segment", "country"],
    "stores": ["region", "format"],
    "products": ["category", "brand"],
    "order_items": ["picked_at", "quantity", "line_total"],
}
KEYS = {"orders": "order_id", "customers": "customer_id", "stores": "store_id", "products": "product_id", "order_items": "item_id"}


def plain(value):
    return f"{float(value):.9e}" if isinstance(value, (int, float)) else value


def results(path):
    """The columns and rows of each statement by SQLite itself; the error where it fails."""
    found = []
    with sqlite3.connect(path) as file:
        for _, sql in STATEMENTS:
            try:
                cursor = file.execute(sql)
                rows = [tuple(plain(cell) for cell in row) for row in cursor]
                rows = rows if "ORDER BY" in sql else sorted(rows, key=str)
                found.append(([column[0] for column in cursor.description], rows))
            except sqlite3.Error:
                found.append("error")
    file.close()
    return found


def mutate(file, draw):
    """One change of the data or the schema, in words."""
    table = draw.choice(sorted(COLUMNS))
    column, key = draw.choice(COLUMNS[table]), KEYS[table]
    row = draw.choice([one[0] for one in file.execute(f"SELECT {key} FROM {table}")])
    other = draw.choice([one[0] for one in file.execute(f"SELECT {column} FROM {table}")])
    kind = draw.choice([
        "set", "set", "set", "null", "add 1", "insert", "delete", "delete", "swap", "rename column", "drop column",
        "add column", "rename table", "drop table", "add table", "index", "view", "rewrite", "double and back",
    ])
    said = {
        "set": f"UPDATE {table} SET {column} = ? WHERE {key} = {row}",
        "null": f"UPDATE {table} SET {column} = NULL WHERE {key} = {row}",
        "add 1": f"UPDATE {table} SET {column} = {column} + 1 WHERE {key} = {row} AND typeof({column}) <> 'text'",
        "insert": f"INSERT INTO {table} SELECT (SELECT max({key}) + 1 FROM {table}), "
        + ", ".join(name for name in names(file, table) if name != key) + f" FROM {table} WHERE {key} = {row}",
        "delete": f"DELETE FROM {table} WHERE {key} = {row}",
        "rename column": f"ALTER TABLE {table} RENAME COLUMN {column} TO {column}_new",
        "add column": f"ALTER TABLE {table} ADD COLUMN extra INTEGER DEFAULT 7",
        "rename table": f"ALTER TABLE {table} RENAME TO {table}_new",
        "drop table": f"DROP TABLE {table}",
        "add table": "CREATE TABLE extra (id INTEGER PRIMARY KEY, note TEXT)",
        "index": f"CREATE INDEX one ON {table} ({column})",
        "view": f"CREATE VIEW seen AS SELECT * FROM {table}",
        "double and back": f"UPDATE {table} SET {column} = {column}",
    }.get(kind)
    if kind == "swap":
        second = draw.choice([one[0] for one in file.execute(f"SELECT {key} FROM {table}")])
        said = f"swap {column} of {row} and {second}"
        first_value = file.execute(f"SELECT {column} FROM {table} WHERE {key} = {row}").fetchone()[0]
        second_value = file.execute(f"SELECT {column} FROM {table} WHERE {key} = {second}").fetchone()[0]
        for place, value in [(row, second_value), (second, first_value)]:
            file.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = {place}", (value,))
    elif kind == "drop column":
        said = f"ALTER TABLE {table} DROP COLUMN {column}"
        try:
            file.execute(said)
        except sqlite3.Error:  # A foreign key holds it: it is renamed instead.
            file.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO gone")
    elif kind == "rewrite":
        said = f"rewrite {table} in another order"
        file.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM {table} ORDER BY {key} DESC")
        file.execute(f"DELETE FROM {table}")
        file.execute(f"INSERT INTO {table} SELECT * FROM kept")
        file.execute("DROP TABLE kept")
    else:
        file.execute(said, (other,) if "?" in said else ())
    return said


def names(file, table):
    return [one[1] for one in file.execute(f"PRAGMA table_info({table})")]


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 5)
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        original, used = home / "original.sqlite", home / "shop.sqlite"
        shop.into_sqlite(original, shop.rows(seed=4, orders=80))
        shutil.copy(original, used)
        before = results(used)
        steward = subprocess.Popen(
            [program, str(home), str(used)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def request(content):
            steward.stdin.write(json.dumps(content) + "\n")
            steward.stdin.flush()
            return json.loads(steward.stdout.readline())

        ids = [request({"verify": question, "sql": sql})["id"] for question, sql in STATEMENTS]
        moved = stayed = 0
        wrong = []
        for _ in range(count):
            used.unlink()
            shutil.copy(original, used)
            with sqlite3.connect(used) as file:
                said = mutate(file, draw)
            file.close()
            after = results(used)
            found = {check["id"]: check["outcome"] for check in request({"check": True})}
            for (question, _), one, old, new in zip(STATEMENTS, ids, before, after):
                changed, reported = old != new, found[one]["status"] != "same"
                moved, stayed = moved + changed, stayed + (not changed)
                if changed != reported:
                    wrong.append((said, question, changed, found[one]))
        steward.stdin.close()
        steward.wait(timeout=30)
    for said, question, changed, outcome in wrong[:20]:
        print(f"{said}: {question!r} {'changed' if changed else 'did not change'}, reported {outcome}")
    missed = sum(changed for _, _, changed, _ in wrong)
    print(
        f"{count} mutations, {len(STATEMENTS)} verified answers: {moved} changes, {missed} of them not reported; "
        f"{stayed} unchanged, {len(wrong) - missed} of them reported"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
