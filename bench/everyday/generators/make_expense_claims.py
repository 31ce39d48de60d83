#!/usr/bin/env python3
"""expense_claims.csv: expense lines of a company's staff, as the finance tool exports them."""

import csv, os, random, sys
from datetime import date, timedelta

import names

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(7303)
DEPT = [
    ("CC-110", "Sales", 30),
    ("CC-120", "Marketing", 14),
    ("CC-210", "Engineering", 20),
    ("CC-220", "Customer Support", 8),
    ("CC-310", "Finance", 7),
    ("CC-320", "HR", 5),
    ("CC-410", "Operations", 12),
]
CATS = [
    # type, weight, median, spread, VAT rate
    ("Air travel", 11, 310, 0.5, 0),
    ("Hotel", 15, 165, 0.35, 0.10),
    ("Taxi", 14, 24, 0.5, 0.10),
    ("Ride-hailing", 10, 19, 0.5, 0.10),
    ("Train", 12, 58, 0.6, 0.10),
    ("Meals - client", 12, 92, 0.5, 0.20),
    ("Meals - own", 14, 22, 0.4, 0.20),
    ("Office supplies", 6, 35, 0.8, 0.20),
    ("Software", 5, 79, 0.9, 0.20),
    ("Mileage", 7, 40, 0.6, 0),
    ("Training", 2, 480, 0.5, 0.20),
]
staff = []
for i, n in enumerate(names.people(R, 74)):
    d = R.choices(DEPT, [x[2] for x in DEPT])[0]
    staff.append((f"E{1040 + i * 7}", n, d, R.paretovariate(1.8) * (2.4 if d[1] == "Sales" else 1)))
BOSS = {d[0]: b for d, b in zip(DEPT, names.people(R, len(DEPT)))}
days = [date(2023, 7, 1) + timedelta(i) for i in range(731)]
wd = [
    (0.25 if d.weekday() > 4 else 1) * (0.6 if d.month in (8, 12) else 1) * (1.1 if d.year == 2024 else 1)
    for d in days
]
rows = []
for i, d in enumerate(sorted(R.choices(days, wd, k=3120))):
    s = R.choices(staff, [min(x[3], 8) for x in staff])[0]
    w = [c[1] * (0.3 if c[0].startswith("Air") and s[2][1] in ("HR", "Finance") else 1) for c in CATS]
    c = R.choices(CATS, w)[0]
    net = round(R.lognormvariate(0, c[3]) * c[2] * (1.06 if d.year == 2025 else 1), 2)
    km = ""
    if c[0] == "Mileage":
        km = R.randint(18, 420)
        net = round(km * 0.42, 2)
    vat = round(net * c[4], 2)
    st = R.choices(["Paid", "Approved", "Submitted", "Rejected", "Query"], [84, 3, 2, 7, 4])[0]
    if d > date(2025, 6, 1):
        st = R.choices(["Paid", "Approved", "Submitted", "Rejected", "Query"], [20, 30, 36, 6, 8])[0]
    sub = d + timedelta(R.choices([R.randint(0, 6), R.randint(7, 28), R.randint(29, 90)], [40, 45, 15])[0])
    paid = sub + timedelta(R.randint(4, 31)) if st == "Paid" else None
    rec = "N" if R.random() < (0.12 if net < 30 else 0.04) else "Y"
    if c[0] == "Mileage":
        rec = ""
    rows.append(
        [
            f"X{200000 + i * 3}",
            s[0],
            s[1],
            s[2][0],
            s[2][1],
            d.strftime("%Y-%m-%d"),
            sub.strftime("%Y-%m-%d"),
            c[0],
            R.choices(["DE", "FR", "UK", "US", "NL", "AT"], [38, 17, 16, 9, 12, 8])[0],
            net,
            vat,
            round(net + vat, 2),
            km,
            rec,
            R.choices(["Corp card", "Own money"], [57, 43])[0] if c[0] != "Mileage" else "Own money",
            st,
            BOSS[s[2][0]] if st in ("Paid", "Approved", "Rejected") else "",
            paid.strftime("%Y-%m-%d") if paid else "",
        ]
    )
head = (
    "Line ID;Emp No;Employee;CostCtr;Dept;Exp Date;Submitted On;Expense Type;Ctry;Net Amt EUR;VAT EUR"
    ";Gross Amt EUR;KM;Receipt?;Paid With;Claim Status;Approver;Reimbursed On"
)
with open(os.path.join(out, "expense_claims.csv"), "w", newline="", encoding="utf-8") as fh:
    w = csv.writer(fh)
    w.writerow(head.split(";"))
    w.writerows(rows)
