import os, sys, random, sqlite3, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
p = os.path.join(out, "warehouse.sqlite")
if os.path.exists(p):
    os.remove(p)
r = random.Random(4202)
db = sqlite3.connect(p)
db.executescript("""
CREATE TABLE suppliers(supplier_id INTEGER PRIMARY KEY, supplier_name TEXT, country TEXT, lead_time_days INTEGER, is_preferred INTEGER, contact_email TEXT);
CREATE TABLE products(product_id INTEGER PRIMARY KEY, sku TEXT, product_name TEXT, category TEXT, supplier_id INTEGER REFERENCES suppliers(supplier_id), unit_cost REAL, list_price REAL, weight_kg REAL, reorder_level INTEGER, discontinued INTEGER);
CREATE TABLE bins(bin_id INTEGER PRIMARY KEY, bin_code TEXT, zone TEXT, aisle INTEGER, max_units INTEGER);
CREATE TABLE stock_movements(movement_id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES products(product_id), bin_id INTEGER REFERENCES bins(bin_id), movement_date TEXT, movement_type TEXT, qty INTEGER, handled_by TEXT, reference TEXT);
CREATE TABLE purchase_orders(po_id INTEGER PRIMARY KEY, supplier_id INTEGER REFERENCES suppliers(supplier_id), product_id INTEGER REFERENCES products(product_id), order_date TEXT, expected_date TEXT, received_date TEXT, qty_ordered INTEGER, unit_price REAL, po_status TEXT);
CREATE TABLE stocktakes(stocktake_id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES products(product_id), bin_id INTEGER REFERENCES bins(bin_id), counted_on TEXT, system_qty INTEGER, counted_qty INTEGER, counted_by TEXT);
""")
sup = [
    ("Hanse Werkzeug GmbH", "Germany", 9, 1),
    ("Nordic Fasteners AB", "Sweden", 14, 1),
    ("Shenzhen Brightway", "China", 46, 0),
    ("Lombardi Utensili", "Italy", 17, 0),
    ("Polska Chemia", "Poland", 12, 1),
    ("Ningbo SafeGear", "China", 52, 0),
    ("Dupont & Fils", "France", 15, 0),
    ("Rhein Elektro AG", "Germany", 7, 1),
    ("Baltic Timber", "Latvia", 21, 0),
    ("Iberica Pinturas", "Spain", 18, 0),
    ("Kowalski Metal", "Poland", 11, 0),
    ("Alpine Lighting", "Austria", 10, 1),
    ("Midland Packaging", "United Kingdom", 24, 0),
    ("Guangzhou Tooling", "China", 41, 0),
]
for i, s in enumerate(sup, 1):
    em = None if i in (6, 9, 14) else "sales@" + s[0].split()[0].lower() + ".example"
    db.execute("INSERT INTO suppliers VALUES(?,?,?,?,?,?)", (i,) + s + (em,))
