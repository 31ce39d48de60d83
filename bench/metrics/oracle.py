"""Metrics beside MetricFlow: generated combinations of metric, dimension, grain and filter over a demo shop.

    python3 -m venv VENV && VENV/bin/pip install metricflow==0.213.0 'duckdb<1.5'
    cargo build --workspace --example answer_lines && cargo build -p steward
    VENV/bin/python bench/metrics/oracle.py TARGET/debug [--count 1000] [--refused 300] [--seed 1] [--wrong]

MetricFlow compiles each combination to SQL, which DuckDB runs. Steward imports the same manifest (`steward semantics
import`) and is asked the same in words, over a SQLite file with the same rows. Rows are compared as multisets, numbers to
nine digits. Combinations that MetricFlow refuses (a dimension that would count rows twice) must not be answered. The exit
code is 0 when all rows are the same and nothing that must be refused is answered.
"""

import argparse
import collections
import datetime as dt
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import shop
from metricflow.engine.metricflow_engine import MetricFlowEngine, MetricFlowQueryRequest
from metricflow.protocols.sql_client import SqlEngine
from metricflow.sql.render.duckdb_renderer import DuckDbSqlPlanRenderer
from metricflow_semantic_interfaces.parsing.dir_to_model import parse_yaml_file_paths_to_semantic_manifest
from metricflow_semantics.model.semantic_manifest_lookup import SemanticManifestLookup

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = [
    "gross sales", "revenue", "lost sales", "web orders", "order count", "buyers", "record order", "basket size",
    "gross profit", "completion rate", "profit per buyer",
]
CUMULATIVE = ["running sales", "sales to date"]
ITEMS = ["units sold", "item sales", "price per unit"]
SYNONYMS = {"gross sales": "gross turnover", "buyers": "active customers"}
OF_ORDERS = {"channel": shop.CHANNELS, "status": shop.STATUSES, "packing": shop.PACKINGS}
OF_CUSTOMERS = {"segment": [one for one in shop.SEGMENTS if one], "country": shop.COUNTRIES}
OF_STORES = {"region": shop.REGIONS, "format": shop.FORMATS}
OF_PRODUCTS = {"category": shop.CATEGORIES, "brand": shop.BRANDS}
VALUES = OF_ORDERS | OF_CUSTOMERS | OF_STORES | OF_PRODUCTS
GRAINS = ["day", "week", "month", "quarter", "year"]
# The default time of each table, and the dimensions that each of its rows has once, as MetricFlow names them.
REACH = {
    "orders": {name: f"order__{name}" for name in OF_ORDERS}
    | {name: f"customer__{name}" for name in OF_CUSTOMERS}
    | {name: f"store__{name}" for name in OF_STORES},
    "items": {name: f"order__{name}" for name in OF_ORDERS}
    | {name: f"order__customer__{name}" for name in OF_CUSTOMERS}
    | {name: f"order__store__{name}" for name in OF_STORES}
    | {name: f"product__{name}" for name in OF_PRODUCTS},
    "customers": {name: f"customer__{name}" for name in OF_CUSTOMERS},
}


class NoClient:
    """MetricFlow asks it for a dialect only; DuckDB runs what was compiled."""

    sql_engine_type = SqlEngine.DUCKDB
    sql_plan_renderer = DuckDbSqlPlanRenderer()

    def render_bind_parameter_key(self, key):
        return f"${key}"


class Oracle:
    """What MetricFlow says."""

    def __init__(self, rows):
        built = parse_yaml_file_paths_to_semantic_manifest([str(HERE / "model.yaml")])
        self.manifest = built.semantic_manifest
        self.engine = MetricFlowEngine(SemanticManifestLookup(self.manifest), NoClient())
        self.database = duckdb.connect()
        shop.into_duckdb(self.database, rows)

    def rows(self, combination):
        """The rows of a combination; None when MetricFlow refuses it."""
        request = MetricFlowQueryRequest.create(
            metric_names=[combination["metric"].replace(" ", "_")],
            group_by_names=combination["by"],
            where_constraints=combination["where"],
        )
        try:
            compiled = self.engine.explain(request).sql_statement.sql
        except Exception as error:
            if "InvalidQuery" in type(error).__name__:
                return None
            raise
        return self.database.execute(compiled).fetchall()


