#!/usr/bin/env python3
"""translation_agency.sqlite: a translation agency's clients, linguists, jobs and invoices."""

import os, random, sqlite3, sys
from datetime import date, timedelta

import names

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
path = os.path.join(out, "translation_agency.sqlite")
if os.path.exists(path):
    os.remove(path)
R = random.Random(7310)
con = sqlite3.connect(path)
con.executescript("""
CREATE TABLE Clients ("Client ID" TEXT PRIMARY KEY, "Client Name" TEXT, Sector TEXT, Country TEXT,
  "Acct Mgr" TEXT, "Payment Terms (days)" INTEGER);
CREATE TABLE Linguists ("Ling ID" INTEGER PRIMARY KEY, "Full Name" TEXT, "Native Lang" TEXT, Based TEXT,
  "Rate/word" REAL, "Quality Score" REAL, Onboarded TEXT, Active TEXT);
CREATE TABLE Language_Pairs ("Pair" TEXT PRIMARY KEY, "Source" TEXT, "Target" TEXT, "List Price/word" REAL);
CREATE TABLE Jobs ("Job No" INTEGER PRIMARY KEY, "Client ID" TEXT REFERENCES Clients("Client ID"),
  "Ling ID" INTEGER REFERENCES Linguists("Ling ID"), "Pair" TEXT REFERENCES Language_Pairs("Pair"),
  Service TEXT, Domain TEXT, "Received" TEXT, "Due" TEXT, "Delivered" TEXT, Words INTEGER,
  "Price/word" REAL, "Job Total" REAL, "Ling Cost" REAL, Rush TEXT, Status TEXT, "Client Rating" INTEGER);
CREATE TABLE Invoices ("Inv No" TEXT PRIMARY KEY, "Job No" INTEGER REFERENCES Jobs("Job No"),
  "Inv Date" TEXT, Amount REAL, VAT REAL, "Paid On" TEXT);
""")
SEC = [
    ("Legal", 8),
    ("Pharma", 7),
    ("E-commerce", 9),
    ("Engineering", 8),
    ("Tourism", 4),
    ("Public sector", 4),
]
CN = "Nova Helio Brand Vertex Lumen Arco Sigma Tern Polar Quanta Mira Onda Fjord Cobalt Zenit Alto".split()
CS = {
    "Legal": ["Law", "& Partners", "Legal"],
    "Pharma": ["Pharma", "Biotech", "Labs"],
    "E-commerce": ["Shop", "Retail", "Store"],
    "Engineering": ["Systems", "Engineering", "Motors"],
    "Tourism": ["Travel", "Resorts"],
    "Public sector": ["Agency", "Institute"],
}
MGR = ["Hannah Keller", "Omar Aziz", "Lucia Ferreira", "Patrick Walsh"]
clients = []
used = set()
while len(clients) < 58:
    s = R.choices([x[0] for x in SEC], [x[1] for x in SEC])[0]
    n = R.choice(CN) + " " + R.choice(CS[s])
    if n in used:
        continue
    used.add(n)
    ctry = R.choices(["Germany", "France", "Spain", "UK", "Sweden", "USA"], [30, 18, 14, 20, 7, 11])[0]
    mgr = R.choices(MGR, [4, 3, 3, 2])[0]
    clients.append((f"CL{len(clients) * 4 + 103}", n, s, ctry, mgr, R.choice([14, 30, 30, 45, 60])))
    con.execute("INSERT INTO Clients VALUES (?,?,?,?,?,?)", clients[-1])
cw = [0 if i in (7, 19, 33, 50) else min(6, R.paretovariate(1.2)) for i in range(len(clients))]
PAIRS = [
    ("EN>DE", 0.17, 20),
    ("DE>EN", 0.165, 16),
    ("EN>FR", 0.16, 13),
    ("FR>EN", 0.155, 8),
    ("EN>ES", 0.14, 12),
    ("ES>EN", 0.14, 6),
    ("EN>SV", 0.19, 5),
    ("DE>FR", 0.18, 5),
    ("EN>JA", 0.23, 4),
    ("EN>FI", 0.2, 0),
]
LN = {"EN": "English", "DE": "German", "FR": "French", "ES": "Spanish", "SV": "Swedish", "JA": "Japanese"}
LN["FI"] = "Finnish"
for p, pr, _ in PAIRS:
    con.execute("INSERT INTO Language_Pairs VALUES (?,?,?,?)", (p, LN[p[:2]], LN[p[3:]], pr))
