"""Makes the example data of a small retailer: sales, customers, carts, inventory, products, visitors, sessions.

`make.py [FOLDER]` writes seven CSV files, the same bytes every time: only `random()` of a fixed seed is used, which Python
keeps stable. What is planted in the data is told in README.md beside this file.
"""

import csv
import datetime
import math
import random
import sys
from pathlib import Path

DRAW = random.Random(20210315).random

STATES = {  # state: cities, weight
    "California": (["Los Angeles", "San Diego", "Sacramento"], 24),
    "Texas": (["Houston", "Dallas", "Austin"], 20),
    "Arizona": (["Phoenix", "Tucson", "Mesa"], 13),
    "Washington": (["Seattle", "Spokane"], 10),
    "Colorado": (["Denver", "Boulder"], 9),
    "Nevada": (["Las Vegas", "Reno"], 8),
    "Oregon": (["Portland", "Eugene"], 7),
    "Utah": (["Salt Lake City", "Provo"], 5),
    "New Mexico": (["Albuquerque"], 4),
}
CATALOGUE = {  # category: (product, list price, cost share, weight)
    "Furniture": [
        ("Oak Desk", 489.0, 0.71, 3),
        ("Task Chair", 219.0, 0.62, 6),
        ("Bookshelf", 149.0, 0.66, 5),
        ("Standing Desk", 649.0, 0.74, 2),
        ("Filing Cabinet", 189.0, 0.69, 2),
    ],
    "Technology": [
        ("Laptop Stand", 59.0, 0.48, 8),
        ("Noise-Cancelling Headset", 179.0, 0.55, 7),
        ("4K Monitor", 399.0, 0.72, 5),
        ("Mechanical Keyboard", 119.0, 0.51, 6),
        ("Webcam Pro", 89.0, 0.46, 6),
        ("Docking Station", 229.0, 0.63, 4),
    ],
    "Office Supplies": [
        ("Printer Paper", 24.0, 0.58, 14),
        ("Gel Pens", 12.0, 0.35, 13),
        ("Whiteboard", 79.0, 0.53, 4),
        ("Label Maker", 45.0, 0.49, 4),
        ("Desk Organizer", 29.0, 0.42, 7),
    ],
    "Lighting": [("Desk Lamp", 54.0, 0.44, 7), ("Floor Lamp", 129.0, 0.52, 3), ("LED Panel", 99.0, 0.5, 3)],
}
SEGMENTS = [("Consumer", 52), ("Small Business", 31), ("Corporate", 17)]
FIRST = [
    "Ava",
    "Ben",
    "Carla",
    "Diego",
    "Elena",
    "Farid",
    "Grace",
    "Hugo",
    "Ines",
    "Jonas",
    "Kim",
    "Liam",
    "Mara",
    "Noor",
    "Oscar",
    "Priya",
]
LAST = [
    "Adams",
    "Brooks",
    "Castillo",
    "Dawson",
    "Ellis",
    "Fischer",
    "Garcia",
    "Hughes",
    "Ito",
    "Jensen",
    "Khan",
    "Lopez",
    "Meyer",
    "Nguyen",
    "Olsen",
    "Patel",
]
START, END = datetime.date(2020, 1, 1), datetime.date(2022, 12, 31)
OUTAGE = (datetime.date(2021, 2, 3), datetime.date(2021, 3, 2))  # the Phoenix warehouse was closed


def pick(pairs):
    """One of (value, weight)."""
    left = DRAW() * sum(weight for _, weight in pairs)
    for value, weight in pairs:
        left -= weight
        if left < 0:
            return value
    return pairs[-1][0]


def whole(low, high):
    return low + int(DRAW() * (high - low + 1))


