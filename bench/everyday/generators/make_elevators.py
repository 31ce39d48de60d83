#!/usr/bin/env python3
"""elevators.sqlite: a lift maintenance firm: buildings, lifts, technicians, calls and parts."""

import os, random, sqlite3, sys
from datetime import date, datetime, timedelta

import names

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
path = os.path.join(out, "elevators.sqlite")
if os.path.exists(path):
    os.remove(path)
R = random.Random(7308)
con = sqlite3.connect(path)
con.executescript("""
CREATE TABLE BUILDING (BLD_ID INTEGER PRIMARY KEY, BLD_NAME TEXT, USE_TYPE TEXT, CITY TEXT, FLOORS INTEGER,
  OWNER TEXT);
CREATE TABLE ELEVATOR (ELEV_ID TEXT PRIMARY KEY, BLD_ID INTEGER REFERENCES BUILDING(BLD_ID), MAKER TEXT,
  DRIVE_TYPE TEXT, INSTALL_YR INTEGER, CAP_KG INTEGER, LAST_INSP TEXT, INSP_RESULT TEXT);
CREATE TABLE CONTRACT (CONTR_NO TEXT PRIMARY KEY, BLD_ID INTEGER REFERENCES BUILDING(BLD_ID), TIER TEXT,
  MTHLY_FEE REAL, START_DT TEXT, END_DT TEXT, SLA_HRS INTEGER);
CREATE TABLE TECHNICIAN (TECH_ID INTEGER PRIMARY KEY, TECH_NAME TEXT, DEPOT TEXT, HIRED TEXT, HRLY_RATE REAL,
  LEVEL TEXT);
CREATE TABLE SERVICE_CALL (CALL_ID INTEGER PRIMARY KEY, ELEV_ID TEXT REFERENCES ELEVATOR(ELEV_ID),
  TECH_ID INTEGER REFERENCES TECHNICIAN(TECH_ID), CALL_TYPE TEXT, FAULT_CD TEXT, REPORTED_AT TEXT,
  ARRIVED_AT TEXT, FIXED_AT TEXT, ENTRAPMENT INTEGER, LABOUR_HRS REAL);
CREATE TABLE PART_USED (ID INTEGER PRIMARY KEY, CALL_ID INTEGER REFERENCES SERVICE_CALL(CALL_ID),
  PART_DESC TEXT, QTY INTEGER, UNIT_COST REAL);
""")
CITY = [("Rotterdam", 9), ("The Hague", 7), ("Delft", 3), ("Utrecht", 6), ("Leiden", 3)]
USE = [("Residential", 10), ("Office", 8), ("Hospital", 2), ("Hotel", 4), ("Mall", 2)]
OWN = ["Havik Vastgoed", "Stadswonen", "Orion REIT", "City Council", "Van Dalen BV", "MediGroup"]
N1 = "Linden;Harbour;Station;Tulip;Maas;Orange;Canal;Park;Willow;Mercury;Delta;North;Kestrel;Anna".split(";")
N2 = {
    "Residential": ["Court", "Flats", "House"],
    "Office": ["Plaza", "Tower", "Centre"],
    "Hospital": ["Hospital", "Clinic"],
    "Hotel": ["Hotel", "Inn"],
    "Mall": ["Mall", "Arcade"],
}
MK = [
    ("Schindra", 10, 1.0),
    ("Otello", 9, 0.85),
    ("Konex", 7, 1.1),
    ("Thyssa", 6, 1.35),
    ("Mitsuba", 3, 0.6),
]
seen = set()
lifts = []
b = 0
while b < 72:
    u = R.choices([x[0] for x in USE], [x[1] for x in USE])[0]
    nm = R.choice(N1) + " " + R.choice(N2[u])
    if nm in seen:
        continue
    seen.add(nm)
    b += 1
    fl = R.randint(3, 9) if u in ("Mall", "Hospital") else R.randint(4, 28)
    city = R.choices([x[0] for x in CITY], [x[1] for x in CITY])[0]
    own = "MediGroup" if u == "Hospital" and R.random() < 0.6 else R.choice(OWN[:5])
    con.execute("INSERT INTO BUILDING VALUES (?,?,?,?,?,?)", (b, nm, u, city, fl, own))
    if R.random() < 0.92:
        tier = R.choices(["Basic", "Plus", "Full Care"], [40, 35, 25])[0]
        st = date(2019, 1, 1) + timedelta(30 * R.randint(0, 50))
        end = None if R.random() < 0.75 else (st + timedelta(365 * R.randint(2, 4))).isoformat()
        fee = {"Basic": 140, "Plus": 230, "Full Care": 410}[tier] + 12 * fl
        sla = {"Basic": 24, "Plus": 8, "Full Care": 4}[tier]
        con.execute(
            "INSERT INTO CONTRACT VALUES (?,?,?,?,?,?,?)",
            (f"C-{st.year}-{b:03d}", b, tier, float(fee), st.isoformat(), end, sla),
        )
    for k in range(max(1, min(6, int(fl / 6 + R.randint(0, 2))))):
        m = R.choices(MK, [x[1] for x in MK])[0]
        yr = R.randint(1984, 2021)
        insp = (date(2024, 1, 1) + timedelta(R.randint(0, 365))).isoformat() if R.random() > 0.06 else None
        res = R.choices(["OK", "Minor defects", "Failed"], [70, 23, 7])[0] if insp else None
        drv = R.choices(["Traction", "Hydraulic", "MRL"], [5, 3 if fl < 8 else 0, 4 if yr > 2000 else 0])[0]
        eid = f"L{b:03d}{'ABCDEF'[k]}"
        cap = R.choice([320, 450, 630, 1000, 1600])
        con.execute("INSERT INTO ELEVATOR VALUES (?,?,?,?,?,?,?,?)", (eid, b, m[0], drv, yr, cap, insp, res))
        risk = m[2] * (1 + (2024 - yr) / 18) * R.uniform(0.3, 1.8)
        risk *= 1.5 if u in ("Hospital", "Mall") else 1
        lifts.append((eid, 0 if R.random() < 0.07 else risk))
