import math, os, random, sys, sqlite3, datetime as dt


def main(out):
    R = random.Random(90210)
    p = os.path.join(out, "freight.sqlite")
    if os.path.exists(p):
        os.remove(p)
    c = sqlite3.connect(p)
    c.executescript("""
    CREATE TABLE carriers(carrier_id INTEGER PRIMARY KEY, carrier_name TEXT NOT NULL, mode TEXT, hq_country TEXT, rating REAL, is_active INTEGER);
    CREATE TABLE warehouses(warehouse_id INTEGER PRIMARY KEY, wh_name TEXT, city TEXT, country TEXT, capacity_pallets INTEGER, opened_on TEXT);
    CREATE TABLE customers(customer_id INTEGER PRIMARY KEY, company TEXT NOT NULL, industry TEXT, cust_country TEXT, customer_since TEXT, account_mgr TEXT);
    CREATE TABLE routes(route_id INTEGER PRIMARY KEY, warehouse_id INTEGER REFERENCES warehouses(warehouse_id), dest_city TEXT, dest_country TEXT, distance_km INTEGER, planned_days INTEGER);
    CREATE TABLE shipments(shipment_id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(customer_id), carrier_id INTEGER REFERENCES carriers(carrier_id), route_id INTEGER REFERENCES routes(route_id),
      ship_date TEXT, promised_date TEXT, delivered_date TEXT, pallets INTEGER, weight_kg REAL, frt_cost_eur REAL, status TEXT, damaged INTEGER, hazmat INTEGER);
    CREATE TABLE invoices(invoice_id INTEGER PRIMARY KEY, shipment_id INTEGER REFERENCES shipments(shipment_id), invoice_date TEXT, due_date TEXT, amount_eur REAL, paid_on TEXT);
    """)
    car = [
        ("Nordtrans", "road", "Denmark", 4.4, 1, 0.97, 18),
        ("EuroHaul Logistics", "road", "Poland", 3.6, 1, 0.83, 30),
        ("Alpenfracht", "road", "Austria", 4.1, 1, 1.1, 14),
        ("BlueWave Shipping", "sea", "Netherlands", 3.9, 1, 0.6, 12),
        ("Rapid Air Cargo", "air", "Germany", 4.7, 1, 2.6, 6),
        ("RailConnect", "rail", "Germany", 4.0, 1, 0.72, 11),
        ("Iberia Carga", "road", "Spain", 3.3, 1, 0.9, 9),
        ("Seine Transports", "road", "France", 3.8, 1, 1.02, 10),
        ("Baltic Lines", "sea", "Estonia", 3.5, 1, 0.63, 5),
        ("Skyfreight", "air", "Ireland", 4.2, 0, 2.9, 2),
        ("Transdanubia Cargo", "rail", "Hungary", None, 1, 0.78, 4),
        ("Old Mill Trucking", "road", "Belgium", 2.9, 0, 0.95, 0),
    ]
    late = {
        1: 0.08,
        2: 0.31,
        3: 0.12,
        4: 0.22,
        5: 0.04,
        6: 0.15,
        7: 0.37,
        8: 0.19,
        9: 0.28,
        10: 0.10,
        11: 0.25,
    }
    for i, x in enumerate(car, 1):
        c.execute("INSERT INTO carriers VALUES(?,?,?,?,?,?)", (i, *x[:5]))
    wh = [
        ("Hamburg Port DC", "Hamburg", "Germany", 14500, "2009-04-01", 30),
        ("Rotterdam Hub", "Rotterdam", "Netherlands", 18200, "2006-09-15", 26),
        ("Lyon Sud", "Lyon", "France", 7400, "2014-02-10", 14),
        ("Poznan Park", "Poznan", "Poland", 9600, "2017-06-20", 17),
        ("Milano Nord", "Milan", "Italy", 6100, "2011-11-05", 10),
        ("Leipzig Cross-Dock", "Leipzig", "Germany", 3900, "2020-03-02", 8),
    ]
    for i, x in enumerate(wh, 1):
        c.execute("INSERT INTO warehouses VALUES(?,?,?,?,?,?)", (i, *x[:5]))
    dest = [
        ("Berlin", "Germany"),
        ("Munich", "Germany"),
        ("Paris", "France"),
        ("Marseille", "France"),
        ("Warsaw", "Poland"),
        ("Vienna", "Austria"),
        ("Madrid", "Spain"),
        ("Barcelona", "Spain"),
        ("Rome", "Italy"),
        ("Prague", "Czechia"),
        ("Copenhagen", "Denmark"),
        ("Brussels", "Belgium"),
        ("Stockholm", "Sweden"),
        ("Budapest", "Hungary"),
        ("Zurich", "Switzerland"),
    ]
    geo = {
        "Hamburg": (53.55, 9.99),
        "Rotterdam": (51.92, 4.48),
        "Lyon": (45.76, 4.84),
        "Poznan": (52.41, 16.93),
        "Milan": (45.46, 9.19),
        "Leipzig": (51.34, 12.37),
        "Berlin": (52.52, 13.4),
        "Munich": (48.14, 11.58),
        "Paris": (48.86, 2.35),
        "Marseille": (43.3, 5.37),
        "Warsaw": (52.23, 21.01),
        "Vienna": (48.21, 16.37),
        "Madrid": (40.42, -3.7),
        "Barcelona": (41.39, 2.17),
        "Rome": (41.9, 12.5),
        "Prague": (50.08, 14.44),
        "Copenhagen": (55.68, 12.57),
        "Brussels": (50.85, 4.35),
        "Stockholm": (59.33, 18.07),
        "Budapest": (47.5, 19.04),
        "Zurich": (47.38, 8.54),
    }

    def dist(a, b):
        (p, q), (r, t) = [tuple(map(math.radians, geo[z])) for z in (a, b)]
        h = math.sin((r - p) / 2) ** 2 + math.cos(p) * math.cos(r) * math.sin((t - q) / 2) ** 2
        return round(6371 * 2 * math.asin(math.sqrt(h)) * 1.24)

    routes = []
    rid = 0
    for w in range(1, 7):
        for d in R.sample(dest, R.randint(6, 9)):
            rid += 1
            km = dist(wh[w - 1][1], d[0])
            days = 1 + km // 550 + (1 if R.random() < 0.3 else 0)
            routes.append((rid, w, d[0], d[1], km, days, R.uniform(0.3, 2.2) * wh[w - 1][5]))
            c.execute("INSERT INTO routes VALUES(?,?,?,?,?,?)", routes[-1][:6])
    A = "Kessler,Brandt,Van Dijk,Moreau,Nowak,Rossi,Lindqvist,Fischer,Dubois,Jansen,Kowalski,Bianchi,Schreiber,Petit,Weber,De Boer,Conti,Hansen,Garcia,Novak,Bauer,Leroy,Smit,Ferrari,Keller,Olsen,Torres,Horvath,Meyer,Laurent".split(
        ","
    )
    B = {
        "Automotive": ["Automotive", "Motors", "Parts"],
        "Food & Beverage": ["Foods", "Beverages", "Gourmet"],
        "Retail": ["Retail", "Stores", "Home"],
        "Chemicals": ["Chemie", "Coatings", "Chemicals"],
        "Electronics": ["Electronics", "Tech", "Devices"],
        "Pharma": ["Pharma", "Medical", "Labs"],
        "Furniture": ["Furniture", "Interiors", "Wood"],
    }
    iw = {
        "Automotive": 20,
        "Food & Beverage": 24,
        "Retail": 26,
        "Chemicals": 9,
        "Electronics": 14,
        "Pharma": 8,
        "Furniture": 7,
    }
    suf = {
        "Germany": "GmbH",
        "France": "SARL",
        "Netherlands": "BV",
        "Poland": "Sp. z o.o.",
        "Italy": "SRL",
        "Sweden": "AB",
        "Spain": "SL",
    }
    mg = ["Eva Lorenz", "Tom Huber", "Sofie Claes", "Marek Zielinski"]
    cust = []
    seen = set()
    while len(cust) < 64:
        ind = R.choices(list(iw), iw.values())[0]
        co = R.choices(list(suf), [24, 14, 12, 11, 9, 4, 6])[0]
        n = f"{R.choice(A)} {R.choice(B[ind])}"
        if n in seen:
            continue
        seen.add(n)
        s = dt.date(2012, 1, 1) + dt.timedelta(R.randint(0, 4500))
        i = len(cust) + 1
        cust.append((i, ind, 0 if i in (17, 38, 55) else R.lognormvariate(0, 0.9) + 0.1))
        c.execute(
            "INSERT INTO customers VALUES(?,?,?,?,?,?)",
            (
                i,
                n + " " + suf[co],
                ind,
                co,
                s.isoformat(),
                R.choices(mg, [5, 3, 4, 2])[0] if R.random() > 0.08 else None,
            ),
        )
    days = [dt.date(2022, 1, 3) + dt.timedelta(k) for k in range(1092)]
    wd = [1.25, 1.1, 1.0, 1.05, 0.9, 0.15, 0.02]
    mo = [0.8, 0.82, 0.95, 0.96, 1.0, 0.98, 0.85, 0.75, 1.08, 1.22, 1.38, 1.1]
    W = [wd[d.weekday()] * mo[d.month - 1] * {2022: 1, 2023: 1.12, 2024: 1.3}[d.year] for d in days]
    ds = sorted(R.choices(days, W, k=3600))
    inv = 5000
    for k, d in enumerate(ds, 1):
        ci, ind, _ = R.choices(cust, [x[2] for x in cust])[0]
        while True:
            ca = R.choices(range(1, 13), [x[6] for x in car])[0]
            if ca == 10 and d.year > 2022:
                continue
            break
        ro = R.choices(routes, [x[6] for x in routes])[0]
        pal = max(1, min(33, int(R.lognormvariate(1.6, 0.75))))
        wkg = round(pal * R.uniform(180, 620) * (0.6 if ind in ("Furniture", "Pharma") else 1), 1)
        cost = round(
            (60 + ro[4] * 0.32 + pal * ro[4] * 0.035)
            * car[ca - 1][5]
            * R.uniform(0.9, 1.12)
            * {2022: 1, 2023: 1.06, 2024: 1.09}[d.year],
            2,
        )
        pd = ro[5] + (3 if car[ca - 1][1] == "sea" else 1 if car[ca - 1][1] == "rail" else 0)
        if car[ca - 1][1] == "air":
            pd = max(1, pd - 1)
        prom = d + dt.timedelta(pd)
        dl = (
            R.choice([1, 1, 2, 2, 3, 4, 6])
            if R.random() < late[ca] + (0.06 if d.month in (11, 12) else 0)
            else -R.choice([0, 0, 0, 0, 1])
        )
        dl = max(dl, 1 - pd)
        deli = prom + dt.timedelta(dl)
        st = "delivered"
        u = R.random()
        if u < 0.035:
            st = "cancelled"
            deli = None
        elif u < 0.045:
            st = "lost"
            deli = None
        elif d >= dt.date(2024, 12, 20) and deli > dt.date(2024, 12, 29):
            st = "in transit"
            deli = None
        dam = int(
            st == "delivered"
            and R.random() < {"road": 0.03, "sea": 0.055, "air": 0.012, "rail": 0.022}[car[ca - 1][1]]
        )
        hz = int(R.random() < (0.55 if ind == "Chemicals" else 0.2 if ind == "Pharma" else 0.03))
        c.execute(
            "INSERT INTO shipments VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                100000 + k,
                ci,
                ca,
                ro[0],
                d.isoformat(),
                prom.isoformat(),
                deli and deli.isoformat(),
                pal,
                wkg if R.random() > 0.02 else None,
                cost,
                st,
                dam,
                hz,
            ),
        )
        if st == "delivered" and R.random() < 0.97:
            inv += 1
            di = deli + dt.timedelta(R.randint(1, 9))
            due = di + dt.timedelta(R.choice([14, 30, 30, 30, 45]))
            pay = due + dt.timedelta(int(R.gauss(-3, 9)))
            if pay <= di:
                pay = di + dt.timedelta(2)
            if R.random() < 0.03 or pay > dt.date(2025, 1, 15):
                pay = None
            c.execute(
                "INSERT INTO invoices VALUES(?,?,?,?,?,?)",
                (
                    inv,
                    100000 + k,
                    di.isoformat(),
                    due.isoformat(),
                    round(cost * R.uniform(1.12, 1.38), 2),
                    pay and pay.isoformat(),
                ),
            )
    c.commit()
    c.close()


main(sys.argv[1])
