"""Writes a CSV of sales with N rows (argv 1) to a file (argv 2). The seed is fixed: every run sees the same data."""

import csv
import datetime
import random
import sys

rows, path = int(sys.argv[1]), sys.argv[2]
chance = random.Random(20210101)
states = "Arizona California Texas Nevada Oregon Utah Colorado Washington Idaho Montana".split()
categories = ["Furniture", "Office supplies", "Technology", "Apparel"]
first = datetime.date(2019, 1, 1)
with open(path, "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(
        "order_id order_date state city category product quantity unit_price discount amount customer_email".split()
    )
    for number in range(1, rows + 1):
        day = first + datetime.timedelta(days=chance.randrange(1461))
        state, quantity = chance.choice(states), chance.randrange(1, 12)
        price, discount = round(chance.uniform(3, 900), 2), chance.choice([0, 0, 0, 0.1, 0.2])
        amount = round(quantity * price * (1 - discount) * (1 + (day.year - 2019) * 0.07), 2)
        out.writerow(
            [
                number,
                day.isoformat(),
                state,
                f"{state} City {chance.randrange(5)}",
                chance.choice(categories),
                f"P{chance.randrange(400):03d}",
                quantity,
                price,
                discount,
                amount if chance.random() > 0.004 else "",
                f"user{chance.randrange(50000)}@example.com",
            ]
        )
