#!/usr/bin/env python3
"""brewery.sqlite: a small brewery with its beers, batches, tanks, customers and orders."""

import os, random, sqlite3, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
path = os.path.join(out, "brewery.sqlite")
if os.path.exists(path):
    os.remove(path)
R = random.Random(7307)
con = sqlite3.connect(path)
con.executescript("""
CREATE TABLE beers (beer_id INTEGER PRIMARY KEY, beer_name TEXT, style TEXT, target_abv REAL, ibu INTEGER,
  list_price_per_l REAL, launched TEXT, seasonal TEXT);
CREATE TABLE tanks (tank_no TEXT PRIMARY KEY, capacity_hl REAL, kind TEXT);
CREATE TABLE batches (batch_no TEXT PRIMARY KEY, beer_id INTEGER REFERENCES beers(beer_id),
  tank_no TEXT REFERENCES tanks(tank_no), brew_date TEXT, packaged_on TEXT, volume_l INTEGER, og REAL,
  fg REAL, abv_measured REAL, loss_pct REAL, qc_result TEXT, brewer TEXT);
CREATE TABLE customers (cust_id INTEGER PRIMARY KEY, cust_name TEXT, cust_type TEXT, town TEXT,
  discount_pct REAL, customer_since TEXT, credit_limit REAL);
CREATE TABLE orders (order_no INTEGER PRIMARY KEY, cust_id INTEGER REFERENCES customers(cust_id),
  order_date TEXT, delivered_on TEXT, status TEXT, sales_rep TEXT);
CREATE TABLE order_items (item_id INTEGER PRIMARY KEY, order_no INTEGER REFERENCES orders(order_no),
  beer_id INTEGER REFERENCES beers(beer_id), package TEXT, litres_per_unit REAL, qty INTEGER,
  unit_price REAL, line_total REAL);
""")
BEERS = [
    ("Harbour Light", "Pale Ale", 4.2, 32, 3.9, "2018-03-01", "N", 22),
    ("Grey Heron", "Porter", 5.4, 28, 4.3, "2018-10-15", "N", 9),
    ("Tidewater Pils", "Pilsner", 4.8, 36, 3.7, "2019-05-10", "N", 25),
    ("Black Lantern", "Imperial Stout", 9.2, 55, 6.4, "2019-11-20", "Y", 3),
    ("Citra Storm", "IPA", 6.3, 62, 4.8, "2020-02-12", "N", 19),
    ("Wheatfield", "Wheat Beer", 5.1, 14, 3.9, "2020-06-01", "N", 8),
    ("Orchard Sour", "Sour", 4.5, 8, 5.2, "2021-05-05", "Y", 4),
    ("Session Gull", "Session IPA", 3.6, 40, 4.1, "2022-04-08", "N", 11),
    ("Winter Beacon", "Spiced Ale", 6.8, 25, 5.1, "2022-11-01", "Y", 4),
    ("Zero Buoy", "Alcohol-free", 0.4, 20, 3.6, "2024-01-15", "N", 6),
]
for i, b in enumerate(BEERS):
    con.execute("INSERT INTO beers VALUES (?,?,?,?,?,?,?,?)", (i + 1,) + b[:7])
TANKS = [("FV1", 10), ("FV2", 10), ("FV3", 20), ("FV4", 20), ("FV5", 20), ("BBT1", 20), ("FV6", 40)]
for t, c in TANKS:
    con.execute("INSERT INTO tanks VALUES (?,?,?)", (t, c, "bright" if t[0] == "B" else "fermenter"))


def avail(i, d):
    if d.isoformat() < BEERS[i][5]:
        return 0
    if BEERS[i][6] == "Y":
        summer = BEERS[i][1] == "Sour"
        return BEERS[i][7] if (d.month in (5, 6, 7, 8)) == summer and d.month not in (3, 4, 9) else 0
    return BEERS[i][7]


n = 0
d = date(2022, 1, 4)
while d < date(2025, 1, 1):
    w = [avail(i, d + timedelta(30)) for i in range(len(BEERS))]
    i = R.choices(range(len(BEERS)), w)[0]
    t = R.choice([x for x in TANKS if x[0] != "BBT1"])
    n += 1
    abv = round(R.gauss(BEERS[i][2], 0.12), 2)
    fg = round(R.gauss(1.011, 0.002), 4)
    qc = R.choices(["pass", "pass with note", "fail"], [88, 9, 3])[0]
    pk = d + timedelta(R.randint(14, 30) + (25 if BEERS[i][1] == "Imperial Stout" else 0))
    con.execute(
        "INSERT INTO batches VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            f"B{d.year % 100}{n:04d}",
            i + 1,
            t[0],
            d.isoformat(),
            pk.isoformat() if qc != "fail" else None,
            int(t[1] * 100 * R.uniform(0.86, 0.98)),
            round(fg + abv / 131.25, 4),
            fg,
            abv if R.random() > 0.03 else None,
            round(max(1, R.gauss(6.5, 2)), 1),
            qc,
            R.choices(["Ingrid D.", "Marcus O.", "Theo W."], [5, 4, 2])[0],
        ),
    )
    d += timedelta(R.choice([2, 2, 3, 3, 4, 5]))
