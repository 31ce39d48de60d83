"""webshop.sqlite: customers, orders, order_items, products, categories, returns, shipments; 2022-2024."""

import os, random, sqlite3, sys
from datetime import datetime, date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
fn = os.path.join(out, "webshop.sqlite")
if os.path.exists(fn):
    os.remove(fn)
R = random.Random(20240229)
db = sqlite3.connect(fn)
db.executescript("""
CREATE TABLE categories (category_id INTEGER PRIMARY KEY, category_name TEXT NOT NULL);
CREATE TABLE products (product_id INTEGER PRIMARY KEY, product_name TEXT NOT NULL, category_id INTEGER NOT NULL REFERENCES categories(category_id),
  list_price REAL, unit_cost REAL, stock_qty INTEGER, weight_kg REAL, discontinued INTEGER);
CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, name TEXT, email TEXT, country TEXT, city TEXT, signup_date DATE, newsletter INTEGER);
CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(customer_id), ordered_at TIMESTAMP, status TEXT,
  payment_method TEXT, coupon_code TEXT, device TEXT);
CREATE TABLE order_items (item_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders(order_id), product_id INTEGER NOT NULL REFERENCES products(product_id),
  qty INTEGER, unit_price REAL);
CREATE TABLE shipments (shipment_id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders(order_id), carrier TEXT, shipped_date DATE, delivered_date DATE, shipping_cost REAL);
CREATE TABLE returns (return_id INTEGER PRIMARY KEY, item_id INTEGER NOT NULL REFERENCES order_items(item_id), return_date DATE, reason TEXT, refund_amt REAL);
""")
CAT = {
    "Kitchen": (
        22,
        0.05,
        [
            ("Cast Iron Skillet 28cm", 44.9),
            ("Chef's Knife Damascus", 89),
            ("French Press 1L", 32.5),
            ("Stand Mixer Pro", 279),
            ("Silicone Spatula Set", 14.9),
            ("Espresso Cups (6)", 27.5),
            ("Bamboo Cutting Board", 24.9),
            ("Digital Kitchen Scale", 21.9),
            ("Salad Spinner", 19.5),
        ],
    ),
    "Electronics": (
        19,
        0.12,
        [
            ("Wireless Earbuds X2", 79),
            ("Bluetooth Speaker Mini", 49.9),
            ("Smart Plug (4-pack)", 39.9),
            ("Noise Cancelling Headphones", 199),
            ("USB-C Hub 7-in-1", 45),
            ("4K Webcam", 119),
            ("Power Bank 20000", 36.9),
            ("E-Reader 7 inch", 149),
        ],
    ),
    "Home Decor": (
        13,
        0.08,
        [
            ("Linen Cushion Cover", 18.9),
            ("Ceramic Vase Oslo", 34),
            ("Wall Clock Walnut", 59),
            ("Scented Candle Cedar", 16.5),
            ("Wool Throw Blanket", 74),
            ("Picture Frame A3", 22),
            ("Table Lamp Arc", 95),
        ],
    ),
    "Sports & Outdoors": (
        12,
        0.09,
        [
            ("Yoga Mat Cork", 54.9),
            ("Hiking Backpack 40L", 129),
            ("Insulated Bottle 750ml", 29),
            ("Resistance Bands", 17.9),
            ("Camping Hammock", 46),
            ("Running Belt", 15.9),
            ("Two-Person Tent", 189),
        ],
    ),
    "Toys & Games": (
        11,
        0.06,
        [
            ("Wooden Train Set", 49),
            ("Strategy Board Game Atlas", 44.5),
            ("Puzzle 1000 Pieces", 18.5),
            ("Building Blocks XL", 39),
            ("Plush Fox", 21),
            ("Card Game Swindle", 12.9),
            ("Kids Microscope", 58),
        ],
    ),
    "Books": (
        9,
        0.02,
        [
            ("Bread from Scratch", 29.9),
            ("The Quiet Harbor", 14.9),
            ("Data for Everyone", 34.9),
            ("Alpine Trails", 24.5),
            ("Midnight Garden", 12.9),
            ("Cooking with Fire", 27),
            ("A Short History of Salt", 16.9),
        ],
    ),
    "Beauty": (
        7,
        0.04,
        [
            ("Face Serum Vitamin C", 26.9),
            ("Hand Cream Trio", 15.5),
            ("Beard Oil", 13.9),
            ("Hair Dryer Ionic", 69),
            ("Bamboo Brush", 11.5),
            ("Bath Salt Lavender", 9.9),
        ],
    ),
    "Garden": (
        5,
        0.07,
        [
            ("Pruning Shears", 23.9),
            ("Herb Growing Kit", 28),
            ("Solar Lights (8)", 35.5),
            ("Watering Can 9L", 31),
            ("Raised Bed Oak", 119),
            ("Garden Gloves", 12.5),
        ],
    ),
    "Pet Supplies": (
        4,
        0.05,
        [
            ("Dog Bed Large", 64),
            ("Cat Scratching Post", 42),
            ("Dog Leash Rope", 19.9),
            ("Automatic Feeder", 85),
            ("Bird House", 26),
        ],
    ),
}
prods = []
pid = 100
for ci, (c, (w, rr, items)) in enumerate(CAT.items(), 1):
    db.execute("INSERT INTO categories VALUES (?,?)", (ci, c))
    for i, (n, p) in enumerate(items):
        pid += 1
        prods.append(
            dict(
                id=pid,
                p=p,
                c=c,
                rr=rr * R.uniform(0.6, 1.5),
                w=w * R.uniform(0.35, 1.6) / len(items) / (p / 40) ** 0.35,
            )
        )
        db.execute(
            "INSERT INTO products VALUES (?,?,?,?,?,?,?,?)",
            (
                pid,
                n,
                ci,
                p,
                round(p * R.uniform(0.38, 0.68), 2),
                0 if R.random() < 0.09 else R.randint(4, 420),
                None
                if R.random() < 0.06
                else round(max(0.05, R.lognormvariate(-0.6, 0.8) * (p / 40) ** 0.5), 2),
                int(R.random() < 0.08),
            ),
        )
