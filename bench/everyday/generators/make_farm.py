#!/usr/bin/env python3
"""farm.sqlite: farms, fields, crops, harvests, machines, inspections."""

import sys, os, random, sqlite3
from datetime import date, timedelta

R = random.Random(4404)
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
path = os.path.join(out, "farm.sqlite")
if os.path.exists(path):
    os.remove(path)
con = sqlite3.connect(path)
con.executescript("""
CREATE TABLE Farms (FarmID INTEGER PRIMARY KEY, FarmName TEXT NOT NULL, Owner TEXT, County TEXT, IsOrganic INTEGER, FoundedYr INTEGER, NoOfStaff INTEGER, Phone TEXT);
CREATE TABLE Fields (FieldID INTEGER PRIMARY KEY, FarmID INTEGER NOT NULL REFERENCES Farms(FarmID), FieldCode TEXT, AreaHa REAL, SoilType TEXT, Irrigated TEXT, SoilPH REAL);
CREATE TABLE Crops (CropID INTEGER PRIMARY KEY, CropName TEXT NOT NULL, CropGroup TEXT, SeedCostPerHa REAL);
CREATE TABLE Harvests (HarvestID INTEGER PRIMARY KEY, FieldID INTEGER NOT NULL REFERENCES Fields(FieldID), CropID INTEGER NOT NULL REFERENCES Crops(CropID), SownOn TEXT, HarvestedOn TEXT, Yield_t REAL, MoisturePct REAL, QualityGrade TEXT, Revenue_EUR REAL, Insured TEXT);
CREATE TABLE Machines (MachineID INTEGER PRIMARY KEY, FarmID INTEGER NOT NULL REFERENCES Farms(FarmID), MachineType TEXT, Make TEXT, PurchasedOn TEXT, PurchasePrice_EUR REAL, EngineHrs INTEGER, LastServiceOn TEXT, Status TEXT);
CREATE TABLE Inspections (InspID INTEGER PRIMARY KEY, FarmID INTEGER NOT NULL REFERENCES Farms(FarmID), InspDate TEXT, Inspector TEXT, InspType TEXT, Score INTEGER, Passed INTEGER, FindingsCnt INTEGER, Fine_EUR REAL);
""")
A = "Ballymore Oakfield Greenacre Riverside Hilltop Stonebridge Willowbrook Larkfield Ashgrove Meadowview Foxhollow Thornbury Kilbride Rosebank Longmeadow Blackthorn Clover Drumlin Fairview Glenview Hazelwood Ivybank Killeen Lismore Moorfield Northfield Orchard Priory Quarry Ravenswood Springwell Tullamore Underhill Valley Westwood Yewtree Ardmore Castlemartin".split()
cty = [
    ("Cork", 26),
    ("Wexford", 18),
    ("Meath", 15),
    ("Tipperary", 14),
    ("Kildare", 10),
    ("Carlow", 7),
    ("Louth", 6),
    ("Galway", 4),
]
own = "Murphy Kelly Byrne Ryan Walsh Doyle Nolan Keane Brennan Burke Fitzgerald Quinn Hayes Lynch Kavanagh Sheehan Power Roche Dunne Whelan Foley Hogan Maguire Redmond Cullen Hickey Mahon Furlong Colfer Devereux Sinnott Duggan Hurley Twomey Lehane Barry Cahill Cogan".split()
fn = "Sean Mary Patrick Aoife Liam Niamh Michael Siobhan John Ciara Eoin Margaret Declan Orla Tom Brigid".split()
farms = []
for i, a in enumerate(A):
    c = R.choices([x[0] for x in cty], [x[1] for x in cty])[0]
    if a in ("Ballymore",):
        c = "Cork"
    if a == "Yewtree":
        c = "Galway"
    farms.append(
        [
            i + 1,
            a + R.choice([" Farm", " Farm", " Estate", " Holding"]),
            R.choice(fn) + " " + own[i],
            c,
            int(R.random() < 0.3),
            R.randint(1888, 2016),
            None if i in (8, 27) else max(1, int(R.lognormvariate(1.6, 0.6))),
            None if R.random() < 0.15 else "0%d %d" % (R.randint(21, 59), R.randint(2000000, 9999999)),
        ]
    )