def write(folder, name, header, rows):
    with open(folder / name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def products():
    rows = []
    for category, items in CATALOGUE.items():
        for name, price, share, _ in items:
            launched = datetime.date(2018, 1, 1) + datetime.timedelta(days=whole(0, 700))
            rows.append(
                [
                    f"P{len(rows) + 1:03d}",
                    name,
                    category,
                    f"{price * share:.2f}",
                    f"{price:.2f}",
                    launched.isoformat(),
                ]
            )
    return rows


def customers(count=420):
    rows = []
    places = [(state, weight) for state, (_, weight) in STATES.items()]
    for number in range(1, count + 1):
        state = pick(places)
        cities = STATES[state][0]
        city = cities[min(int(DRAW() ** 1.6 * len(cities)), len(cities) - 1)]
        first, last = FIRST[whole(0, 15)], LAST[whole(0, 15)]
        signed = START - datetime.timedelta(days=whole(0, 900))
        email = f"{first}.{last}{number}@example.com".lower()
        rows.append(
            [
                f"C{number:04d}",
                f"{first} {last}",
                email,
                f"+1 555 01{whole(0, 99):02d} {number:04d}",
                pick(SEGMENTS),
                state,
                city,
                signed.isoformat(),
            ]
        )
    return rows


def demand(day, state, category):
    """How many orders a state and a category draw on a day, before chance."""
    years = (day - START).days / 365.25
    season = 1 + 0.22 * math.sin((day.timetuple().tm_yday - 300) / 365.25 * 2 * math.pi)
    weekday = 1.15 if day.weekday() < 5 else 0.6
    december = 1.35 if day.month == 12 and category in ("Technology", "Lighting") else 1.0
    closed = 0.35 if state == "Arizona" and OUTAGE[0] <= day <= OUTAGE[1] else 1.0
    return (1 + 0.13 * years) * season * weekday * december * closed


def sales(people):
    rows, number = [], 10000
    by_state = {state: [person for person in people if person[5] == state] for state in STATES}
    day = START
    while day <= END:
        for state, (_, weight) in STATES.items():
            for category, items in CATALOGUE.items():
                expected = (
                    weight
                    / 92
                    * demand(day, state, category)
                    * {"Furniture": 0.8, "Technology": 1.5, "Office Supplies": 1.7, "Lighting": 0.5}[category]
                )
                orders = int(expected) + (DRAW() < expected % 1)
                for _ in range(orders):
                    number += 1
                    person = by_state[state][whole(0, len(by_state[state]) - 1)]
                    name, price, share, _ = pick([(item, item[3]) for item in items])
                    quantity = 1 + int(DRAW() ** 2 * (12 if category == "Office Supplies" else 4))
                    discount = pick(
                        [
                            (0.0, 70),
                            (0.05, 12),
                            (0.1, 11),
                            (0.2, 6),
                            (0.35, 1 if category != "Furniture" else 4),
                        ]
                    )
                    unit = round(price * (1 + 0.03 * (day.year - 2020)), 2)
                    amount = round(unit * quantity * (1 - discount), 2)
                    cost = round(price * share * quantity, 2)
                    returned = "yes" if DRAW() < (0.11 if name == "Webcam Pro" else 0.035) else "no"
                    shown = "" if DRAW() < 0.004 else f"{amount:.2f}"
                    rows.append(
                        [
                            number,
                            day.isoformat(),
                            state,
                            person[6],
                            person[4],
                            category,
                            name,
                            quantity,
                            f"{unit:.2f}",
                            discount,
                            shown,
                            f"{cost:.2f}",
                            returned,
                            person[0],
                        ]
                    )
        day += datetime.timedelta(days=1)
    return rows


def carts(people, catalogue):
    rows = []
    for number in range(1, 2401):
        person, product = people[whole(0, len(people) - 1)], catalogue[whole(0, len(catalogue) - 1)]
        moment = datetime.datetime(2022, 1, 1) + datetime.timedelta(minutes=whole(0, 365 * 24 * 60 - 1))
        price = float(product[4])
        leave = (
            0.42 + 0.3 * min(price / 650, 1) + (0.15 if product[1] in ("4K Monitor", "Standing Desk") else 0)
        )
        status = "abandoned" if DRAW() < leave else "purchased"
        rows.append(
            [
                f"K{number:05d}",
                moment.isoformat(timespec="minutes"),
                person[0],
                product[0],
                whole(1, 3),
                status,
                whole(2, 55 if status == "purchased" else 240),
            ]
        )
    return rows


def inventory(catalogue):
    rows = []
    for product in catalogue:
        for warehouse in ("Phoenix", "Dallas", "Portland"):
            scarce = product[1] in ("4K Monitor", "Standing Desk") and warehouse != "Dallas"
            stock = whole(0, 9) if scarce else whole(25, 400)
            restocked = datetime.date(2022, 10, 1) + datetime.timedelta(days=whole(0, 90))
            rows.append([product[0], warehouse, stock, whole(15, 60), restocked.isoformat()])
    return rows


def visitors(people):
    """Who the customers are, as the web shop knows it: nothing that names a person."""
    ages = [("18-24", 14), ("25-34", 31), ("35-44", 26), ("45-54", 17), ("55+", 12)]
    return [
        [
            person[0],
            pick(ages),
            pick([("female", 49), ("male", 47), ("other", 4)]),
            "yes" if DRAW() < 0.38 else "no",
        ]
        for person in people
    ]


def sessions(people, catalogue, count=4000):
    """Visits of 2022. Visitors on phones look and leave; those from the newsletter buy."""
    rows = []
    channels = [("search", 38), ("direct", 24), ("social", 18), ("newsletter", 12), ("ads", 8)]
    for number in range(1, count + 1):
        moment = datetime.datetime(2022, 1, 1) + datetime.timedelta(
            days=whole(0, 364),
            hours=pick([(hour, 1 + 5 * (8 <= hour <= 22) + 4 * (19 <= hour <= 21)) for hour in range(24)]),
            minutes=whole(0, 59),
        )
        channel, device = pick(channels), pick([("phone", 55), ("computer", 37), ("tablet", 8)])
        known = people[whole(0, len(people) - 1)][0] if DRAW() < 0.6 else ""
        bought = DRAW() < {"newsletter": 0.11, "social": 0.02}.get(channel, 0.05) * (
            0.6 if device == "phone" else 1.2
        )
        rows.append(
            [
                f"S{number:05d}",
                moment.isoformat(timespec="minutes"),
                known,
                channel,
                device,
                catalogue[whole(0, len(catalogue) - 1)][0],
                1 + int(DRAW() ** 2 * 14),
                whole(1, 25),
                "yes" if bought else "no",
            ]
        )
    return rows


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    catalogue, people = products(), customers()
    write(
        folder,
        "products.csv",
        ["product_id", "product", "category", "unit_cost", "list_price", "launched"],
        catalogue,
    )
    write(
        folder,
        "customers.csv",
        ["customer_id", "name", "email", "phone", "segment", "state", "city", "signed_up"],
        people,
    )
    write(
        folder,
        "sales.csv",
        [
            "order_id",
            "order_date",
            "state",
            "city",
            "segment",
            "category",
            "product",
            "quantity",
            "unit_price",
            "discount",
            "amount",
            "cost",
            "returned",
            "customer_id",
        ],
        sales(people),
    )
    write(
        folder,
        "carts.csv",
        ["cart_id", "created_at", "customer_id", "product_id", "quantity", "status", "minutes_open"],
        carts(people, catalogue),
    )
    write(
        folder,
        "inventory.csv",
        ["product_id", "warehouse", "stock", "reorder_level", "last_restocked"],
        inventory(catalogue),
    )
    write(folder, "visitors.csv", ["customer_id", "age_group", "gender", "newsletter"], visitors(people))
    write(
        folder,
        "sessions.csv",
        [
            "session_id",
            "started_at",
            "customer_id",
            "channel",
            "device",
            "product_id",
            "pages",
            "minutes",
            "converted",
        ],
        sessions(people, catalogue),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