cats = {
    "Hand Tools": (
        [
            "Claw Hammer",
            "Screwdriver Set",
            "Adjustable Wrench",
            "Pliers",
            "Utility Knife",
            "Tape Measure",
            "Spirit Level",
            "Hand Saw",
        ],
        (5, 40),
        (1, 4, 14),
        (0.2, 2.2),
        24,
    ),
    "Power Tools": (
        ["Cordless Drill", "Angle Grinder", "Jigsaw", "Circular Saw", "Heat Gun", "Belt Sander"],
        (45, 210),
        (1, 3, 14),
        (1.5, 6),
        14,
    ),
    "Fasteners": (
        ["Wood Screws", "Hex Bolts", "Washers", "Wall Plugs", "Rivets", "Threaded Rod"],
        (1.5, 14),
        (2, 11),
        (0.1, 3),
        26,
    ),
    "Electrical": (
        ["Extension Cord", "LED Bulb", "Cable Ties", "Junction Box", "Work Light", "Socket Strip"],
        (2, 60),
        (8, 12, 3),
        (0.1, 2.5),
        20,
    ),
    "Safety": (
        ["Hard Hat", "Work Gloves", "Safety Goggles", "Ear Defenders", "Dust Mask", "Hi-Vis Vest"],
        (2, 35),
        (6, 7),
        (0.05, 0.9),
        18,
    ),
    "Paint & Chemicals": (
        ["Wall Paint White", "Wood Stain", "Silicone Sealant", "Wood Glue", "Primer", "Degreaser"],
        (4, 55),
        (5, 10),
        (0.3, 12),
        16,
    ),
    "Timber": (["Pine Board", "Plywood Sheet", "Oak Batten", "MDF Panel"], (8, 70), (9,), (2, 18), 8),
    "Packaging": (
        ["Cardboard Box", "Stretch Film", "Packing Tape", "Pallet Wrap"],
        (1, 18),
        (13,),
        (0.1, 3),
        8,
    ),
}
prods = []
pid = 0
for c, (nm, (lo, hi), ss, (w0, w1), n) in cats.items():
    for k in range(n):
        pid += 1
        name = nm[k % len(nm)] + " " + ["Basic", "Pro", "XL", "Compact", "Heavy Duty"][k // len(nm)]
        cost = round(lo + (hi - lo) * r.random() ** 1.6, 2)
        price = round(cost * r.uniform(1.22, 1.95), 2)
        wt = None if r.random() < 0.06 else round(r.uniform(w0, w1), 2)
        disc = 1 if r.random() < 0.11 else 0
        sid = r.choice(ss)
        pr = (
            pid,
            "%s-%04d" % (c[:2].upper(), 1000 + pid * 7),
            name,
            c,
            sid,
            cost,
            price,
            wt,
            r.choice([10, 20, 25, 40, 50, 100]),
            disc,
        )
        prods.append(pr)
        db.execute("INSERT INTO products VALUES(?,?,?,?,?,?,?,?,?,?)", pr)
b = 0
bins = []
for z, na, nb, cap in (
    ("A", 5, 6, 400),
    ("B", 4, 6, 250),
    ("C", 3, 5, 600),
    ("Cold", 1, 4, 120),
    ("Yard", 2, 3, 900),
):
    for a in range(1, na + 1):
        for k in range(1, nb + 1):
            b += 1
            bins.append(
                (b, "%s%d-%02d" % (z[0] if z != "Cold" else "K", a, k), z, a, cap + r.choice([0, 0, 50, -50]))
            )
            db.execute("INSERT INTO bins VALUES(?,?,?,?,?)", bins[-1])
zone_of = {"Timber": "Yard", "Paint & Chemicals": "Cold", "Fasteners": "B", "Packaging": "C"}
home = {}
for q in prods:
    z = zone_of.get(q[3], "A") if r.random() < 0.85 else r.choice(["A", "B", "C"])
    home[q[0]] = r.choice([x[0] for x in bins[:-3] if x[2] == z])
pop = {q[0]: r.random() ** 2.2 + 0.06 for q in prods}
staff = ["Jonas", "Petra", "Omar", "Wioletta", "Sven", "Katja", "Rui"]
sw = [24, 21, 18, 14, 11, 8, 5]
D0 = dt.date(2022, 1, 3)
days = (dt.date(2024, 6, 28) - D0).days
# purchase orders
po = []
active = prods[:-3] if False else prods
never = {33, 71, 104, 127}
for i in range(900):
    q = r.choices(prods, [pop[x[0]] if x[0] not in never else 0 for x in prods])[0]
    d = D0 + dt.timedelta(r.randrange(days))
    while d.weekday() > 4:
        d += dt.timedelta(1)
    lt = sup[q[4] - 1][2]
    exp = d + dt.timedelta(lt)
    x = r.random()
    late = r.choices(
        [0, r.randint(1, 5), r.randint(6, 25), -r.randint(1, 3)], [46, 26, 12 + (14 if lt > 30 else 0), 16]
    )[0]
    rec = exp + dt.timedelta(late)
    st = "received"
    if x < 0.045:
        st, rec = "cancelled", None
    elif rec > dt.date(2024, 6, 28):
        st, rec = "open", None
    po.append(
        [
            d,
            q[4],
            q[0],
            exp,
            rec,
            r.choice([20, 40, 50, 60, 100, 120, 150, 200, 250]),
            round(q[5] * r.uniform(0.93, 1.08), 2),
            st,
        ]
    )
po.sort(key=lambda x: (x[0], x[2]))
mv = []
for i, x in enumerate(po, 1):
    db.execute(
        "INSERT INTO purchase_orders VALUES(?,?,?,?,?,?,?,?,?)",
        (i, x[1], x[2], str(x[0]), str(x[3]), str(x[4]) if x[4] else None, x[5], x[6], x[7]),
    )
    if x[7] == "received":
        mv.append(
            (
                x[4],
                x[2],
                home[x[2]],
                "receipt",
                x[5] - (r.randint(1, 6) if r.random() < 0.08 else 0),
                "PO-%d" % i,
            )
        )
for i in range(5200):
    q = r.choices(prods, [pop[x[0]] if x[0] not in never else 0 for x in prods])[0]
    while True:
        d = D0 + dt.timedelta(r.randrange(days + 1))
        if d.weekday() == 6:
            continue
        if r.random() < {3: 0.85, 4: 0.95, 5: 1, 6: 0.9, 9: 0.8, 10: 0.8, 11: 0.6, 12: 0.45, 1: 0.4}.get(
            d.month, 0.65
        ) * (0.35 if d.weekday() == 5 else 1.15 if d.weekday() == 0 else 0.9):
            break
    t = r.choices(["pick", "return", "scrap"], [90, 7, 3])[0]
    n = {"pick": max(1, int(r.expovariate(1 / 14.0))), "return": r.randint(1, 8), "scrap": r.randint(1, 5)}[t]
    mv.append(
        (
            d,
            q[0],
            home[q[0]] if r.random() < 0.9 else r.choice(bins[:-3])[0],
            t,
            n,
            None
            if r.random() < 0.1
            else "%s-%05d" % ({"pick": "SO", "return": "RT", "scrap": "SC"}[t], r.randint(1, 99999)),
        )
    )
mv.sort(key=lambda x: (x[0], x[1], x[4]))
for i, x in enumerate(mv, 1):
    db.execute(
        "INSERT INTO stock_movements VALUES(?,?,?,?,?,?,?,?)",
        (i, x[1], x[2], str(x[0]), x[3], x[4], r.choices(staff, sw)[0], x[5]),
    )
k = 0
for y, m in ((2022, 3), (2022, 9), (2023, 3), (2023, 9), (2024, 3)):
    for q in r.sample(prods, 84):
        k += 1
        s = int(r.gauss(140, 60) * (0.5 + pop[q[0]])) + 5
        s = max(s, 0)
        c = max(0, s + (0 if r.random() < 0.6 else int(r.gauss(-2.5, 6)) - (6 if q[3] == "Fasteners" else 0)))
        db.execute(
            "INSERT INTO stocktakes VALUES(?,?,?,?,?,?,?)",
            (
                k,
                q[0],
                home[q[0]],
                str(dt.date(y, m, r.choice([25, 26, 27]))),
                s,
                None if r.random() < 0.02 else c,
                r.choices(staff[:4], [4, 3, 2, 1])[0],
            ),
        )
db.commit()
db.close()
