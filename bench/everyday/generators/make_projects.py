"""projects.sqlite: a consultancy (2022-2024)"""

import random, sqlite3, sys, os
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4404)
path = os.path.join(out, "projects.sqlite")
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path)
db.executescript("""
CREATE TABLE clients (client_id INTEGER PRIMARY KEY, client_name TEXT NOT NULL, industry TEXT, country TEXT, city TEXT, client_since TEXT, is_active INTEGER);
CREATE TABLE consultants (consultant_id INTEGER PRIMARY KEY, full_name TEXT, grade TEXT, office TEXT, hourly_rate REAL, hired_on TEXT, left_on TEXT, email TEXT);
CREATE TABLE projects (project_id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES clients(client_id), project_name TEXT, practice TEXT, manager_id INTEGER REFERENCES consultants(consultant_id),
  start_date TEXT, end_date TEXT, budget_amt REAL, status TEXT, csat_score INTEGER);
CREATE TABLE timesheets (ts_id INTEGER PRIMARY KEY, project_id INTEGER REFERENCES projects(project_id), consultant_id INTEGER REFERENCES consultants(consultant_id), work_date TEXT, hrs REAL, billable INTEGER, activity TEXT);
CREATE TABLE invoices (invoice_no TEXT PRIMARY KEY, project_id INTEGER REFERENCES projects(project_id), issued_on TEXT, due_on TEXT, paid_on TEXT, amt REAL);
CREATE TABLE expenses (expense_id INTEGER PRIMARY KEY, project_id INTEGER REFERENCES projects(project_id), consultant_id INTEGER REFERENCES consultants(consultant_id), spent_on TEXT, exp_type TEXT, amt REAL, reimbursed TEXT);
""")
CL = [
    ("Alder Bank", "Banking"),
    ("Brightwell Insurance", "Insurance"),
    ("Castor Energy", "Energy"),
    ("Dunmore Retail Group", "Retail"),
    ("Eastgate Hospitals", "Healthcare"),
    ("Fenwick Logistics", "Logistics"),
    ("Granary Foods", "Retail"),
    ("Halcyon Pharma", "Healthcare"),
    ("Ironbridge Steel", "Manufacturing"),
    ("Juniper Telecom", "Telecom"),
    ("Kestrel Mutual", "Insurance"),
    ("Larkspur Media", "Media"),
    ("Monarch Savings", "Banking"),
    ("Northway Rail", "Logistics"),
    ("Oakfield Council", "Public sector"),
    ("Pinecrest Motors", "Manufacturing"),
    ("Quayside Capital", "Banking"),
    ("Redwood Utilities", "Energy"),
    ("Summit Outdoor", "Retail"),
    ("Tidewater Shipping", "Logistics"),
    ("Umber Ceramics", "Manufacturing"),
    ("Valley Health Trust", "Healthcare"),
    ("Westbrook University", "Public sector"),
    ("Xenon Labs", "Healthcare"),
    ("Yarrow Cosmetics", "Retail"),
    ("Zephyr Wind", "Energy"),
    ("Beacon Pensions", "Banking"),
    ("Cobbler & Sons", "Retail"),
    ("Delta Freight", "Logistics"),
    ("Elmwood Press", "Media"),
]
CT = [
    ("United Kingdom", "London", 11),
    ("United Kingdom", "Leeds", 4),
    ("Ireland", "Dublin", 5),
    ("Netherlands", "Rotterdam", 4),
    ("Germany", "Hamburg", 4),
    ("Belgium", "Ghent", 2),
]
for i, (n, ind) in enumerate(CL):
    c = R.choices(CT, [x[2] for x in CT])[0]
    s = date(2014, 1, 1) + timedelta(days=R.randrange(0, 3200))
    db.execute(
        "INSERT INTO clients VALUES (?,?,?,?,?,?,?)",
        (i + 1, n, ind, c[0], c[1], s.isoformat(), 0 if i in (8, 20, 27) or R.random() < 0.08 else 1),
    )