lings = []
for i, n in enumerate(names.people(R, 46)):
    nat = R.choices(["EN", "DE", "FR", "ES", "SV", "JA"], [13, 11, 10, 7, 3, 2])[0]
    if i < 6:
        nat = ["EN", "DE", "FR", "ES", "SV", "JA"][i]
    rate = round(R.gauss({"SV": 0.11, "JA": 0.13}.get(nat, 0.085), 0.01), 3)
    q = round(min(5, R.gauss(4.2, 0.4)), 2) if R.random() > 0.08 else None
    on = date(2016, 1, 1) + timedelta(R.randint(0, 2100))
    act = "Y" if i < 6 or R.random() < 0.88 else "N"
    based = R.choice(["Berlin", "Madrid", "Lyon", "London", "Remote", "Remote", "Stockholm"])
    w = 0 if i in (13, 27) else R.uniform(0.3, 2)
    lings.append((i + 1, nat, rate, w))
    con.execute(
        "INSERT INTO Linguists VALUES (?,?,?,?,?,?,?,?)",
        (i + 1, n, LN[nat], based, rate, q, on.isoformat(), act),
    )
DOM = {
    "Legal": ["Contracts", "Litigation"],
    "Pharma": ["Clinical trials", "Regulatory"],
    "E-commerce": ["Product texts", "Marketing"],
    "Engineering": ["Manuals", "Patents"],
    "Tourism": ["Marketing", "Web content"],
    "Public sector": ["Reports", "Web content"],
}
SV = [
    ("Translation", 62, 1),
    ("Post-editing", 20, 0.6),
    ("Proofreading", 13, 0.35),
    ("Transcreation", 5, 1.6),
]
days = [date(2022, 1, 3) + timedelta(x) for x in range(1092)]
days = [x for x in days if x.weekday() < 5]
dw = [(0.7 if x.month in (8, 12) else 1) * (1 + 0.1 * (x.year - 2022)) for x in days]
inv = 0
for j, d in enumerate(sorted(R.choices(days, dw, k=1680))):
    c = R.choices(clients, cw)[0]
    p = R.choices(PAIRS, [x[2] for x in PAIRS])[0]
    lg = [x for x in lings if x[1] == p[0][3:]]
    lg = R.choices(lg, [x[3] for x in lg])[0]
    s = R.choices(SV, [x[1] + (9 * (d.year - 2022) if x[0] == "Post-editing" else 0) for x in SV])[0]
    words = int(max(120, R.lognormvariate(7.6 if c[2] != "Tourism" else 6.8, 0.8)))
    rush = R.random() < 0.14
    price = round(p[1] * s[2] * (1.25 if rush else 1) * R.choice([0.92, 0.96, 1, 1, 1.04]), 3)
    due = d + timedelta(max(1, int(words / (2600 if rush else 1500))) + R.randint(0 if rush else 1, 3))
    late = 40 if d > date(2024, 12, 12) else 0
    st = R.choices(["Delivered", "Cancelled", "In progress"], [95, 5, late])[0]
    dl = due + timedelta(R.choices([-2, -1, 0, 1, 2, 5], [6, 16, 62, 9, 5, 2])[0])
    dl = max(dl, d)
    total = round(words * price, 2)
    ok = st == "Delivered"
    con.execute(
        "INSERT INTO Jobs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            22001 + j,
            c[0],
            lg[0],
            p[0],
            s[0],
            R.choice(DOM[c[2]]),
            d.isoformat(),
            due.isoformat(),
            dl.isoformat() if ok else None,
            words,
            price,
            total,
            round(words * lg[2] * s[2], 2) if st != "Cancelled" else 0.0,
            "Y" if rush else "N",
            st,
            R.choices([5, 4, 3, 2, 1], [45, 33, 14, 5, 3])[0] if ok and R.random() < 0.55 else None,
        ),
    )
    if ok and (d < date(2024, 12, 10) or R.random() < 0.5):
        inv += 1
        idt = dl + timedelta(R.randint(0, 10))
        vat = round(total * 0.19, 2) if c[3] == "Germany" else 0.0
        paid = idt + timedelta(max(1, int(R.gauss(c[5] + 2, 9))))
        unpaid = R.random() < 0.03 or paid > date(2025, 1, 15)
        con.execute(
            "INSERT INTO Invoices VALUES (?,?,?,?,?,?)",
            (
                f"INV-{idt.year}-{inv:04d}",
                22001 + j,
                idt.isoformat(),
                total,
                vat,
                None if unpaid else paid.isoformat(),
            ),
        )
con.commit()
con.close()
