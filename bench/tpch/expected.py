"""The rows and times of the TPC-H queries in DuckDB: `expected.py DATA QUERIES THREADS MEMORY_MB`.

Prints one line of JSON for each query: its name, the seconds and the rows.
"""

import datetime
import decimal
import json
import pathlib
import sys
import time

import duckdb


def plain(value):
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return value


def main(data, queries, threads, megabytes):
    connection = duckdb.connect(config={"threads": int(threads), "memory_limit": f"{megabytes}MB"})
    for table in sorted(pathlib.Path(data).glob("*.parquet")):
        connection.execute(f"CREATE VIEW {table.stem} AS SELECT * FROM read_parquet('{table}')")
    for query in sorted(pathlib.Path(queries).glob("q*.sql")):
        text = query.read_text()
        start = time.perf_counter()
        rows = connection.execute(text).fetchall()
        seconds = time.perf_counter() - start
        rows = [[plain(value) for value in row] for row in rows]
        print(json.dumps({"query": query.stem, "seconds": seconds, "rows": rows}))


main(*sys.argv[1:])