NM = "Amelia Hughes,Ben Carter,Chidi Nwosu,Dora Klein,Edward Finch,Fatima Rahman,George Palmer,Helen Drew,Imran Sheikh,Jana Vos,Kieran Walsh,Lucia Ferri,Martin Boyle,Nora Lund,Oscar Pell,Petra Simic,Quentin Ross,Rachel Green,Stefan Maier,Tara O'Neill,Uma Patel,Victor Hale,Wendy Chow,Xavier Dumont,Yasmin Ali,Zoe Marsh,Aaron Steele,Bianca Costa".split(
    ","
)
GR = {
    "Analyst": (85, 0.3),
    "Consultant": (120, 0.34),
    "Senior Consultant": (155, 0.2),
    "Principal": (195, 0.1),
    "Partner": (260, 0.06),
}
grades = (
    ["Partner", "Partner", "Principal", "Principal", "Principal"]
    + ["Senior Consultant"] * 6
    + ["Consultant"] * 9
    + ["Analyst"] * 8
)
cons = []
perm = NM[:]
R.shuffle(perm)
for i, n in enumerate(perm):
    g = grades[i]
    off = R.choices(["London", "Dublin", "Rotterdam"], [0.52, 0.28, 0.2])[0]
    h = date(2015, 1, 1) + timedelta(days=R.randrange(0, 2550 if g not in ("Analyst",) else 3400))
    rate = GR[g][0] + R.choice([-10, -5, 0, 5, 10, 15])
    left = (date(2023, 1, 1) + timedelta(days=R.randrange(60, 700))) if i in (7, 13, 19, 24) else None
    if left and left < h + timedelta(days=200):
        left = h + timedelta(days=300)
    em = n.lower().replace(" ", ".").replace("'", "") + "@castleton.example" if R.random() > 0.07 else None
    cons.append((i + 1, n, g, off, rate, h, left))
    db.execute(
        "INSERT INTO consultants VALUES (?,?,?,?,?,?,?,?)",
        (i + 1, n, g, off, float(rate), h.isoformat(), left.isoformat() if left else None, em),
    )
PR = {
    "Strategy": 0.16,
    "Data & Analytics": 0.3,
    "Cloud": 0.24,
    "Risk & Compliance": 0.18,
    "Change Management": 0.12,
}
WH = {
    "Strategy": ["Growth strategy", "Market entry study", "Operating model review"],
    "Data & Analytics": ["Data warehouse", "Customer segmentation", "Forecasting tool", "BI dashboards"],
    "Cloud": ["Cloud migration", "Platform build", "Cost optimisation"],
    "Risk & Compliance": ["Audit readiness", "GDPR programme", "Fraud controls"],
    "Change Management": ["ERP rollout training", "Merger integration", "Culture survey"],
}
mgrs = [c for c in cons if c[2] in ("Partner", "Principal", "Senior Consultant") and c[6] is None]
mgw = [R.uniform(0.6, 3) for _ in mgrs]
END = date(2024, 12, 31)
ts = []
inv = []
ex = []
tid = 1
eid = 1
cw = [1 / (R.randrange(1, 31)) ** 0.45 for _ in CL]
names = set()
noproj = {12, 24, 28}  # clients without any project (ids)
plist = []
for p in range(74):
    st = date(2022, 1, 3) + timedelta(days=R.randrange(0, 1000))
    st -= timedelta(days=max(0, st.weekday() - 4) if st.weekday() > 4 else 0)
    plist.append(st)