for i, n in enumerate(names.people(R, 16)):
    dep = R.choice(["Rotterdam-Zuid", "Den Haag", "Utrecht-West"])
    lvl = R.choices(["Junior", "Senior", "Master"], [5, 7, 3])[0]
    rate = {"Junior": 48.0, "Senior": 62.5, "Master": 78.0}[lvl]
    con.execute(
        "INSERT INTO TECHNICIAN VALUES (?,?,?,?,?,?)",
        (i + 1, n, dep, (date(2009, 1, 5) + timedelta(R.randint(0, 5400))).isoformat(), rate, lvl),
    )
FAULT = [("DOOR", 30), ("CTRL", 16), ("MOTR", 8), ("BRAK", 6), ("SENS", 18), ("BTN", 14), ("OTH", 8)]
PARTS = {
    "DOOR": [("Door roller", 18.5), ("Door operator belt", 44.0), ("Door sensor strip", 129.0)],
    "CTRL": [("Controller board", 780.0), ("Relay set", 64.0)],
    "MOTR": [("Motor bearing", 210.0), ("Drive inverter", 1450.0)],
    "BRAK": [("Brake pad set", 165.0)],
    "SENS": [("Position sensor", 96.0), ("Cable harness", 52.0)],
    "BTN": [("Call button", 27.5), ("Display panel", 188.0)],
    "OTH": [("Lubricant 5L", 39.0)],
}
times = []
for _ in range(2350):
    d = date(2022, 1, 1) + timedelta(R.randint(0, 1095))
    h = R.choices(range(24), [1, 1, 1, 1, 1, 2, 4, 8, 10, 9, 8, 8, 7, 7, 7, 7, 8, 9, 7, 5, 4, 3, 2, 1])[0]
    times.append(datetime(d.year, d.month, d.day, h, R.randint(0, 59)))
pid = 0
for i, t in enumerate(sorted(times)):
    e = R.choices(lifts, [x[1] for x in lifts])[0][0]
    ty = R.choices(["Breakdown", "Planned maint.", "Inspection", "Modernisation"], [56, 34, 8, 2])[0]
    f = R.choices([x[0] for x in FAULT], [x[1] for x in FAULT])[0] if ty == "Breakdown" else None
    lag = R.lognormvariate(0.9, 0.7) * 60 if f else R.uniform(10, 60)
    arr = t + timedelta(minutes=int(lag) + 5)
    hrs = round(max(0.25, R.lognormvariate(0.4 if f else 0.2, 0.6)) * 4) / 4
    fix = arr + timedelta(minutes=int(hrs * 60) + (R.randint(600, 6000) if R.random() < 0.06 else 0))
    pend = t > datetime(2024, 12, 20) and R.random() < 0.3
    fm = "%Y-%m-%d %H:%M"
    con.execute(
        "INSERT INTO SERVICE_CALL VALUES (?,?,?,?,?,?,?,?,?,?)",
        (
            40001 + i,
            e,
            R.randint(1, 15),
            ty,
            f,
            t.strftime(fm),
            arr.strftime(fm),
            None if pend else fix.strftime(fm),
            int(f is not None and R.random() < (0.13 if f in ("DOOR", "CTRL") else 0.05)),
            hrs,
        ),
    )
    if f and R.random() < 0.6:
        for p in R.sample(PARTS[f], R.randint(1, min(2, len(PARTS[f])))):
            pid += 1
            con.execute(
                "INSERT INTO PART_USED VALUES (?,?,?,?,?)",
                (pid, 40001 + i, p[0], R.choice([1, 1, 1, 2, 4]), p[1]),
            )
con.commit()
con.close()