never = {"Bird House", "Kids Microscope"}
ids_never = {r[0] for r in db.execute("SELECT product_id, product_name FROM products") if r[1] in never}
FIRST = {
    "Germany": ["Anna", "Lukas", "Julia", "Felix", "Katrin", "Jonas", "Sabine", "Moritz", "Heike", "Stefan"],
    "Austria": ["Theresa", "Florian", "Magdalena", "Georg", "Lena"],
    "France": ["Camille", "Louis", "Élodie", "Hugo", "Manon", "Julien", "Claire"],
    "Netherlands": ["Sanne", "Daan", "Fleur", "Bram", "Lotte", "Sem"],
    "Switzerland": ["Reto", "Ursina", "Beat", "Corinne"],
    "Italy": ["Giulia", "Marco", "Chiara", "Luca", "Elena"],
    "Spain": ["Lucía", "Pablo", "Carmen", "Javier"],
    "Belgium": ["Amélie", "Wout", "Nele", "Thibault"],
}
LAST = {
    "Germany": [
        "Müller",
        "Schmidt",
        "Becker",
        "Hoffmann",
        "Krüger",
        "Vogel",
        "Wagner",
        "Schäfer",
        "Lehmann",
        "Busch",
        "Franke",
        "Winkler",
    ],
    "Austria": ["Gruber", "Huber", "Steiner", "Pichler", "Moser"],
    "France": ["Martin", "Dubois", "Lefèvre", "Moreau", "Garnier", "Roux", "Petit"],
    "Netherlands": ["de Vries", "Jansen", "Bakker", "Visser", "Smit", "van Dijk"],
    "Switzerland": ["Meier", "Keller", "Frei", "Brunner"],
    "Italy": ["Rossi", "Bianchi", "Conti", "Ferrari", "Greco"],
    "Spain": ["García", "Torres", "Romero", "Vidal"],
    "Belgium": ["Peeters", "Claes", "Dupont", "Lambert"],
}
CITY = {
    "Germany": ["Berlin", "Hamburg", "Munich", "Cologne", "Leipzig"],
    "Austria": ["Vienna", "Graz", "Linz"],
    "France": ["Paris", "Lyon", "Nantes", "Lille"],
    "Netherlands": ["Amsterdam", "Utrecht", "Rotterdam"],
    "Switzerland": ["Zurich", "Basel"],
    "Italy": ["Milan", "Rome", "Turin"],
    "Spain": ["Madrid", "Valencia"],
    "Belgium": ["Antwerp", "Ghent", "Brussels"],
}
quota = {
    "Germany": 118,
    "France": 46,
    "Netherlands": 33,
    "Austria": 24,
    "Italy": 22,
    "Switzerland": 14,
    "Belgium": 15,
    "Spain": 13,
}
custs = []
cid = 0
pool = []
for c, n in quota.items():
    names = [(f, l) for f in FIRST[c] for l in LAST[c]]
    R.shuffle(names)
    pool += [(c, f, l) for f, l in names[:n]]
