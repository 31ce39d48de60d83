"""A table as a script for psql: `copy_table.py NAME FILE.parquet`."""

import sys

import duckdb

name, file = sys.argv[1:]
columns = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()
types = {"DOUBLE": "double precision"}
described = ", ".join(f"{column[0]} {types.get(column[1], column[1])}" for column in columns)
print(f"CREATE TABLE {name} ({described});")
print(f"COPY {name} FROM STDIN WITH (FORMAT csv);", flush=True)
duckdb.sql(f"COPY (SELECT * FROM read_parquet('{file}')) TO '/dev/stdout' (FORMAT csv, HEADER false)")
print("\\.", flush=True)
print(f"ANALYZE {name};")