con.executemany("INSERT INTO Farms VALUES (?,?,?,?,?,?,?,?)", farms)
CR = [
    ("Winter wheat", "Cereal", 98, 9.8, (9, 25), (8, 2), 215, 24),
    ("Spring barley", "Cereal", 82, 7.1, (3, 20), (8, 14), 198, 22),
    ("Oats", "Cereal", 74, 7.4, (3, 10), (8, 20), 205, 8),
    ("Oilseed rape", "Oilseed", 65, 4.2, (8, 22), (7, 22), 455, 11),
    ("Potatoes", "Root", 880, 41, (4, 8), (9, 22), 210, 9),
    ("Sugar beet", "Root", 240, 66, (3, 28), (10, 28), 43, 6),
    ("Field beans", "Legume", 120, 5.0, (3, 2), (9, 6), 262, 7),
    ("Peas", "Legume", 145, 4.3, (3, 26), (7, 30), 285, 4),
    ("Maize", "Forage", 210, 13.5, (4, 28), (10, 4), 78, 9),
    ("Quinoa", "Specialty", 190, 1.9, (4, 5), (9, 3), 1500, 0),
]
for i, c in enumerate(CR):
    con.execute("INSERT INTO Crops VALUES (?,?,?,?)", (i + 1, c[0], c[1], c[2]))
fields = []
fid = 0
for f in farms:
    k = max(3, int(R.lognormvariate(2.05, 0.45)))
    for j in range(k):
        fid += 1
        fields.append(
            [
                fid,
                f[0],
                "F%02d-%02d" % (f[0], j + 1),
                round(min(62, R.lognormvariate(2.35, 0.5)), 1),
                R.choices(["Loam", "Clay", "Sandy loam", "Peat", "Silt"], [42, 22, 19, 7, 10])[0],
                R.choices(["yes", "no"], [23, 77])[0],
                None if R.random() < 0.06 else round(R.gauss(6.4, 0.45), 1),
            ]
        )
con.executemany("INSERT INTO Fields VALUES (?,?,?,?,?,?,?)", fields)
yr = {2021: 1.02, 2022: 1.06, 2023: 0.86, 2024: 0.95}
pr = {2021: 0.88, 2022: 1.35, 2023: 1.02, 2024: 0.96}
hid = 5000
rows = []
fallow = set(R.sample(range(1, fid + 1), 16))
for f in fields:
    if f[0] in fallow:
        continue
    org = farms[f[1] - 1][4]
    prev = None
    for y in (2021, 2022, 2023, 2024):
        if R.random() < 0.13:
            prev = None
            continue
        c = R.choices(
            CR, [x[7] * (0.15 if x is prev else 1) * (2.2 if x[1] == "Legume" and org else 1) for x in CR]
        )[0]
        prev = c
        sy = y - 1 if c[4][0] >= 8 else y
        sow = date(sy, *c[4]) + timedelta(days=R.randint(-9, 16))
        hv = date(y, *c[5]) + timedelta(days=R.randint(-10, 14))
        q = R.choices(["A", "B", "C"], [46, 37, 17] if y != 2023 else [26, 42, 32])[0]
        soil = {"Loam": 1.06, "Clay": 0.97, "Sandy loam": 0.93, "Peat": 0.85, "Silt": 1.03}[f[4]]
        ph = 1.13 if f[5] == "yes" and c[1] in ("Root", "Forage") else 1.05 if f[5] == "yes" else 1
        yt = round(f[3] * c[3] * yr[y] * soil * ph * (0.8 if org else 1) * max(0.45, R.gauss(1, 0.13)), 1)
        rev = round(
            yt
            * c[6]
            * pr[y]
            * (1.45 if org else 1)
            * {"A": 1.08, "B": 1, "C": 0.83}[q]
            * R.uniform(0.94, 1.06),
            2,
        )
        if y == 2024 and R.random() < 0.07:
            rev = None
        mo = {"Cereal": 16.5, "Oilseed": 9.5, "Root": 77, "Legume": 16, "Forage": 33}[c[1]]
        rows.append(
            (
                hv,
                f[0],
                CR.index(c) + 1,
                sow.isoformat(),
                hv.isoformat(),
                yt,
                None if R.random() < 0.05 else round(R.gauss(mo, mo * 0.07), 1),
                q,
                rev,
                R.choices(["Y", "N"], [64, 36])[0],
            )
        )