R.shuffle(pool)
asc = str.maketrans("äöüéèëïíáñÉçß ", "aoueeeiianEcs_")
for c, f, l in pool:
    cid += 1
    su = date(2021, 10, 1) + timedelta(days=int(1120 * R.random() ** 1.25))
    nl = int(R.random() < 0.44)
    custs.append(
        dict(
            id=cid,
            c=c,
            su=su,
            w=min(R.paretovariate(1.15), 11) * (1.25 if nl else 1) * (0 if R.random() < 0.12 else 1),
            nl=nl,
        )
    )
    em = (
        None
        if R.random() < 0.04
        else f"{f}.{l}".translate(asc).lower()
        + R.choice(["@gmail.com", "@web.de", "@outlook.com", "@mail.net"])
    )
    db.execute(
        "INSERT INTO customers VALUES (?,?,?,?,?,?,?)",
        (
            cid,
            f"{f} {l}",
            em,
            c,
            R.choices(
                CITY[c], [9 - 2 * i for i in range(len(CITY[c]))] if len(CITY[c]) < 5 else [9, 6, 5, 3, 2]
            )[0],
            su.isoformat(),
            nl,
        ),
    )
SEAS = [0.85, 0.78, 0.9, 0.92, 0.95, 0.86, 0.78, 0.82, 0.97, 1.05, 1.6, 1.85]
HOURS = [2, 1, 1, 1, 1, 1, 2, 4, 6, 8, 9, 9, 10, 8, 7, 8, 9, 11, 14, 18, 21, 19, 12, 5]
orders = []
d = date(2022, 1, 1)
while d <= date(2024, 12, 31):
    lam = (
        1.62
        * SEAS[d.month - 1]
        * {2022: 0.78, 2023: 1.0, 2024: 1.28}[d.year]
        * [1.05, 0.95, 0.9, 0.95, 0.92, 1.05, 1.35][d.weekday()]
    )
    n = int(lam) + (R.random() < lam - int(lam))
    n += R.choice([-1, 0, 0, 0, 1])
    ok = [c for c in custs if c["su"] <= d]
    for _ in range(max(0, n)):
        orders.append(
            (
                datetime(
                    d.year, d.month, d.day, R.choices(range(24), HOURS)[0], R.randint(0, 59), R.randint(0, 59)
                ),
                R.choices(ok, [c["w"] for c in ok])[0],
            )
        )
    d += timedelta(days=1)
