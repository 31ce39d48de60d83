"""Real-estate listings, German-style export (semicolon, decimal comma, dd.mm.yyyy) -> listings.csv"""

import csv, os, random, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(2718)
C = {
    "Berlin": (
        30,
        5200,
        {"Kreuzberg": 1.12, "Mitte": 1.38, "Neukölln": 0.92, "Pankow": 1.02, "Spandau": 0.76},
    ),
    "Hamburg": (22, 5600, {"Altona": 1.08, "Eimsbüttel": 1.18, "Harburg": 0.72, "Wandsbek": 0.88}),
    "Munich": (18, 8900, {"Schwabing": 1.25, "Sendling": 1.0, "Pasing": 0.9, "Bogenhausen": 1.35}),
    "Cologne": (13, 4700, {"Ehrenfeld": 1.05, "Lindenthal": 1.22, "Kalk": 0.8}),
    "Frankfurt": (10, 5900, {"Westend": 1.42, "Bornheim": 1.0, "Höchst": 0.7}),
    "Leipzig": (7, 3000, {"Plagwitz": 1.08, "Gohlis": 0.98, "Grünau": 0.7}),
}
PT = {
    "Apartment": (52, 74, 24, 1.0),
    "House": (19, 138, 30, 0.92),
    "Townhouse": (11, 116, 20, 0.9),
    "Studio": (10, 32, 6, 1.13),
    "Loft": (5, 98, 25, 1.17),
    "Villa": (3, 228, 55, 1.3),
}
AG = {
    "Kessler Immobilien": ["Anna Kessler", "Tobias Brandt", "Miriam Vogt", "Jan Petersen"],
    "HomeKey": ["Sophie Lang", "Leon Hartmann", "Derya Yilmaz", "Paul Seidel", "Nina Roth"],
    "Stadtwohnen GmbH": ["Frank Busch", "Katrin Engel", "Oliver Maurer"],
    "Elbe & Isar Realty": ["Clara Winter", "Maximilian Graf"],
    "Haus & Hof": ["Ute Sommer", "Stefan Pohl"],
}
AW = {
    "Kessler Immobilien": 30,
    "HomeKey": 34,
    "Stadtwohnen GmbH": 17,
    "Elbe & Isar Realty": 10,
    "Haus & Hof": 7,
}
pw = {a: R.uniform(0.5, 1.6) for l in AG.values() for a in l}
SE = {1: 0.7, 2: 0.8, 3: 1.15, 4: 1.25, 5: 1.35, 6: 1.15, 7: 0.9, 8: 0.8, 9: 1.15, 10: 1.05, 11: 0.8, 12: 0.5}
de = lambda x: f"{x:.2f}".replace(".", ",")
dd = lambda d: d.strftime("%d.%m.%Y")
days = [date(2021, 1, 1) + timedelta(days=i) for i in range(1461)]
dw = [
    SE[d.month] * {2021: 0.9, 2022: 1, 2023: 0.82, 2024: 1.1}[d.year] * (0.35 if d.weekday() > 4 else 1)
    for d in days
]
L = sorted(R.choices(days, dw, k=3140))
rows = []
for i, d in enumerate(L):
    city = R.choices(list(C), [v[0] for v in C.values()])[0]
    nb = R.choices(list(C[city][2]), [3 + 5 * R.random() for _ in C[city][2]])[0]
    t = R.choices(list(PT), [v[0] for v in PT.values()])[0]
    m, s = PT[t][1:3]
    sqm = round(
        max(
            {"Studio": 18, "Apartment": 36, "Loft": 52, "House": 72, "Townhouse": 68, "Villa": 135}[t]
            + R.random() * 4,
            R.gauss(m, s),
        ),
        1,
    )
    rooms = (
        1
        if t == "Studio"
        else max(1, round(sqm / R.uniform(23, 33)))
        if t in ("Apartment", "Loft")
        else max(3, round(sqm / R.uniform(24, 31)))
    )
    yb = (
        ""
        if R.random() < 0.05
        else R.choices(
            [R.randint(1890, 1930), R.randint(1950, 1979), R.randint(1980, 2004), R.randint(2005, 2023)],
            [28, 33, 22, 17],
        )[0]
    )
    if yb and yb > d.year:
        yb = d.year
    en = (
        ""
        if R.random() < 0.09
        else R.choices(
            "ABCDEFG", [4, 9, 17, 26, 22, 14, 8] if not yb or yb < 1990 else [22, 30, 25, 14, 6, 2, 1]
        )[0]
    )
    if t == "Apartment" and not en and R.random() < 0.3:
        en = "D"
    gd = (
        R.random()
        < {"House": 0.84, "Villa": 0.97, "Townhouse": 0.66, "Apartment": 0.12, "Loft": 0.05, "Studio": 0.02}[
            t
        ]
    )
    pk = (
        R.random()
        < {"House": 0.78, "Villa": 0.95, "Townhouse": 0.6, "Apartment": 0.36, "Loft": 0.5, "Studio": 0.15}[t]
    )
    trend = {2021: 1.0, 2022: 1.07, 2023: 0.97, 2024: 1.0}[d.year]
    price = (
        C[city][1]
        * C[city][2][nb]
        * PT[t][3]
        * sqm
        * trend
        * R.uniform(0.8, 1.24)
        * (1.12 if yb and yb > 2010 else 1)
        * (1.03 if en in ("A", "B") and en else 0.99)
    )
    price = round(price / 500) * 500
    age = (date(2024, 12, 31) - d).days
    dom = int(
        max(
            4,
            R.lognormvariate(4.0, 0.62)
            * {
                "Berlin": 0.95,
                "Hamburg": 0.92,
                "Munich": 0.8,
                "Cologne": 1.0,
                "Frankfurt": 1.1,
                "Leipzig": 1.35,
            }[city]
            * (1.6 if t == "Villa" else 0.8 if t == "Studio" else 1)
            * {2021: 0.8, 2022: 0.95, 2023: 1.35, 2024: 1.15}[d.year],
        )
    )
    sold = sp = ""
    x = R.random()
    if x < 0.12:
        st = "withdrawn"
    elif dom < age and x < 0.9:
        st = "sold"
        so = d + timedelta(days=dom)
        sold = dd(so)
        sp = de(
            round(
                price
                * min(1.09, max(0.8, R.gauss(0.965 - 0.0002 * dom + (0.02 if city == "Munich" else 0), 0.03)))
                / 250
            )
            * 250
        )
    else:
        st = "active" if age < 400 or x > 0.97 else "sold"
    if st == "active" and R.random() < 0.18:
        st = "reserved"
    if st == "sold" and not sold:
        so = d + timedelta(days=min(dom, age))
        sold = dd(so)
        sp = de(round(price * 0.95 / 250) * 250)
    ag = R.choices(
        list(AG),
        [
            AW[a]
            * (
                2.2
                if a == "Elbe & Isar Realty" and city in ("Hamburg", "Munich")
                else 0.6
                if a == "Elbe & Isar Realty"
                else 1
            )
            for a in AG
        ],
    )[0]
    p = R.choices(AG[ag], [pw[q] for q in AG[ag]])[0]
    adj = R.choice(["Bright", "Charming", "Quiet", "Spacious", "Renovated", "Modern", "Sunny", "Cosy"])
    rows.append(
        [
            f"RE-{10000 + i * 3 + R.randint(0, 2)}",
            f"{adj} {t.lower()} in {nb}",
            city,
            nb,
            t,
            st,
            de(price),
            sp,
            f"{sqm:.1f}".replace(".", ","),
            rooms,
            1 + (sqm > 95) + (sqm > 190),
            yb,
            en,
            "yes" if gd else "no",
            "yes" if pk else "no",
            dd(d),
            sold,
            p,
            ag,
            ""
            if R.random() < 0.3
            else de(round(sqm * R.uniform(2.4, 4.6), 2))
            if t in ("Apartment", "Studio", "Loft")
            else "",
        ]
    )
with open(os.path.join(out, "listings.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        [
            "ListingID",
            "Title",
            "City",
            "Neighbourhood",
            "PropertyType",
            "Status",
            "AskingPrice (EUR)",
            "SoldPrice (EUR)",
            "Sqm",
            "Rooms",
            "Bathrooms",
            "YearBuilt",
            "EnergyClass",
            "Garden",
            "Parking",
            "ListedOn",
            "SoldOn",
            "Agent",
            "Agency",
            "MonthlyFee (EUR)",
        ]
    )
    w.writerows(rows)