rows.sort()
for r in rows:
    hid += 1
    con.execute("INSERT INTO Harvests VALUES (?,?,?,?,?,?,?,?,?,?)", (hid,) + r[1:])
MT = [
    (
        "Tractor",
        42,
        86000,
        0.35,
        ["John Deere", "New Holland", "Massey Ferguson", "Fendt", "Claas"],
        [30, 24, 22, 10, 7],
    ),
    ("Combine harvester", 11, 235000, 0.3, ["Claas", "John Deere", "New Holland"], [45, 30, 25]),
    ("Sprayer", 17, 46000, 0.4, ["Amazone", "Hardi", "Kuhn"], [4, 5, 3]),
    ("Seed drill", 14, 38000, 0.35, ["Kuhn", "Amazone", "Horsch"], [5, 3, 4]),
    ("Baler", 9, 34500, 0.3, ["Claas", "New Holland", "McHale"], [2, 2, 7]),
    ("Trailer", 17, 13000, 0.3, ["Broughan", "Kane", "Herron"], [4, 4, 2]),
]
mid = 0
for f in farms:
    k = R.randint(1, 8) if f[0] not in (13,) else 0
    for _ in range(k):
        m = R.choices(MT, [x[1] for x in MT])[0]
        mid += 1
        pd = date(2008, 1, 1) + timedelta(days=R.randint(0, 6050))
        age = (date(2024, 12, 31) - pd).days / 365
        con.execute(
            "INSERT INTO Machines VALUES (?,?,?,?,?,?,?,?,?)",
            (
                mid,
                f[0],
                m[0],
                R.choices(m[4], m[5])[0],
                pd.isoformat(),
                round(R.lognormvariate(0, m[3]) * m[2] * 0.95, -2),
                None
                if m[0] in ("Trailer", "Seed drill")
                else int(age * R.uniform(190, 720) * (0.5 if m[0] != "Tractor" else 1)),
                None
                if R.random() < 0.1
                else max(
                    pd + timedelta(days=10), date(2024, 12, 31) - timedelta(days=int(R.expovariate(1 / 260)))
                ).isoformat(),
                R.choices(["in use", "in repair", "sold", "scrapped"], [80, 8, 8, 4])[0],
            ),
        )
INS = [("H. Moran", 31), ("B. O'Dowd", 24), ("S. Lenihan", 19), ("P. Kiely", 15), ("R. Tobin", 11)]
iid = 900
ir = []
sev = {
    x[0]: x[1]
    for x in [("H. Moran", 2), ("B. O'Dowd", -4), ("S. Lenihan", 4), ("P. Kiely", 0), ("R. Tobin", -7)]
}
base = {f[0]: R.gauss(77, 7) + (4 if f[4] else 0) for f in farms}
for f in farms:
    if f[0] in (22, 31):
        continue
    for _ in range(R.choices([3, 5, 7, 9, 11], [15, 30, 30, 15, 10])[0]):
        d = date(2021, 1, 11) + timedelta(days=R.randint(0, 1430))
        if d.weekday() > 4:
            d -= timedelta(days=d.weekday() - 4)
        if d.weekday() == 4 and R.random() < 0.5:
            d -= timedelta(days=R.randint(1, 4))
        w = R.choices([x[0] for x in INS], [x[1] for x in INS])[0]
        sc = int(max(28, min(100, R.gauss(base[f[0]] + sev[w], 9))))
        p = int(sc >= 65)
        fi = max(0, int((96 - sc) / 6 + R.gauss(0, 1.3)))
        ir.append(
            (
                d.isoformat(),
                f[0],
                w,
                R.choices(["Food safety", "Environmental", "Machinery", "Animal welfare"], [38, 30, 20, 12])[
                    0
                ],
                sc,
                p,
                fi,
                float(round(R.lognormvariate(6.3, 0.6), -1))
                if (not p and R.random() < 0.8)
                else (0.0 if p else None),
            )
        )
ir.sort()
for r in ir:
    iid += 1
    con.execute("INSERT INTO Inspections VALUES (?,?,?,?,?,?,?,?,?)", (iid, r[1], r[0]) + r[2:])
con.commit()
con.close()