orders.sort(key=lambda o: (o[0], o[1]["id"]))
CAR = {"DHL": (50, 2.6, 5.4), "DPD": (22, 3.3, 4.9), "UPS": (18, 2.9, 6.8), "PostNL": (10, 4.4, 4.2)}
item = 5000
ship = 0
rets = []
for i, (t, c) in enumerate(orders):
    oid = 10001 + i
    dt = t.date()
    age = (date(2024, 12, 31) - dt).days
    status = (
        "delivered"
        if age > 16
        else R.choice(["processing", "shipped", "shipped"])
        if age > 3
        else "processing"
    )
    if status == "delivered" and R.random() < 0.012:
        status = "shipped"
    pm = R.choices(
        ["PayPal", "Credit card", "Invoice", "Apple Pay", "Bank transfer"],
        [
            36,
            29,
            18 if c["c"] in ("Germany", "Austria", "Switzerland") else 4,
            {2022: 5, 2023: 10, 2024: 16}[dt.year],
            6,
        ],
    )[0]
    coup = R.choices(
        [None, "WELCOME10", "SUMMER15", "BLACK20", "LOYAL5"],
        [78, 9, 6 if dt.month in (6, 7, 8) else 0, 22 if dt.month == 11 else 0, 6],
    )[0]
    db.execute(
        "INSERT INTO orders VALUES (?,?,?,?,?,?,?)",
        (
            oid,
            c["id"],
            t.strftime("%Y-%m-%d %H:%M:%S"),
            status,
            pm,
            coup,
            R.choices(["mobile", "desktop", "tablet"], [54 if dt.year > 2022 else 44, 40, 7])[0],
        ),
    )
    disc = {None: 1, "WELCOME10": 0.9, "SUMMER15": 0.85, "BLACK20": 0.8, "LOYAL5": 0.95}[coup]
    cand = [p for p in prods if p["id"] not in ids_never]
    wts = [
        p["w"]
        * (
            2.4
            if p["c"] == "Toys & Games" and dt.month == 12
            else 2.6
            if p["c"] == "Garden" and dt.month in (4, 5, 6)
            else 1.5
            if p["c"] == "Electronics" and dt.month == 11
            else 1
        )
        for p in cand
    ]
    chosen = {}
    for _ in range(R.choices([1, 2, 3, 4, 5, 6], [38, 28, 17, 9, 5, 2])[0]):
        p = R.choices(cand, wts)[0]
        chosen[p["id"]] = p
    kg = 0
    for p in chosen.values():
        item += 1
        q = R.choices([1, 2, 3, 4, 6], [70, 18, 6, 3, 2] if p["p"] < 60 else [93, 6, 1, 0, 0])[0]
        up = round(p["p"] * {2022: 0.93, 2023: 0.97, 2024: 1}[dt.year] * disc, 2)
        kg += q
        db.execute("INSERT INTO order_items VALUES (?,?,?,?,?)", (item, oid, p["id"], q, up))
        if status == "delivered" and R.random() < p["rr"] * 1.1:
            rets.append((item, dt, up, q, p["c"]))
    if status != "processing":
        ship += 1
        car = R.choices(
            list(CAR),
            [CAR[k][0] * (4 if k == "PostNL" and c["c"] in ("Netherlands", "Belgium") else 1) for k in CAR],
        )[0]
        sd = dt + timedelta(days=R.choice([0, 1, 1, 1, 2, 2, 3]))
        far = {
            "Germany": 0,
            "Austria": 0.7,
            "Netherlands": 0.6,
            "Belgium": 0.8,
            "France": 1.3,
            "Switzerland": 2.1,
            "Italy": 2.3,
            "Spain": 3.0,
        }[c["c"]]
        dd = sd + timedelta(days=max(1, round(R.gauss(CAR[car][1] + far, 1.1))))
        db.execute(
            "INSERT INTO shipments VALUES (?,?,?,?,?,?)",
            (
                30000 + ship,
                oid,
                car,
                sd.isoformat(),
                dd.isoformat() if status == "delivered" else None,
                round(CAR[car][2] + 0.35 * kg + far + R.random(), 2),
            ),
        )
RE = {"Electronics": [38, 14, 20, 18, 10], "Books": [5, 20, 50, 15, 10]}
rid = 0
rets2 = []
for it, dt, up, q, c in rets:
    rd = dt + timedelta(days=R.randint(8, 32))
    if rd > date(2024, 12, 31):
        continue
    k = q if R.random() < 0.85 else 1
    rets2.append(
        (
            rd,
            it,
            R.choices(
                ["Defective", "Wrong item", "Changed mind", "Not as described", "Arrived late"],
                RE.get(c, [19, 12, 36, 25, 8]),
            )[0],
            round(up * k * (1 if R.random() < 0.9 else 0.8), 2),
        )
    )
for rd, it, rs, am in sorted(rets2):
    rid += 1
    db.execute(
        "INSERT INTO returns VALUES (?,?,?,?,?)",
        (rid, it, rd.isoformat(), rs if R.random() > 0.03 else "Other", am),
    )
db.commit()
db.close()