TOWN = ["Marlow Bay", "Penruth", "Stonebridge", "Ashcombe", "Hale Cross", "Lyndon"]
PRE = "Anchor;Crown;Fox & Hound;Railway;King's Head;Plough;White Hart;Bell;Old Ship;Red Lion".split(";")
custs = []
used = set()
while len(custs) < 86:
    ty = R.choices(["Pub", "Restaurant", "Bottle shop", "Supermarket", "Festival"], [50, 20, 16, 7, 7])[0]
    town = R.choices(TOWN, [8, 5, 9, 4, 3, 2])[0]
    base = R.choice(PRE)
    name = {
        "Pub": f"The {base}, {town}",
        "Restaurant": R.choice(["Bistro", "Trattoria", "Grill", "Kitchen"]) + f" {base.split()[0]} {town}",
        "Bottle shop": f"{town} " + R.choice(["Bottles", "Beer Cellar", "Wines & Ales", "Off-Licence"]),
        "Supermarket": R.choice(["FreshCo", "Valumart", "GreenBasket"]) + f" {town}",
        "Festival": f"{town} " + R.choice(["Beer Fest", "Folk Weekend", "Food Fair"]),
    }[ty]
    if name in used:
        continue
    used.add(name)
    since = date(2018, 3, 1) + timedelta(R.randint(0, 2300))
    disc = R.choice([0, 0, 2.5, 5, 7.5]) + (7.5 if ty == "Supermarket" else 0)
    k = R.paretovariate(1.5) * (2 if ty == "Supermarket" else 0.4 if ty == "Festival" else 1)
    custs.append((len(custs) + 1, name, ty, town, disc, since, k if R.random() > 0.09 else 0))
for c in custs:
    lim = None if R.random() < 0.1 else float(R.choice([500, 1000, 2500, 5000]))
    con.execute("INSERT INTO customers VALUES (?,?,?,?,?,?,?)", c[:5] + (c[5].isoformat(), lim))
PACK = [("Keg 50L", 50), ("Keg 30L", 30), ("Case 24x0.33L", 7.92), ("Cask 41L", 41)]
PW = {
    "Pub": [10, 6, 2, 5],
    "Restaurant": [1, 5, 6, 0],
    "Bottle shop": [0, 1, 12, 0],
    "Supermarket": [0, 0, 1, 0],
    "Festival": [6, 4, 0, 4],
}
REPS = ["Nora Brennan", "Kwame Mensah", "Julian Ellis"]
days = [date(2022, 1, 3) + timedelta(x) for x in range(1093)]
days = [x for x in days if x.weekday() < 6]
dw = [(1.4 if x.month in (6, 7, 8, 12) else 1) * (1 + 0.15 * (x.year - 2022)) for x in days]
item = 0
for j, x in enumerate(sorted(R.choices(days, dw, k=1500))):
    ok = [c for c in custs if c[5] <= x and c[6] > 0]
    c = R.choices(ok, [min(q[6], 7) for q in ok])[0]
    st = R.choices(["delivered", "cancelled", "returned"], [94, 4, 2])[0]
    if x > date(2024, 12, 24) and st == "delivered":
        st = "open"
    dl = (x + timedelta(R.choices([1, 2, 3, 5, 8], [30, 34, 20, 10, 6])[0])).isoformat()
    rep = REPS[c[0] % 3] if R.random() < 0.92 else R.choice(REPS)
    con.execute(
        "INSERT INTO orders VALUES (?,?,?,?,?,?)",
        (10001 + j, c[0], x.isoformat(), dl if st in ("delivered", "returned") else None, st, rep),
    )
    w = [avail(i, x) for i in range(len(BEERS))]
    for i in set(R.choices(range(len(BEERS)), w, k=R.choices([1, 2, 3, 4], [35, 35, 20, 10])[0])):
        p = R.choices(PACK, PW[c[2]])[0]
        q = R.randint(1, 6) * (6 if c[2] == "Supermarket" else 1)
        up = BEERS[i][4] * p[1] * (1.15 if p[1] < 10 else 1) * (1 + 0.03 * (x.year - 2022))
        up = round(up * (1 - c[4] / 100), 2)
        item += 1
        con.execute(
            "INSERT INTO order_items VALUES (?,?,?,?,?,?,?,?)",
            (item, 10001 + j, i + 1, p[0], p[1], q, up, round(up * q, 2)),
        )
con.commit()
con.close()
