"""restaurant_orders.csv: point-of-sale lines, semicolon separated, decimal commas (2022-2024)"""

import random, csv, sys, os
from datetime import datetime, timedelta, date

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4202)
MENU = [
    ("Margherita", "Pizza", 9.5, 15),
    ("Quattro Formaggi", "Pizza", 12.5, 8),
    ("Diavola", "Pizza", 12.0, 11),
    ("Calzone", "Pizza", 13.0, 4),
    ("Spaghetti Carbonara", "Pasta", 13.5, 12),
    ("Lasagne", "Pasta", 14.0, 9),
    ("Penne Arrabbiata", "Pasta", 11.5, 6),
    ("Gnocchi Gorgonzola", "Pasta", 14.5, 4),
    ("Caesar Salad", "Salads", 10.5, 6),
    ("Caprese", "Salads", 9.0, 4),
    ("Greek Salad", "Salads", 9.8, 3),
    ("Bruschetta", "Starters", 6.5, 9),
    ("Minestrone", "Starters", 6.0, 5),
    ("Calamari", "Starters", 8.9, 6),
    ("Tiramisu", "Desserts", 6.8, 11),
    ("Panna Cotta", "Desserts", 5.9, 6),
    ("Gelato", "Desserts", 4.5, 8),
    ("Sparkling Water", "Drinks", 3.2, 14),
    ("Cola", "Drinks", 3.5, 16),
    ("Homemade Lemonade", "Drinks", 4.2, 9),
    ("Espresso", "Drinks", 2.6, 13),
    ("Cappuccino", "Drinks", 3.4, 8),
    ("House Red Wine", "Alcohol", 5.5, 11),
    ("House White Wine", "Alcohol", 5.4, 8),
    ("Draft Beer", "Alcohol", 4.6, 14),
    ("Aperol Spritz", "Alcohol", 8.5, 7),
]
LOC = {
    "Harbour": (0.38, ["Anna", "Bram", "Chloe", "Daan", "Eva"]),
    "Old Town": (0.30, ["Femke", "Gijs", "Hanna", "Ivo"]),
    "Station": (0.20, ["Joris", "Kim", "Lars"]),
    "University": (0.12, ["Mila", "Noah", "Olga"]),
}
SW = {
    "Anna": 9,
    "Bram": 5,
    "Chloe": 7,
    "Daan": 3,
    "Eva": 4,
    "Femke": 8,
    "Gijs": 5,
    "Hanna": 6,
    "Ivo": 2.6,
    "Joris": 7,
    "Kim": 5,
    "Lars": 3,
    "Mila": 6,
    "Noah": 4,
    "Olga": 2,
}
days = [date(2022, 1, 1) + timedelta(days=i) for i in range(1096)]
days = [d for d in days if not (d.month == 12 and d.day == 25) and not (d.month == 1 and d.day == 1)]
mw = [0.75, 0.85, 0.92, 1.0, 1.1, 1.18, 1.28, 1.22, 1.04, 0.97, 0.9, 1.3]
dw = [
    mw[d.month - 1]
    * {2022: 1, 2023: 1.16, 2024: 1.27}[d.year]
    * [0.62, 0.7, 0.8, 0.95, 1.5, 1.75, 1.15][d.weekday()]
    for d in days
]
orders = []
for _ in range(2650):
    d = R.choices(days, dw)[0]
    h = R.choices([11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21], [3, 13, 11, 5, 3, 3, 6, 12, 17, 13, 6])[0]
    orders.append(datetime(d.year, d.month, d.day, h, R.randrange(60)))
