#!/usr/bin/env python3
"""building_permits.csv: permits of a city's building department."""

import csv, os, random, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(7301)
TYPES = [
    # code, type, weight, log cost, days to issue, fee rate
    ("NB", "New Building", 9, 12.9, 95, 0.011),
    ("ALT", "Alteration", 30, 10.4, 38, 0.012),
    ("ADD", "Addition", 13, 11.2, 52, 0.012),
    ("DEM", "Demolition", 6, 9.6, 30, 0.009),
    ("ROF", "Re-roof", 15, 9.3, 8, 0.008),
    ("ELE", "Electrical", 14, 8.3, 5, 0.015),
    ("PLB", "Plumbing", 10, 8.1, 6, 0.015),
    ("POL", "Pool / Spa", 3, 10.7, 33, 0.013),
]
WARDS = [("Ward 1", 10), ("Ward 2", 17), ("Ward 3", 8), ("Ward 4", 21), ("Ward 5", 13), ("Ward 6", 6)]
CON = [
    ("Hartley & Sons", 14),
    ("Cornerstone Builders", 19),
    ("Blue Ridge Roofing", 11),
    ("Maple Leaf Contracting", 9),
    ("Volt Masters Inc.", 8),
    ("Pinnacle Homes", 12),
    ("Riverside Plumbing Co.", 7),
    ("Ortega Construction", 10),
    ("Summit Renovations", 6),
    ("Greenfield Developments", 5),
    ("A-1 Demolition", 3),
]
INSP = ["D. Quinn", "M. Alvarez", "S. Boateng", "K. Lund", "P. Nakamura"]
days = [date(2022, 1, 3) + timedelta(i) for i in range(365 * 3 - 4)]
days = [d for d in days if d.weekday() < 5]
wd = [
    (1 + 0.45 * (d.month in (4, 5, 6, 7)) - 0.3 * (d.month in (12, 1))) * (1 + 0.09 * (d.year - 2022))
    for d in days
]
rows = []
for i, d in enumerate(sorted(R.choices(days, wd, k=1840))):
    t = R.choices(TYPES, [x[2] for x in TYPES])[0]
    use = R.choices(["Residential", "Commercial", "Industrial", "Institutional"], [68, 22, 6, 4])[0]
    cost = R.lognormvariate(t[3] + (0.7 if use != "Residential" else 0), 0.6)
    cost = int(round(cost, -2)) + 500
    fee = round(max(75, cost * t[5]), 2)
    states = ["Issued", "Finaled", "Under Review", "Denied", "Withdrawn", "Expired"]
    st = R.choices(states, [28, 48, 7, 6, 5, 6])[0]
    if st == "Under Review" and d < date(2024, 6, 1):
        st = "Finaled"
    con = R.choices(CON, [x[1] for x in CON])[0][0]
    if t[0] == "ROF" and R.random() < 0.5:
        con = "Blue Ridge Roofing"
    if t[0] == "ELE" and R.random() < 0.5:
        con = "Volt Masters Inc."
    if t[0] == "PLB" and R.random() < 0.5:
        con = "Riverside Plumbing Co."
    if R.random() < 0.07:
        con = ""
    issued = final = ""
    if st in ("Issued", "Finaled", "Expired"):
        n = max(1, int(R.lognormvariate(0, 0.5) * t[4] * (1.25 if use == "Commercial" else 1)))
        a = d + timedelta(n)
        issued = a.isoformat()
        if st == "Finaled":
            final = (a + timedelta(max(6, int(R.gauss(90, 35))))).isoformat()
    units = ""
    if t[0] == "NB" and use == "Residential":
        units = R.choices([1, 2, 3, 4, 8, 12, 24, 40], [60, 12, 4, 6, 6, 5, 4, 3])[0]
    sq = ""
    if t[0] not in ("ELE", "PLB", "ROF") and R.random() >= 0.05:
        sq = int(max(120, cost / R.uniform(110, 260)))
    rows.append(
        [
            f"BP-{d.year % 100}-{i + 1:05d}",
            t[0],
            t[1],
            use,
            R.choices([w[0] for w in WARDS], [w[1] for w in WARDS])[0],
            d.isoformat(),
            issued,
            final,
            st,
            con,
            cost,
            fee,
            sq,
            units,
            R.choices([0, 1, 2, 3, 4], [30, 34, 21, 10, 5])[0] if issued else 0,
            R.choice(INSP) if issued else "",
        ]
    )
head = [
    "Permit #",
    "Type Code",
    "Permit Type",
    "Use",
    "Ward",
    "Applied Date",
    "Issued Date",
    "Final Date",
    "Status",
    "Contractor",
    "Est. Cost ($)",
    "Fee Paid ($)",
    "Sq Ft",
    "Dwelling Units",
    "Failed Insp.",
    "Inspector",
]
with open(os.path.join(out, "building_permits.csv"), "w", newline="", encoding="utf-8") as fh:
    w = csv.writer(fh)
    w.writerow(head)
    w.writerows(rows)
