"""A table as a script for psql: `copy_table.py NAME FILE.parquet`."""

import sys

import duckdb

# The keys that the benchmark's own rules allow: without them PostgreSQL does not finish query 20.
KEYS = {
    "region": ["r_regionkey"],
    "nation": ["n_nationkey"],
    "supplier": ["s_suppkey"],
    "customer": ["c_custkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey, ps_suppkey"],
    "orders": ["o_orderkey", "o_custkey"],
    "lineitem": ["l_orderkey, l_linenumber", "l_partkey, l_suppkey"],
}

name, file = sys.argv[1:]
columns = duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{file}')").fetchall()
types = {"DOUBLE": "double precision"}
described = ", ".join(f"{column[0]} {types.get(column[1], column[1])}" for column in columns)
print(f"CREATE TABLE {name} ({described});")
print(f"COPY {name} FROM STDIN WITH (FORMAT csv);", flush=True)
duckdb.sql(f"COPY (SELECT * FROM read_parquet('{file}')) TO '/dev/stdout' (FORMAT csv, HEADER false)")
print("\\.", flush=True)
for columns in KEYS[name]:
    print(f"CREATE INDEX ON {name} ({columns});")
print(f"ANALYZE {name};")
