"""What an analyst would write by hand: Arizona's sales of Q1 2021 by month, as a table, a chart and a line of text.

argv: engine (polars, duckdb or pandas), CSV file, folder for the results. Prints one JSON line with the seconds it took,
imports included, and the sum as a check.
"""

import json
import sys
import time

begun = time.perf_counter()
engine, path, folder = sys.argv[1:4]

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

if engine == "polars":
    import polars as pl

    january, april = pl.date(2021, 1, 1), pl.date(2021, 4, 1)
    months = (
        pl.scan_csv(path, try_parse_dates=True)
        .filter(
            (pl.col("state") == "Arizona")
            & (pl.col("order_date") >= january)
            & (pl.col("order_date") < april)
        )
        .group_by(pl.col("order_date").dt.truncate("1mo").alias("month"))
        .agg(pl.col("amount").sum())
        .sort("month")
        .collect()
    )
    labels, values = [str(month)[:7] for month in months["month"]], months["amount"].to_list()
elif engine == "duckdb":
    import duckdb

    rows = duckdb.execute(
        "select strftime(date_trunc('month', order_date), '%Y-%m'), sum(amount) from read_csv(?) where state = 'Arizona' "
        "and order_date >= date '2021-01-01' and order_date < date '2021-04-01' group by 1 order by 1",
        [path],
    ).fetchall()
    labels, values = [row[0] for row in rows], [row[1] for row in rows]
else:
    import pandas as pd

    frame = pd.read_csv(path, parse_dates=["order_date"])
    wanted = frame[
        (frame.state == "Arizona") & (frame.order_date >= "2021-01-01") & (frame.order_date < "2021-04-01")
    ]
    months = wanted.groupby(wanted.order_date.dt.to_period("M")).amount.sum()
    labels, values = [str(month) for month in months.index], list(months)

plt.plot(labels, values)
plt.title("Arizona sales, Q1 2021")
plt.savefig(f"{folder}/chart.png", dpi=120)
with open(f"{folder}/summary.md", "w") as file:
    file.write(f"Total: {sum(values):.2f}\n")
print(
    json.dumps(
        {"engine": engine, "seconds": round(time.perf_counter() - begun, 3), "sum": round(sum(values), 2)}
    )
)
