#!/usr/bin/env python3
"""How long the first answer over a folder of 27 CSV files takes.

    python bench/files/folder.py --steward target/debug/steward [--rows 60000] [--runs 3]

The files are made with a fixed seed in a temporary folder, about 90 bytes a row. Prints the wall and processor time of
each run; each run is a new process with a new home.
"""

import argparse, os, pathlib, random, resource, subprocess, tempfile, time

NAMES = (
    "orders customers products stores employees regions suppliers shipments invoices payments returns reviews campaigns "
    "leads tickets visits sessions events budgets forecasts assets vendors contracts projects tasks timesheets expenses"
).split()


def make(folder, rows):
    random.seed(7)
    for name in NAMES:
        with open(folder / f"{name}.csv", "w") as file:
            file.write(f"{name[:-1]}_id,customer_id,product_id,region,day,amount,quantity,status,note\n")
            for row in range(rows):
                note = " ".join(random.choice(NAMES) for _ in range(4))
                file.write(
                    f"{row + 1},{random.randint(1, 4000)},{random.randint(1, 4000)},"
                    f"{random.choice(['North', 'South', 'East', 'West'])},2024-{random.randint(1, 12):02}-{random.randint(1, 28):02},"
                    f"{random.random() * 1000:.2f},{random.randint(1, 9)},{random.choice(['open', 'closed', 'new'])},{note} {row}\n"
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steward", required=True)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--question", default="total amount by region of orders")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "data"
        folder.mkdir()
        make(folder, arguments.rows)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{len(NAMES)} files, {size / 1e6:.0f} MB; load {os.getloadavg()[0]:.1f}")
        for run in range(arguments.runs):
            home = pathlib.Path(temporary) / f"home{run}"
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.monotonic()
            done = subprocess.run(
                [arguments.steward, "ask", arguments.question, "--data", str(folder), "--deliver", "summary"],
                env={**os.environ, "STEWARD_HOME": str(home)},
                capture_output=True,
                text=True,
            )
            wall = time.monotonic() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"run {run + 1}: {wall:.1f} s wall, {used:.1f} s processor, exit {done.returncode}")


if __name__ == "__main__":
    main()