def family(metric):
    return "items" if metric in ITEMS else "customers" if metric == "signups" else "orders"


def period(draw):
    """A period in words, and as the first day and the day after its last."""
    year = draw.choice([2022, 2023, 2024])
    month = draw.randint(1, 12)
    following = lambda day: (day.replace(day=1) + dt.timedelta(days=32)).replace(day=1)
    first = dt.date(year, month, 1)
    quarter = draw.randint(1, 4)
    begins = dt.date(year, quarter * 3 - 2, 1)
    ends = following(dt.date(year, quarter * 3, 1))
    span = dt.date(year, month, draw.randint(1, 28)), dt.date(year, month, 28) + dt.timedelta(days=draw.randint(1, 90))
    return draw.choice([
        (f"in {year}", dt.date(year, 1, 1), dt.date(year + 1, 1, 1)),
        (f"in {first:%B} {year}", first, following(first)),
        (f"in Q{quarter} {year}", begins, ends),
        (f"from {span[0]} to {span[1]}", span[0], span[1] + dt.timedelta(days=1)),
        (f"since {year}", dt.date(year, 1, 1), None),
        (f"before {first:%B} {year}", None, first),
    ])


def combine(draw, refused=False):
    """A combination as MetricFlow takes it, with a question that asks for the same."""
    metric = draw.choice(ORDERS + CUMULATIVE + ITEMS * 3 + ["signups"] * 2)
    if refused:
        metric = draw.choice(ORDERS + ["signups"] * 4)
    reach = REACH[family(metric)]
    beyond = sorted(set(VALUES) - set(reach))
    names = sorted(reach)
    by, where, words = [], [], [draw.choice([metric, metric, SYNONYMS.get(metric, metric), f"total {metric}"])]
    if metric not in ("gross sales", "revenue", "lost sales", "item sales", "units sold"):
        words = [words[0].removeprefix("total ")]
    groups = draw.sample(names, draw.choice([0, 1, 1, 2]))
    grain = draw.choice(GRAINS) if draw.random() < 0.45 else None
    if metric in CUMULATIVE:
        grain, groups = draw.choice(["month", "quarter", "year"]), draw.sample(sorted(OF_ORDERS), draw.choice([0, 1]))
    if refused:
        groups = groups[:1] + [draw.choice(beyond)] if draw.random() < 0.6 else groups[:1]
    said = list(groups)
    by += [reach.get(name) or outside(name) for name in groups]
    if grain:
        by.append(f"metric_time__{grain}")
        said.insert(draw.randint(0, len(said)), grain)
    if said:
        words.append(draw.choice(["by", "by", "per", "for each"]) + " " + " and ".join(said))
    free = [name for name in names if name not in groups and metric not in CUMULATIVE]
    filters = draw.sample(free, min(len(free), draw.choice([0, 0, 1, 1, 2])))
    if refused and not set(groups) & set(beyond):
        filters = [draw.choice(beyond)]
    for name in filters:
        value = draw.choice(VALUES[name])
        dimension = filtered(reach.get(name) or outside(name))
        if draw.random() < 0.15:
            where.append(f"{dimension} != '{value}'")
            words.append(f"where {name} is not {value}")
        else:
            where.append(f"{dimension} = '{value}'")
            words.append(draw.choice([f"where {name} is {value}", f"with {name} {value}", f"for {name} {value}"]))
    if draw.random() < 0.35:
        text, first, last = period(draw)
        time = "{{ TimeDimension('metric_time', 'day') }}"
        where += [f"{time} >= '{first}'"] if first else []
        where += [f"{time} < '{last}'"] if last else []
        words.append(text)
    return {"metric": metric, "by": by, "where": where, "question": " ".join(words)}