plist.sort()
for p, st in enumerate(plist):
    pid = 501 + p
    while True:
        c = R.choices(range(1, 31), cw)[0]
        if c not in noproj:
            break
    pr = R.choices(list(PR), list(PR.values()))[0]
    mg = R.choices(mgrs, mgw)[0]
    dur = R.randrange(40, 330)
    en = st + timedelta(days=dur)
    status = "Completed"
    if en > END:
        status, en2 = ("Active", None) if R.random() < 0.85 else ("On hold", None)
    else:
        en2 = en
    if R.random() < 0.07 and status == "Completed":
        status = "Cancelled"
        en = st + timedelta(days=int(dur * 0.4))
        en2 = en
    last = min(en, END)
    team = []
    size = R.choices([1, 2, 3, 4, 5], [8, 24, 34, 22, 12])[0]
    ava = [x for x in cons if x[5] < st and (x[6] is None or x[6] > st + timedelta(days=30))]
    aw = [
        {"Partner": 0.25, "Principal": 0.6, "Senior Consultant": 1.1, "Consultant": 1.3, "Analyst": 1.2}[x[2]]
        * (0.5 + ((x[0] * 37) % 11) / 8)
        if x[0] != 28 and x[0] != 6
        else 0
        for x in ava
    ]
    while len(team) < min(size, 8):
        x = R.choices(ava, aw)[0]
        if x not in team:
            team.append(x)
    fees = {}
    total = 0
    d = st
    wk = 0
    while d <= last:
        if (
            d.weekday() < 5
            and not (d.month == 12 and d.day >= 23)
            and not (d.month == 8 and R.random() < 0.4)
        ):
            for x in team:
                if (x[6] is None or d <= x[6]) and R.random() < 0.235:
                    h = R.choices([2, 3, 4, 5, 6, 7, 7.5, 8, 9, 10], [4, 5, 9, 6, 10, 14, 22, 24, 4, 2])[0]
                    b = 1 if R.random() < (0.86 if pr != "Strategy" else 0.74) else 0
                    act = R.choices(
                        ["Workshop", "Analysis", "Development", "Meeting", "Documentation", "Travel"],
                        [10, 28, 26, 18, 12, 6] if b else [3, 8, 6, 40, 20, 23],
                    )[0]
                    ts.append((d.isoformat(), pid, x[0], float(h), b, act))
                    if b:
                        fees[(d.year, d.month)] = fees.get((d.year, d.month), 0) + h * x[4]
                    if R.random() < 0.105:
                        ty = R.choices(
                            ["Travel", "Hotel", "Meals", "Software", "Other"], [30, 18, 34, 8, 10]
                        )[0]
                        am = round(
                            {
                                "Travel": R.lognormvariate(4.7, 0.6),
                                "Hotel": R.lognormvariate(5.2, 0.35),
                                "Meals": R.lognormvariate(3.2, 0.5),
                                "Software": R.lognormvariate(5.0, 0.7),
                                "Other": R.lognormvariate(3.6, 0.7),
                            }[ty],
                            2,
                        )
                        ex.append((d.isoformat(), pid, x[0], ty, am, "yes" if R.random() < 0.83 else "no"))
        d += timedelta(days=1)
    for (y, m), v in sorted(fees.items()):
        iss = date(y + (m == 12), m % 12 + 1, R.randrange(1, 9))
        if iss > END or status == "Cancelled" and R.random() < 0.3:
            continue
        due = iss + timedelta(days=R.choice([14, 30, 30, 30, 45]))
        paid = None
        if R.random() < 0.93:
            paid = due + timedelta(days=int(R.gauss(-2, 11)))
            if paid <= iss:
                paid = iss + timedelta(days=3)
            if paid > END:
                paid = None
        inv.append(
            (
                iss.isoformat(),
                pid,
                due.isoformat(),
                paid.isoformat() if paid else None,
                round(v * R.choice([1, 1, 1, 0.95, 0.9, 1.05]), 2),
            )
        )
    tot = sum(fees.values())
    bud = round(tot * R.uniform(0.8, 1.45) * (1.3 if en2 is None else 1) + R.randrange(3, 9) * 1000, -2)
    if size == 1 and p % 5 == 0:
        bud = None
    cs = (
        R.choices([4, 5, 6, 7, 8, 9, 10], [2, 4, 9, 18, 30, 24, 13])[0]
        if status == "Completed" and R.random() < 0.85
        else None
    )
    nm = R.choice(WH[pr]) + f" {st.year} - " + CL[c - 1][0].split()[0]
    while nm in names:
        nm += " II"
    names.add(nm)
    db.execute(
        "INSERT INTO projects VALUES (?,?,?,?,?,?,?,?,?,?)",
        (pid, c, nm, pr, mg[0], st.isoformat(), en2.isoformat() if en2 else None, bud, status, cs),
    )
ts.sort()
ex.sort()
inv.sort()
db.executemany(
    "INSERT INTO timesheets VALUES (?,?,?,?,?,?,?)",
    [(i + 1, t[1], t[2], t[0], t[3], t[4], t[5]) for i, t in enumerate(ts)],
)
db.executemany(
    "INSERT INTO invoices VALUES (?,?,?,?,?,?)",
    [(f"INV-{i + 2001}", t[1], t[0], t[2], t[3], t[4]) for i, t in enumerate(inv)],
)
db.executemany(
    "INSERT INTO expenses VALUES (?,?,?,?,?,?,?)",
    [(i + 1, t[1], t[2], t[0], t[3], t[4], t[5]) for i, t in enumerate(ex)],
)
db.commit()
db.close()
