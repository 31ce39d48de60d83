import sys, os, sqlite3, random
from datetime import datetime, timedelta, date

out = sys.argv[1]
R = random.Random(7101)
p = os.path.join(out, "factory.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE production_lines(line_id INTEGER PRIMARY KEY, line_name TEXT NOT NULL, hall TEXT, product_family TEXT, commissioned_on DATE, target_units_per_hour INTEGER);
CREATE TABLE machines(machine_id INTEGER PRIMARY KEY, line_id INTEGER NOT NULL REFERENCES production_lines(line_id), machine_name TEXT NOT NULL, machine_type TEXT, manufacturer TEXT, purchase_date DATE, purchase_price_eur REAL, status TEXT);
CREATE TABLE shifts(shift_id INTEGER PRIMARY KEY, shift_name TEXT, start_hour INTEGER, end_hour INTEGER, supervisor TEXT, wage_supplement_pct REAL);
CREATE TABLE production_runs(run_id INTEGER PRIMARY KEY, machine_id INTEGER NOT NULL REFERENCES machines(machine_id), shift_id INTEGER NOT NULL REFERENCES shifts(shift_id), product_code TEXT, started_at DATETIME, ended_at DATETIME, units_planned INTEGER, units_produced INTEGER, units_scrapped INTEGER, energy_kwh REAL, operator_note TEXT);
CREATE TABLE defects(defect_id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES production_runs(run_id), defect_type TEXT, severity TEXT, defect_qty INTEGER, reworked INTEGER);
CREATE TABLE maintenance(maint_id INTEGER PRIMARY KEY, machine_id INTEGER NOT NULL REFERENCES machines(machine_id), maint_type TEXT, start_date DATE, end_date DATE, downtime_hours REAL, cost_eur REAL, technician TEXT);
""")
lines = [
    (1, "Line A - Pumps", "North", "Pumps", "2012-04-16", 60),
    (2, "Line B - Valves", "North", "Valves", "2014-09-01", 95),
    (3, "Line C - Gearboxes", "South", "Gearboxes", "2009-02-23", 32),
    (4, "Line D - Seals", "East", "Seals", "2017-06-12", 210),
    (5, "Line E - Housings", "South", "Housings", "2019-11-04", 48),
]
c.executemany("INSERT INTO production_lines VALUES(?,?,?,?,?,?)", lines)
types = {
    1: ["CNC Mill", "Lathe", "Assembly Robot", "Press"],
    2: ["CNC Mill", "Lathe", "Grinder", "Assembly Robot"],
    3: ["CNC Mill", "Grinder", "Press", "Lathe"],
    4: ["Press", "Injection Molder"],
    5: ["CNC Mill", "Injection Molder", "Welding Robot"],
}
cnt = {1: 6, 2: 7, 3: 4, 4: 5, 5: 4}
base = {
    "CNC Mill": 185000,
    "Lathe": 92000,
    "Assembly Robot": 240000,
    "Press": 134000,
    "Grinder": 71000,
    "Injection Molder": 160000,
    "Welding Robot": 205000,
}
man = {
    "CNC Mill": ["DMG Mori", "Haas", "Mazak"],
    "Lathe": ["Haas", "Mazak"],
    "Assembly Robot": ["KUKA", "ABB"],
    "Press": ["Schuler", "Schuler", "Aida"],
    "Grinder": ["Studer"],
    "Injection Molder": ["Arburg", "Engel"],
    "Welding Robot": ["KUKA", "ABB"],
}
mach = []
mid = 0
for l in cnt:
    for k in range(cnt[l]):
        mid += 1
        t = types[l][k % len(types[l])]
        pd = date(2011, 1, 10) + timedelta(days=R.randrange(0, 4200))
        st = "active"
        mach.append(
            [
                mid,
                l,
                "M-%02d" % mid + " " + t,
                t,
                R.choice(man[t]),
                pd.isoformat(),
                round(base[t] * R.uniform(0.72, 1.35), -2) + R.choice([0, 50]),
                st,
            ]
        )
for i, s in ((4, "retired"), (11, "standby"), (17, "standby"), (22, "retired"), (26, "standby")):
    mach[i - 1][7] = s
mach[12][6] = None
c.executemany("INSERT INTO machines VALUES(?,?,?,?,?,?,?,?)", mach)
c.executemany(
    "INSERT INTO shifts VALUES(?,?,?,?,?,?)",
    [
        (1, "Early", 6, 14, "Petra Lindholm", 0),
        (2, "Late", 14, 22, "Marcus Oyelaran", 7.5),
        (3, "Night", 22, 6, "Ines Ferreira", 25),
    ],
)
norun = {4}  # retired before 2022, no runs
w = {m[0]: R.uniform(0.5, 1.8) * (0.25 if m[7] != "active" else 1) for m in mach if m[0] not in norun}
w[26] *= 0.5
prod = {
    1: ["P-100", "P-200", "P-250X"],
    2: ["V-10", "V-12", "V-40"],
    3: ["G-7", "G-9"],
    4: ["S-1", "S-2", "S-5", "S-8"],
    5: ["H-300", "H-410"],
}
season = [1, 0.96, 1.1, 1.04, 1.02, 1.08, 0.82, 0.6, 1.05, 1.16, 1.12, 0.66]
notes = [None] * 14 + [
    "material shortage",
    "tool change",
    "operator training",
    "sensor alarm",
    "late start",
    "power dip",
]
days = [date(2022, 1, 3) + timedelta(days=i) for i in range((date(2024, 12, 20) - date(2022, 1, 3)).days + 1)]
dw = [
    season[d.month - 1]
    * (1 if d.weekday() < 5 else (0.35 if d.weekday() == 5 else 0.06))
    * {2022: 0.85, 2023: 1.12, 2024: 1}[d.year]
    for d in days
]
N = 3600
picked = sorted(R.choices(days, dw, k=N))
runs = []
defs = []
did = 0
sq = {1: 0.021, 2: 0.029, 3: 0.048}
lq = {1: 1, 2: 0.8, 3: 1.7, 4: 0.55, 5: 1.25}
dtype = {
    1: ["leak", "scratch", "dimension off", "missing part"],
    2: ["leak", "dimension off", "burr", "scratch"],
    3: ["dimension off", "noise", "burr", "crack"],
    4: ["burr", "discoloration", "dimension off"],
    5: ["crack", "scratch", "discoloration", "porosity"],
}
ids = list(w)
ws = [w[i] for i in ids]
for rid, d in enumerate(picked, 1):
    m = R.choices(ids, ws)[0]
    l = mach[m - 1][1]
    s = R.choices([1, 2, 3], [0.46, 0.36, 0.18])[0]
    h = {1: 6, 2: 14, 3: 22}[s]
    st = datetime(d.year, d.month, d.day, h, 0) + timedelta(minutes=R.randrange(0, 90))
    dur = R.randrange(150, 375)
    en = st + timedelta(minutes=dur)
    plan = int(round(lines[l - 1][5] * dur / 60 * R.uniform(0.9, 1.1) / 5) * 5)
    got = max(5, int(plan * min(1.12, R.gauss({1: 0.96, 2: 0.94, 3: 0.88}[s], 0.09))))
    sc = int(got * max(0, R.gauss(sq[s] * lq[l], 0.012)))
    kwh = round(
        dur
        / 60
        * {
            "CNC Mill": 21,
            "Lathe": 12,
            "Assembly Robot": 7,
            "Press": 33,
            "Grinder": 9,
            "Injection Molder": 41,
            "Welding Robot": 26,
        }[mach[m - 1][3]]
        * R.uniform(0.8, 1.2),
        1,
    )
    if R.random() < 0.02:
        kwh = None
    runs.append(
        (
            rid,
            m,
            s,
            R.choices(prod[l], [5, 3, 2, 1][: len(prod[l])])[0],
            st.strftime("%F %H:%M:%S"),
            en.strftime("%F %H:%M:%S"),
            plan,
            got,
            sc,
            kwh,
            R.choice(notes),
        )
    )
    if sc and R.random() < 0.6:
        for k in range(R.choice([1, 1, 1, 2])):
            did += 1
            sev = R.choices(["minor", "major", "critical"], [0.62, 0.29, 0.09])[0]
            ts = dtype[l]
            defs.append(
                (
                    did,
                    rid,
                    R.choices(ts, [5, 4, 2, 1][: len(ts)])[0],
                    sev,
                    max(1, int(sc * R.uniform(0.15, 0.7))),
                    1 if R.random() < {"minor": 0.66, "major": 0.38, "critical": 0.1}[sev] else 0,
                )
            )
c.executemany("INSERT INTO production_runs VALUES(?,?,?,?,?,?,?,?,?,?,?)", runs)
c.executemany("INSERT INTO defects VALUES(?,?,?,?,?,?)", defs)
nom = {4, 15, 25}
ms = []
tech = ["Jonas Weber", "Aylin Demir", "Tom Hrabal", "Sofia Marchetti", "R. Okafor"]
mids = [m[0] for m in mach if m[0] not in nom]
mw = {i: R.uniform(0.4, 2) for i in mids}
for k in range(410):
    m = R.choices(mids, [mw[i] for i in mids])[0]
    d = date(2022, 1, 5) + timedelta(days=R.randrange(0, 1085))
    t = R.choices(["preventive", "corrective", "inspection"], [0.48, 0.34, 0.18])[0]
    du = {
        "preventive": R.choice([0, 1, 1, 2]),
        "corrective": R.choice([1, 2, 3, 4, 6, 9]),
        "inspection": R.choice([0, 0, 1]),
    }[t]
    dt = round(
        {
            "preventive": R.uniform(2, 9),
            "corrective": R.lognormvariate(2.7, 0.6),
            "inspection": R.uniform(0.5, 3),
        }[t],
        1,
    )
    cost = round(
        {
            "preventive": R.uniform(180, 950),
            "corrective": R.lognormvariate(7.5, 0.7),
            "inspection": R.uniform(60, 240),
        }[t],
        2,
    )
    e = (d + timedelta(days=du)).isoformat()
    if d > date(2024, 11, 20) and t == "corrective":
        e = None
    if R.random() < 0.03:
        cost = None
    ms.append((d.isoformat(), m, t, e, dt, cost, R.choices(tech, [5, 4, 3, 2, 1])[0]))
ms.sort()
c.executemany(
    "INSERT INTO maintenance VALUES(?,?,?,?,?,?,?,?)",
    [(i, m, t, d, e, dt, co, te) for i, (d, m, t, e, dt, co, te) in enumerate(ms, 1)],
)
c.commit()
c.close()