def outside(name):
    """A dimension that the table does not have once, by the entity it belongs to."""
    owners = {"product": OF_PRODUCTS, "order": OF_ORDERS, "store": OF_STORES, "customer": OF_CUSTOMERS}
    return next(f"{owner}__{name}" for owner, names in owners.items() if name in names)


def filtered(path):
    """A dimension as a filter of MetricFlow names it; `order__customer__segment` is reached through the order."""
    *before, owner, name = path.split("__")
    through = f", entity_path={before}" if before else ""
    return f"{{{{ Dimension('{owner}__{name}'{through}) }}}}"


def plain(value):
    if value is None:
        return None
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None  # MetricFlow divides by nothing; Steward has no number there.
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()[:10]
    if isinstance(value, str):
        return value[:10] if value[10:] in ("T00:00:00", " 00:00:00") else value
    # The nudge keeps sums that differ in their last digits on one side of a half.
    return f"{float(value) * (1 + 1e-12):.8e}"


def table(rows):
    """Rows as a multiset that does not depend on the order of columns."""
    return collections.Counter(tuple(sorted((plain(cell) for cell in row), key=str)) for row in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("built", type=pathlib.Path, help="the folder with steward and examples/answer_lines")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--refused", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", action="store_true", help="print what differs")
    options = parser.parse_args()
    rows = shop.rows()
    oracle, draw = Oracle(rows), random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "semantics").mkdir()
        (home / "semantic_manifest.json").write_text(oracle.manifest.json())
        steward = [str(options.built / "steward"), "--home", str(home / "own"), "semantics", "import"]
        imported = subprocess.run(
            [*steward, str(home / "semantic_manifest.json")], capture_output=True, text=True, check=True
        )
        (home / "semantics/shop.yaml").write_text(imported.stdout)
        print(f"{len(json.loads(imported.stdout)['metrics'])} metrics imported; {imported.stderr.strip() or 'none left out'}")
        shop.into_sqlite(home / "shop.sqlite", rows)
        program = subprocess.Popen(
            [str(options.built / "examples/answer_lines"), str(home), str(home / "shop.sqlite")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

        def ask(question):
            program.stdin.write(json.dumps({"ask": question}) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        failed = compare(oracle, ask, draw, options)
        program.stdin.close()
        program.wait(timeout=30)
    return 1 if failed else 0


def compare(oracle, ask, draw, options):
    seen, same, differ, declined = set(), 0, [], []
    while len(seen) < options.count:
        combination = combine(draw)
        if combination["question"] in seen:
            continue
        expected = oracle.rows(combination)
        assert expected is not None, combination
        seen.add(combination["question"])
        answer = ask(combination["question"])
        if answer["rows"] is None or answer["planner"] != "metric":
            declined.append((combination["question"], answer))
        elif table(answer["rows"]) == table(expected):
            same += 1
        else:
            differ.append((combination["question"], answer, expected))
    print(f"{len(seen)} combinations: {same} the same rows, {len(differ)} others, {len(declined)} not answered")
    answered, asked = [], set()
    while len(asked) < options.refused:
        combination = combine(draw, refused=True)
        if combination["question"] in asked:
            continue
        assert oracle.rows(combination) is None, combination
        asked.add(combination["question"])
        answer = ask(combination["question"])
        if answer["rows"] is not None:
            answered.append((combination["question"], answer))
    print(f"{len(asked)} incompatible combinations: {len(answered)} answered")
    if options.wrong:
        for question, answer, expected in differ:
            print(f"\n{question}\n  {answer['sql']}\n  {answer['rows'][:3]} expected {expected[:3]} ({len(answer['rows'])}, {len(expected)})")
        for question, answer in declined:
            print(f"\n{question}\n  {answer['planner']} {answer['sql']} {answer['answer']}")
        for question, answer in answered:
            print(f"\nANSWERED {question}\n  {answer['planner']} {answer['sql']}")
    return bool(differ or declined or answered)


if __name__ == "__main__":
    sys.exit(main())
