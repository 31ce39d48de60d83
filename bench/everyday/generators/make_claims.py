import random, sys, os, sqlite3, datetime as D

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(3319)
p = os.path.join(out, "claims.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE policyholders(holder_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, birth_date TEXT, gender TEXT, city TEXT, state TEXT, email TEXT, credit_score INTEGER, customer_since TEXT);
CREATE TABLE policies(policy_id INTEGER PRIMARY KEY, policy_no TEXT, holder_id INTEGER REFERENCES policyholders(holder_id), coverage TEXT, start_date TEXT, end_date TEXT, annual_premium REAL, deductible INTEGER, status TEXT, auto_renew INTEGER);
CREATE TABLE vehicles(vehicle_id INTEGER PRIMARY KEY, policy_id INTEGER REFERENCES policies(policy_id), make TEXT, model TEXT, model_year INTEGER, est_value REAL, annual_miles INTEGER);
CREATE TABLE adjusters(adjuster_id INTEGER PRIMARY KEY, adjuster_name TEXT, office TEXT, seniority TEXT, hired_on TEXT);
CREATE TABLE claims(claim_id INTEGER PRIMARY KEY, vehicle_id INTEGER REFERENCES vehicles(vehicle_id), adjuster_id INTEGER REFERENCES adjusters(adjuster_id), claim_type TEXT, incident_date TEXT, reported_date TEXT, closed_date TEXT, claimed_amt REAL, approved_amt REAL, claim_status TEXT, fraud_suspected INTEGER);
CREATE TABLE payments(payment_id INTEGER PRIMARY KEY, claim_id INTEGER REFERENCES claims(claim_id), paid_on TEXT, amount REAL, method TEXT);
""")
F = "James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan Joseph Jessica Thomas Karen Carlos Nancy Daniel Lisa Matthew Betty Anthony Sandra Mark Ashley Luis Emily Steven Donna Andrew Michelle Kenneth Maria".split()
L = "Johnson Williams Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott".split()
cities = [
    ("Houston", "TX", 14),
    ("Dallas", "TX", 12),
    ("Austin", "TX", 8),
    ("Los Angeles", "CA", 13),
    ("San Diego", "CA", 8),
    ("Miami", "FL", 10),
    ("Orlando", "FL", 7),
    ("Tampa", "FL", 4),
    ("Phoenix", "AZ", 9),
    ("Denver", "CO", 7),
    ("Chicago", "IL", 8),
]
names = r.sample([(a, b) for a in F for b in L], 640)
for i, (a, b) in enumerate(names, 1):
    ct, st, _ = r.choices(cities, [x[2] for x in cities])[0]
    bd = D.date(r.randint(1944, 2003), r.randint(1, 12), r.randint(1, 28))
    g = "F" if F.index(a) % 2 else "M"
    c.execute(
        "INSERT INTO policyholders VALUES(?,?,?,?,?,?,?,?,?,?)",
        (
            i,
            a,
            b,
            bd.isoformat(),
            g,
            ct,
            st,
            None if r.random() < 0.08 else f"{a}.{b}{i}@example.com".lower(),
            None if r.random() < 0.05 else int(min(850, max(430, r.gauss(692, 72)))),
            D.date(r.randint(2012, 2022), r.randint(1, 12), r.randint(1, 28)).isoformat(),
        ),
    )
V = [
    ("Ford", "F-150", 41000),
    ("Chevrolet", "Silverado", 40000),
    ("Toyota", "Camry", 27000),
    ("Toyota", "Corolla", 22500),
    ("Honda", "Civic", 23500),
    ("Honda", "CR-V", 29500),
    ("Nissan", "Altima", 25000),
    ("Jeep", "Wrangler", 36500),
    ("BMW", "330i", 46000),
    ("Tesla", "Model Y", 51000),
    ("Hyundai", "Elantra", 21500),
]
vw = [12, 9, 14, 12, 12, 9, 8, 6, 5, 4, 7]
pid = vid = 0
veh = []
for h in range(1, 641):
    for _ in range(r.choices([0, 1, 2, 3], [5, 57, 30, 8])[0]):
        pid += 1
        cov = r.choices(["Liability", "Collision", "Comprehensive"], [36, 27, 37])[0]
        s = D.date(r.choice([2021, 2022, 2022, 2023, 2023, 2024]), r.randint(1, 12), r.randint(1, 28))
        lapse = r.random()
        stt = "Cancelled" if lapse < 0.12 else ("Lapsed" if lapse < 0.19 else "Active")
        e = s.replace(year=s.year + (1 if stt != "Active" else 4))
        ded = r.choices([250, 500, 1000, 2000], [16, 44, 30, 10])[0]
        nv = r.choices([1, 2, 3], [74, 21, 5])[0]
        prem = 0
        vs = []
        for _ in range(nv):
            vid += 1
            mk, mo, nw = r.choices(V, vw)[0]
            my = r.randint(2008, min(2024, s.year))
            if mk == "Tesla":
                my = max(my, 2020)
            val = round(nw * 0.89 ** (s.year - my) * r.uniform(0.9, 1.1), -2)
            vs.append(
                (
                    vid,
                    pid,
                    mk,
                    mo,
                    my,
                    val,
                    None if r.random() < 0.06 else int(max(1500, r.gauss(11800, 3800))),
                )
            )
            prem += {"Liability": 610, "Collision": 980, "Comprehensive": 1290}[cov] * r.uniform(
                0.75, 1.35
            ) + val * 0.011
        prem *= 1 - 0.00008 * ded
        c.execute(
            "INSERT INTO policies VALUES(?,?,?,?,?,?,?,?,?,?)",
            (
                pid,
                f"AP-{s.year}-{pid:05d}",
                h,
                cov,
                s.isoformat(),
                e.isoformat(),
                round(prem, 2),
                ded,
                stt,
                int(r.random() < 0.63),
            ),
        )
        for v in vs:
            c.execute("INSERT INTO vehicles VALUES(?,?,?,?,?,?,?)", v)
            veh.append((v, cov, s, e, ded))
AD = [
    ("Gloria Mendez", "Houston", "Senior"),
    ("Peter Novak", "Houston", "Junior"),
    ("Aisha Khan", "Dallas", "Senior"),
    ("Brian Doyle", "Dallas", "Mid"),
    ("Rosa Delgado", "Los Angeles", "Senior"),
    ("Kevin Tran", "Los Angeles", "Mid"),
    ("Hannah Weiss", "Miami", "Mid"),
    ("Omar Farouk", "Miami", "Junior"),
    ("Denise Carter", "Chicago", "Senior"),
    ("Tyler Brooks", "Denver", "Junior"),
    ("Mei Lin", "Phoenix", "Mid"),
    ("Victor Stone", "Phoenix", "Senior"),
]
aw = [15, 6, 13, 10, 12, 9, 8, 5, 9, 4, 6, 7]
for i, (n, o, s) in enumerate(AD, 1):
    c.execute(
        "INSERT INTO adjusters VALUES(?,?,?,?,?)",
        (
            i,
            n,
            o,
            s,
            D.date(
                {"Senior": 2009, "Mid": 2016, "Junior": 2021}[s] + r.randint(0, 2),
                r.randint(1, 12),
                r.randint(1, 28),
            ).isoformat(),
        ),
    )
cl = []
T = ["Collision", "Theft", "Hail", "Glass", "Vandalism", "Flood", "Animal strike"]
for v, cov, s, e, ded in veh:
    n = r.choices([0, 1, 2, 3, 4], [33, 35, 20, 9, 3])[0]
    for _ in range(n):
        hi = min(e, D.date(2024, 11, 30))
        if (hi - s).days < 20:
            continue
        for _try in range(9):
            d = s + D.timedelta(r.randint(0, (hi - s).days))
            if r.random() < {4: 0.75, 5: 0.85, 6: 0.8, 11: 0.7, 12: 0.95, 1: 0.8}.get(d.month, 0.5):
                break
        w = [44, 8, 14 if d.month in (3, 4, 5, 6) else 2, 19, 7, 5 if d.month in (8, 9, 10) else 2, 6]
        t = r.choices(T, w)[0]
        amt = (
            v[5] * r.uniform(0.6, 1)
            if t == "Theft"
            else {
                "Collision": r.lognormvariate(8.35, 0.65),
                "Hail": r.lognormvariate(7.9, 0.45),
                "Glass": r.lognormvariate(6.15, 0.4),
                "Vandalism": r.lognormvariate(7.1, 0.55),
                "Flood": r.lognormvariate(8.8, 0.5),
                "Animal strike": r.lognormvariate(7.9, 0.5),
            }.get(t)
        )
        amt = round(max(120, amt), 2)
        cl.append((d, v[0], t, amt, ded))
cl.sort()
payid = 0
for i, (d, v, t, amt, ded) in enumerate(cl, 1):
    rep = d + D.timedelta(int(r.expovariate(1 / 4.5)))
    fr = int(r.random() < ({"Theft": 0.17, "Flood": 0.06, "Collision": 0.05}.get(t, 0.025)))
    a = r.choices(range(1, 13), aw)[0]
    if r.random() < 0.02:
        a = None
    late = d > D.date(2024, 8, 15)
    u = r.random()
    st = (
        "Open"
        if (late and u < 0.55) or u < 0.03
        else ("Denied" if r.random() < (0.5 if fr else 0.13) else "Approved")
    )
    closed = app = None
    if a is None:
        st = "Open"
    if st != "Open":
        slow = {
            1: 1,
            2: 1.5,
            3: 0.8,
            4: 1.1,
            5: 0.9,
            6: 1.2,
            7: 1.05,
            8: 1.6,
            9: 0.85,
            10: 1.4,
            11: 1.15,
            12: 0.95,
        }[a]
        closed = rep + D.timedelta(
            3
            + int(
                r.gammavariate(2, {"Theft": 20, "Flood": 19, "Collision": 13, "Glass": 4}.get(t, 10))
                * slow
                * (1.5 if fr else 1)
            )
        )
        if closed > D.date(2024, 12, 28):
            closed = D.date(2024, 12, 28) if rep < D.date(2024, 12, 28) else rep
        app = 0 if st == "Denied" else round(max(amt * 0.25, (amt - ded * 0.7)) * r.uniform(0.82, 1), 2)
    c.execute(
        "INSERT INTO claims VALUES(?,?,?,?,?,?,?,?,?,?,?)",
        (i, v, a, t, d.isoformat(), rep.isoformat(), closed and closed.isoformat(), amt, app, st, fr),
    )
    if st == "Approved" and r.random() < 0.965:
        k = 1 if app < 3000 else r.choices([1, 2, 3], [62, 29, 9])[0]
        left = app
        for j in range(k):
            x = left if j == k - 1 else round(app / k, 2)
            left = round(left - x, 2)
            payid += 1
            c.execute(
                "INSERT INTO payments VALUES(?,?,?,?,?)",
                (
                    payid,
                    i,
                    (closed + D.timedelta(1 + int(r.expovariate(1 / 5)) + 14 * j)).isoformat(),
                    x,
                    r.choices(["Direct deposit", "Check", "Wire"], [66, 27, 7])[0],
                ),
            )
c.commit()