orders.sort()
rows = []
line = 1
for k, ts in enumerate(orders):
    loc = R.choices(list(LOC), [v[0] for v in LOC.values()])[0]
    sv = R.choices(LOC[loc][1], [SW[s] for s in LOC[loc][1]])[0]
    delivp = {2022: 0.24, 2023: 0.19, 2024: 0.17}[ts.year]
    typ = R.choices(
        ["Dine-in", "Takeaway", "Delivery"], [0.58, 0.22 + (0.12 if loc == "Station" else 0), delivp]
    )[0]
    pay = R.choices(
        ["Card", "Cash", "Mobile", "Voucher"],
        [0.52, {2022: 0.3, 2023: 0.22, 2024: 0.15}[ts.year], 0.18, 0.03],
    )[0]
    if typ == "Delivery" and pay == "Cash":
        pay = "Card"
    member = "Yes" if R.random() < 0.31 else "No"
    table = R.randrange(1, 19) if typ == "Dine-in" else ""
    disc = R.choices([0, 5, 10, 15, 20, 50], [70, 4, 13 if member == "Yes" else 6, 5, 4, 0.8])[0]
    summer = ts.month in (6, 7, 8)
    n = R.choices([1, 2, 3, 4, 5, 6], [20, 27, 24, 16, 9, 4] if typ == "Dine-in" else [34, 33, 20, 9, 3, 1])[
        0
    ]
    picked = []
    while len(picked) < n:
        ws = []
        for m in MENU:
            x = m[3]
            if m[0] in ("Gelato", "Homemade Lemonade", "Aperol Spritz", "Caprese"):
                x *= 2.1 if summer else 0.7
            if m[0] in ("Minestrone", "Lasagne", "House Red Wine"):
                x *= 1.5 if ts.month in (11, 12, 1, 2) else 0.8
            if m[1] == "Alcohol" and (typ != "Dine-in" or ts.hour < 16):
                x *= 0.3
            if m[0] == "Aperol Spritz" and ts.hour < 15:
                x *= 0.4
            if m[1] == "Pizza" and typ != "Dine-in":
                x *= 1.9
            if m[0] in ("Espresso", "Cappuccino") and typ == "Delivery":
                x = 0
            if m in picked:
                x = 0
            ws.append(x)
        picked.append(R.choices(MENU, ws)[0])
    for m in picked:
        q = (
            R.choices([1, 2, 3, 4, 5, 8], [60, 27, 8, 4, 1.2, 0.25])[0]
            if m[1] in ("Drinks", "Alcohol", "Pizza")
            else R.choices([1, 2, 3, 4], [74, 20, 4, 2])[0]
        )
        price = round(m[2] * {2022: 1, 2023: 1.06, 2024: 1.1}[ts.year] * 20) / 20
        tot = round(q * price * (100 - disc) / 100 + 1e-9, 2)
        prep = (
            ""
            if R.random() < 0.04
            else round(
                max(
                    0.5,
                    R.gauss(
                        {
                            "Pizza": 13,
                            "Pasta": 15,
                            "Salads": 7,
                            "Starters": 8,
                            "Desserts": 5,
                            "Drinks": 2.2,
                            "Alcohol": 2.6,
                        }[m[1]]
                        + (3.5 if ts.hour in (19, 20) else 0)
                        + (1.5 if loc == "Harbour" else 0),
                        2.4,
                    ),
                ),
                1,
            )
        )
        note = (
            R.choice(
                [
                    "no onion",
                    "extra cheese",
                    "allergy: nuts",
                    "well done",
                    "gluten free",
                    "birthday",
                    "no ice",
                ]
            )
            if R.random() < 0.05
            else ""
        )
        rows.append(
            (
                line,
                f"R{k + 1001:05d}",
                ts.strftime("%Y-%m-%d %H:%M"),
                loc,
                typ,
                table,
                sv,
                m[0],
                m[1],
                q,
                price,
                disc,
                tot,
                pay,
                member,
                prep,
                note,
            )
        )
        line += 1
dec = lambda v: f"{v:.2f}".replace(".", ",")
with open(os.path.join(out, "restaurant_orders.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        [
            "Line No",
            "Order No",
            "Order Time",
            "Location",
            "Order Type",
            "Table No",
            "Server",
            "Item",
            "Category",
            "Qty",
            "Unit Price (EUR)",
            "Discount %",
            "Line Total (EUR)",
            "Payment",
            "Loyalty Member",
            "Prep Time (min)",
            "Note",
        ]
    )
    for r in rows:
        r = list(r)
        r[10] = dec(r[10])
        r[12] = dec(r[12])
        if r[15] != "":
            r[15] = f"{r[15]:.1f}".replace(".", ",")
        w.writerow(r)
