"""The demo shop: five tables with what makes metrics hard. Orders without a customer or a store, customers without a
segment, two times in one table, items that would count their order more than once."""

import datetime as dt
import random

FIRST, LAST = dt.date(2022, 1, 1), dt.date(2024, 12, 31)
CHANNELS = ["web", "phone", "shop"]
PACKINGS = ["bag", "box", "paper"]
STATUSES = ["completed", "cancelled", "pending"]
SEGMENTS = ["private", "business", "public", None]
COUNTRIES = ["Austria", "Germany", "Italy", "Poland"]
REGIONS = ["north", "south", "west"]
FORMATS = ["kiosk", "mall", "outlet"]
CATEGORIES = ["garden", "kitchen", "toys", "tools"]
BRANDS = ["Acme", "Borealis", "Cobalt"]

TABLES = {
    "stores": "store_id INTEGER PRIMARY KEY, region TEXT, format TEXT",
    "products": "product_id INTEGER PRIMARY KEY, category TEXT, brand TEXT",
    "customers": "customer_id INTEGER PRIMARY KEY, signed_up_at DATE, segment TEXT, country TEXT",
    "orders": "order_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(customer_id), "
    "store_id INTEGER REFERENCES stores(store_id), ordered_at DATE, shipped_at DATE, channel TEXT, "
    "status TEXT, packing TEXT, order_total DECIMAL(10,2), order_cost DECIMAL(10,2)",
    "order_items": "item_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(order_id), "
    "product_id INTEGER REFERENCES products(product_id), picked_at DATE, quantity INTEGER, "
    "line_total DECIMAL(10,2)",
}


def rows(seed=23, orders=2_000):
    """Rows of each table, the same for the same seed."""
    draw = random.Random(seed)
    span = (LAST - FIRST).days
    day = lambda: FIRST + dt.timedelta(days=draw.randint(0, span))
    money = lambda low, high: draw.randint(low * 100, high * 100) / 100
    shop = {
        "stores": [(i, draw.choice(REGIONS), draw.choice(FORMATS)) for i in range(1, 13)],
        "products": [(i, draw.choice(CATEGORIES), draw.choice(BRANDS)) for i in range(1, 41)],
        "customers": [(i, day(), draw.choice(SEGMENTS), draw.choice(COUNTRIES)) for i in range(1, 301)],
        "orders": [],
        "order_items": [],
    }
    for order in range(1, orders + 1):
        ordered = FIRST if order == 1 else LAST if order == 2 else day()
        shipped = None if draw.random() < 0.1 else ordered + dt.timedelta(days=draw.randint(1, 40))
        shop["orders"].append((
            order,
            None if draw.random() < 0.05 else draw.randint(1, 300),
            None if draw.random() < 0.04 else draw.randint(1, 12),
            ordered,
            shipped,
            draw.choice(CHANNELS),
            draw.choices(STATUSES, [7, 2, 1])[0],
            draw.choice(PACKINGS),
            money(5, 900),
            money(1, 400),
        ))
        for _ in range(draw.randint(1, 3)):
            picked = ordered + dt.timedelta(days=draw.randint(0, 3))
            item = len(shop["order_items"]) + 1
            shop["order_items"].append(
                (item, order, draw.randint(1, 40), picked, draw.randint(1, 6), money(2, 300))
            )
    return shop


def into_sqlite(path, shop):
    """Writes the shop as a SQLite file with its foreign keys."""
    import sqlite3

    plain = lambda value: value.isoformat() if isinstance(value, dt.date) else value
    with sqlite3.connect(path) as file:
        for name, columns in TABLES.items():
            file.execute(f"CREATE TABLE {name} ({columns})")
            marks = ",".join("?" * len(shop[name][0]))
            file.executemany(
                f"INSERT INTO {name} VALUES ({marks})", [tuple(map(plain, row)) for row in shop[name]]
            )
    file.close()


def literal(value):
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (int, float)) else f"'{value}'"


def into_duckdb(connection, shop):
    """The same rows in DuckDB, with the days that MetricFlow counts over."""
    connection.execute("CREATE SCHEMA shop")
    for name, columns in TABLES.items():
        plain = columns
        for other in TABLES:
            plain = plain.replace(f" REFERENCES {other}", "\0").replace("\0(customer_id)", "")
            plain = plain.replace("\0(store_id)", "").replace("\0(order_id)", "").replace("\0(product_id)", "")
        connection.execute(f"CREATE TABLE shop.{name} ({plain})")
        values = ", ".join(f"({', '.join(map(literal, row))})" for row in shop[name])
        connection.execute(f"INSERT INTO shop.{name} VALUES {values}")
    connection.execute(
        "CREATE TABLE shop.time_spine AS SELECT CAST(day AS DATE) AS ds FROM "
        f"generate_series(DATE '{FIRST}', DATE '{LAST}', INTERVAL 1 DAY) AS days(day)"
    )
