import sqlite3, random, sys, os, math, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4104)
p = os.path.join(out, "rentals.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE buildings(building_id INTEGER PRIMARY KEY, building_name TEXT, street_address TEXT, district TEXT, year_built INTEGER, has_elevator INTEGER);
CREATE TABLE flats(flat_id INTEGER PRIMARY KEY, building_id INTEGER REFERENCES buildings(building_id), flat_no TEXT, floor INTEGER, rooms INTEGER, area_sqm REAL, has_balcony INTEGER, furnished TEXT, energy_class TEXT);
CREATE TABLE tenants(tenant_id INTEGER PRIMARY KEY, full_name TEXT, birth_date TEXT, email TEXT, phone TEXT, occupation TEXT, has_pet INTEGER);
CREATE TABLE leases(lease_id INTEGER PRIMARY KEY, flat_id INTEGER REFERENCES flats(flat_id), tenant_id INTEGER REFERENCES tenants(tenant_id), start_date TEXT, end_date TEXT, monthly_rent REAL, deposit REAL, status TEXT);
CREATE TABLE payments(payment_id INTEGER PRIMARY KEY, lease_id INTEGER REFERENCES leases(lease_id), due_date TEXT, paid_date TEXT, amount REAL, method TEXT, late_fee REAL);
CREATE TABLE repairs(repair_id INTEGER PRIMARY KEY, flat_id INTEGER REFERENCES flats(flat_id), reported_on TEXT, fixed_on TEXT, category TEXT, cost REAL, contractor TEXT, priority TEXT);
""")
B = [
    ("Linden Court", "12 Linden Street", "Riverside", 1968, 1, 18),
    ("Harbour House", "3 Quay Road", "Docklands", 2009, 1, 24),
    ("Maple Terrace", "77 Maple Avenue", "Northgate", 1954, 0, 9),
    ("The Foundry", "1 Foundry Lane", "Docklands", 2016, 1, 21),
    ("Rose Mansions", "40 King's Row", "Old Town", 1911, 0, 11),
    ("Station Lofts", "5 Station Square", "Old Town", 1987, 1, 15),
    ("Hillcrest", "209 Hill Road", "Northgate", 1975, 1, 13),
    ("Willow Gardens", "18 Brook Way", "Riverside", 1999, 0, 8),
]
pr = {"Riverside": 13.2, "Docklands": 17.8, "Northgate": 10.4, "Old Town": 15.6}
fn = "Anna Ben Clara David Emma Felix Grace Henry Ines Jack Kate Liam Mia Noah Olga Peter Quinn Rosa Sam Tara Umar Vera Will Xenia Yusuf Zoe Amir Bella Carlos Daria".split()
ln = "Abbott Brooks Carter Dawson Ellis Foster Grant Hughes Ivanov Jensen Kovacs Lopez Murphy Novak Owens Patel Quigley Rossi Silva Turner Usman Vance Walsh Xu Young Zimmer Okafor Haddad Fischer Meyer".split()
flats = []
fid = 0
for bi, (n, a, d, y, el, k) in enumerate(B, 1):
    c.execute("INSERT INTO buildings VALUES(?,?,?,?,?,?)", (bi, n, a, d, y, el))
    for i in range(k):
        fid += 1
        rm = R.choices([1, 2, 3, 4, 5], [20, 36, 28, 12, 4])[0]
        ar = round(16 + rm * 19.5 + R.gauss(0, 6), 1)
        fl = i // 3
        ec = (
            None
            if R.random() < 0.06
            else R.choices("ABCDE", [8, 8, 4, 2, 1] if y > 2000 else [1, 3, 6, 8, 5])[0]
        )
        c.execute(
            "INSERT INTO flats VALUES(?,?,?,?,?,?,?,?,?)",
            (
                fid,
                bi,
                f"{fl}{'ABC'[i % 3]}",
                fl,
                rm,
                ar,
                int(R.random() < (0.7 if y > 1980 else 0.35)),
                R.choices(["yes", "no"], [1, 3])[0],
                ec,
            ),
        )
        flats.append((fid, d, y, rm, ar))
names = set()
tenants = []


def tenant():
    while 1:
        s = R.choice(fn) + " " + R.choice(ln)
        if s not in names:
            names.add(s)
            break
    t = len(tenants) + 1
    bd = dt.date(1948, 1, 1) + dt.timedelta(int(R.triangular(0, 20500, 15500)))
    tenants.append(t)
    c.execute(
        "INSERT INTO tenants VALUES(?,?,?,?,?,?,?)",
        (
            t,
            s,
            bd.isoformat(),
            None
            if R.random() < 0.08
            else s.lower().replace(" ", ".") + "@" + R.choice(["mail.com", "inbox.org", "post.net"]),
            None if R.random() < 0.15 else "07%09d" % R.randrange(10**9),
            R.choices(
                [
                    "Teacher",
                    "Nurse",
                    "Engineer",
                    "Student",
                    "Retired",
                    "Sales clerk",
                    "Software developer",
                    "Chef",
                    None,
                ],
                [9, 11, 14, 16, 10, 8, 15, 7, 5],
            )[0],
            int(R.random() < 0.27),
        ),
    )
    return t


END = dt.date(2024, 12, 31)
lid = pid = 0
for fid, d, y, rm, ar in flats:
    if R.random() < 0.06:
        continue  # never let
    s = dt.date(2021, R.randint(1, 12), 1) if R.random() < 0.75 else dt.date(2022, R.randint(1, 12), 1)
    while s < dt.date(2024, 11, 1):
        lid += 1
        ten = R.choice(tenants) if tenants and R.random() < 0.05 else tenant()
        months = int(R.triangular(6, 60, 18))
        yy = s.year + (s.month - 1 + months) // 12
        mm = (s.month - 1 + months) % 12 + 1
        e = dt.date(yy, mm, 1) - dt.timedelta(1)
        rent = (
            round(
                ar * pr[d] * (1 + 0.045 * (s.year - 2021)) * (1.06 if y > 2005 else 1) * R.uniform(0.9, 1.1)
            )
            * 1.0
        )
        if e > END:
            ed = None
            st = "active"
        else:
            ed = e.isoformat()
            st = R.choices(["ended", "terminated early"], [80, 20])[0]
        c.execute(
            "INSERT INTO leases VALUES(?,?,?,?,?,?,?,?)",
            (lid, fid, ten, s.isoformat(), ed, rent, rent * R.choice([2, 2, 3, 1]), st),
        )
        q = s
        bad = R.random() < 0.15
        meth = R.choices(["bank transfer", "direct debit", "card", "cash"], [45, 36, 14, 5])[0]
        while q <= min(e, END):
            pid += 1
            lag = int(R.gauss(0, 2.2)) if not bad else int(R.expovariate(1 / 8))
            pay = q + dt.timedelta(max(-5, lag))
            m = meth if R.random() < 0.93 else "card"
            miss = R.random() < (0.06 if bad else 0.006)
            if pay > END:
                pay = END
            c.execute(
                "INSERT INTO payments VALUES(?,?,?,?,?,?,?)",
                (
                    pid,
                    lid,
                    q.isoformat(),
                    None if miss else pay.isoformat(),
                    rent,
                    None if miss else m,
                    0.0 if (miss or lag <= 5) else 25.0,
                ),
            )
            q = dt.date(q.year + (q.month == 12), q.month % 12 + 1, 1)
        if ed is None:
            break
        gap = R.choices([0, 1, 2, 3, 5], [30, 34, 18, 12, 6])[0]
        mm = e.month + 1 + gap
        s = dt.date(e.year + (mm - 1) // 12, (mm - 1) % 12 + 1, 1)
cat = [
    ("Plumbing", 30, 240),
    ("Heating", 22, 380),
    ("Electrical", 17, 190),
    ("Appliance", 14, 150),
    ("Windows & doors", 9, 310),
    ("Mould", 5, 640),
    ("Locks", 8, 95),
]
con = {
    "Plumbing": ["Drip & Sons", "AquaFix"],
    "Heating": ["WarmHome Ltd"],
    "Electrical": ["Sparky Bros"],
    "Appliance": ["FixIt Now"],
    "Windows & doors": ["Clearview"],
    "Mould": ["CleanAir Services"],
    "Locks": ["FixIt Now"],
}
rep = []
for i in range(760):
    f = R.choices(flats, [(1 + max(0, 2005 - x[2]) / 35) for x in flats])[0]
    d = dt.date(2021, 3, 1) + dt.timedelta(R.randrange(1395))
    w = [
        x[1]
        * (2.2 if x[0] == "Heating" and d.month in (11, 12, 1, 2) else 1)
        * (2.5 if x[0] == "Mould" and f[2] < 1960 else 1)
        for x in cat
    ]
    k = R.choices(cat, w)[0]
    pri = R.choices(["low", "normal", "urgent"], [22, 55, 23])[0]
    days = int(R.expovariate(1 / {"low": 19, "normal": 9, "urgent": 2.4}[pri]))
    fx = d + dt.timedelta(days)
    open_ = fx > dt.date(2024, 12, 31) or R.random() < 0.03
    rep.append(
        (
            d.isoformat(),
            f[0],
            None if open_ else fx.isoformat(),
            k[0],
            None if open_ or R.random() < 0.02 else round(k[2] * math.exp(R.gauss(0, 0.55)), 2),
            None if open_ and R.random() < 0.5 else R.choice(con[k[0]]),
            pri,
        )
    )
rep.sort(key=lambda z: (z[0], z[1], z[3]))
for i, (a, f, b, k, co, cn, pri) in enumerate(rep, 1):
    c.execute("INSERT INTO repairs VALUES(?,?,?,?,?,?,?,?)", (i, f, a, b, k, co, cn, pri))
c.commit()
