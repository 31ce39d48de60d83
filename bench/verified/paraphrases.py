"""Paraphrases and near misses of verified answers.

    cargo build --workspace --example answer_lines
    python3 bench/verified/paraphrases.py TARGET/debug/examples/answer_lines [COUNT] [SEED] [--wrong]

Over `examples/retail/sales.csv` some questions are verified. COUNT paraphrases ask the same in other words and with other
values; as many near misses ask something else that is said almost alike (another aggregate, column, group, filter, a negation,
a ranking). Printed are the hit rate and the false hits: near misses that are answered as verified, and paraphrases that are
answered with other rows than SQLite gives. The exit code is 0 when at most 1 % are false.
"""

import csv
import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples/retail/sales.csv"
STATES = ["Arizona", "Texas", "Colorado", "California"]
CATEGORIES = ["Furniture", "Lighting", "Office Supplies", "Technology"]
YEARS = [2020, 2021, 2022]
# The measure in words, other words for it, its SQL, and measures that only sound alike.
MEASURES = [
    ("total amount", ["sum of the amount", "overall amount", "amount in total"], "sum(amount)", ["average amount", "highest amount", "total cost", "median amount"]),
    ("average discount", ["mean discount", "discount on average"], "avg(discount)", ["total discount", "highest discount", "average amount"]),
    ("total quantity", ["sum of the quantity", "overall quantity"], "sum(quantity)", ["average quantity", "number of orders", "lowest quantity"]),
    ("number of orders", ["count of orders", "how many orders"], "count(*)", ["number of customers", "average orders per customer", "total quantity"]),
]
GROUPS = ["category", "segment", "state", None]
ASKING = ["", "what is the ", "show me the ", "give me the ", "can you tell me the ", "I want to see the ", "please show "]
BY = ["by", "per", "for each", "for every"]
FILTERS = [("state", STATES), ("category", CATEGORIES), ("year", YEARS), (None, [None])]


def said(measure, group, filtered, value, by="by", asking=""):
    if measure.startswith("how many"):
        asking = ""
    parts = [asking + measure]
    parts += [f"{by} {group}"] if group else []
    parts += [f"in {value}"] if filtered in ("state", "year") else [f"for {value}"] if filtered else []
    return " ".join(parts).strip()


def statement(measure, group, filtered, value):
    where = ""
    if filtered == "year":
        where = f" WHERE order_date >= '{value}-01-01' AND order_date < '{value + 1}-01-01'"
    elif filtered:
        where = f" WHERE {filtered} = '{value}'"
    if group:
        return f"SELECT {group}, {measure} AS value FROM sales{where} GROUP BY {group}"
    return f"SELECT {measure} AS value FROM sales{where}"


def cases():
    """Every verified question: measure, group, filter."""
    return [
        (measure, group, filtered)
        for measure in MEASURES
        for group in GROUPS
        for filtered in FILTERS
        if group != filtered[0]
    ]


def paraphrase(draw, case):
    (name, others, sql, _), group, (filtered, values) = case
    value = draw.choice(values)
    measure = draw.choice([name] + others)
    question = said(measure, group, filtered, value, draw.choice(BY), draw.choice(ASKING))
    if filtered and draw.random() < 0.3:
        lead = f"in {value}" if filtered in ("state", "year") else f"for {value}"
        question = f"{lead}, {said(measure, group, None, None, draw.choice(BY), draw.choice(ASKING[:3]))}"
    return question + draw.choice(["", "?", " please"]), statement(sql, group, filtered, value)


def near_miss(draw, case):
    (name, _, _, alike), group, (filtered, values) = case
    value = draw.choice(values)
    plain = said(name, group, filtered, value)
    kinds = ["measure", "extra filter", "negation", "top", "group"] + (["not in"] if filtered == "state" else [])
    kind = draw.choice(kinds)
    if kind == "measure":
        return said(draw.choice(alike), group, filtered, value)
    if kind == "extra filter":
        return f"{plain} of returned orders"
    if kind == "negation":
        return f"{plain} without returned orders"
    if kind == "not in":
        return plain.replace(f"in {value}", f"not in {value}")
    if kind == "top":
        return f"top 3 cities by {name}" if not group else plain.replace(f"by {group}", f"for the 2 best by {group}")
    other = draw.choice(["month", "product", "city"])
    return f"{plain} and {other}" if group else f"{plain} by {other}"


def main():
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    count = int(arguments[1]) if len(arguments) > 1 else 300
    draw = random.Random(int(arguments[2]) if len(arguments) > 2 else 9)
    table = sqlite3.connect(":memory:")
    with DATA.open() as file:
        rows = list(csv.DictReader(file))
    kinds = {"quantity": "INTEGER", "unit_price": "REAL", "discount": "REAL", "amount": "REAL", "cost": "REAL"}
    table.execute("CREATE TABLE sales (" + ", ".join(f"{name} {kinds.get(name, 'TEXT')}" for name in rows[0]) + ")")
    table.executemany(
        f"INSERT INTO sales VALUES ({', '.join('?' * len(rows[0]))})", [tuple(row.values()) for row in rows]
    )
    plain = lambda rows: sorted(
        tuple(f"{float(cell) * (1 + 1e-12):.8e}" if isinstance(cell, (int, float)) else cell for cell in row) for row in rows
    )
    with tempfile.TemporaryDirectory() as home:
        steward = subprocess.Popen(
            [arguments[0], home, str(DATA)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def request(content):
            steward.stdin.write(json.dumps(content) + "\n")
            steward.stdin.flush()
            return json.loads(steward.stdout.readline())

        verified = draw.sample(cases(), 24)
        for (name, _, sql, _), group, (filtered, values) in verified:
            made = request({"verify": said(name, group, filtered, values[0]), "sql": statement(sql, group, filtered, values[0])})
            assert "id" in made, made
        hits = misses = wrong = false = 0
        asked = set()
        bad = []
        while len(asked) < count:
            question, sql = paraphrase(draw, draw.choice(verified))
            if question in asked:
                continue
            asked.add(question)
            answer = request({"ask": question})
            if not answer["verified"]:
                misses += 1
                bad.append(("not recognised", question, None))
            elif plain(answer["rows"]) == plain(table.execute(sql).fetchall()):
                hits += 1
            else:
                wrong += 1
                bad.append(("OTHER ROWS", question, answer["sql"]))
        near = set()
        known = {said(one[0][0], one[1], one[2][0], value) for one in cases() for value in one[2][1]}
        while len(near) < count:
            question = near_miss(draw, draw.choice(verified))
            if question in near or question in asked or question in known:
                continue
            near.add(question)
            answer = request({"ask": question})
            if answer["verified"]:
                false += 1
                bad.append(("FALSE", question, answer["sql"]))
        steward.stdin.close()
        steward.wait(timeout=30)
    if "--wrong" in sys.argv:
        for what, question, sql in bad:
            print(f"{what}: {question}  {sql or ''}")
    share = 100 * (false + wrong) / (2 * count)
    print(
        f"{len(verified)} verified answers. {count} paraphrases: {hits} recognised ({100 * hits / count:.1f} %), {misses} not, "
        f"{wrong} with other rows. {count} near misses: {false} recognised. False hits: {share:.2f} % of all"
    )
    return 1 if share > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
