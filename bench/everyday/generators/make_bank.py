#!/usr/bin/env python3
"""bank.sqlite: a small retail bank."""

import sys, os, random, sqlite3, math
from datetime import date, timedelta, datetime

R = random.Random(4101)
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
path = os.path.join(out, "bank.sqlite")
if os.path.exists(path):
    os.remove(path)
con = sqlite3.connect(path)
con.executescript("""
CREATE TABLE branches (branch_id INTEGER PRIMARY KEY, branch_name TEXT NOT NULL, city TEXT, region TEXT, opened_on DATE, staff_count INTEGER, has_safe_deposit INTEGER);
CREATE TABLE clients (client_id INTEGER PRIMARY KEY, full_name TEXT NOT NULL, gender TEXT, birth_date DATE, home_city TEXT, segment TEXT, annual_income REAL, credit_score INTEGER, email TEXT, marketing_opt_in INTEGER, joined_on DATE);
CREATE TABLE accounts (account_id INTEGER PRIMARY KEY, account_no TEXT UNIQUE, client_id INTEGER NOT NULL REFERENCES clients(client_id), branch_id INTEGER NOT NULL REFERENCES branches(branch_id), account_type TEXT, status TEXT, opened_on DATE, closed_on DATE, balance REAL, overdraft_limit REAL);
CREATE TABLE transactions (txn_id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts(account_id), txn_at DATETIME, txn_type TEXT, channel TEXT, category TEXT, amount REAL, is_disputed INTEGER);
CREATE TABLE cards (card_id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts(account_id), card_type TEXT, network TEXT, issued_on DATE, expires_on DATE, credit_limit REAL, blocked INTEGER);
CREATE TABLE loans (loan_id INTEGER PRIMARY KEY, client_id INTEGER NOT NULL REFERENCES clients(client_id), branch_id INTEGER NOT NULL REFERENCES branches(branch_id), purpose TEXT, status TEXT, applied_on DATE, approved_on DATE, principal REAL, interest_rate REAL, term_months INTEGER, missed_payments INTEGER);
""")
BR = [
    ("Leeds Headrow", "Leeds", "North", 24, 9),
    ("Leeds Roundhay", "Leeds", "North", 9, 3.2),
    ("Manchester Deansgate", "Manchester", "North", 31, 12),
    ("Liverpool Dock", "Liverpool", "North", 14, 5),
    ("Birmingham New Street", "Birmingham", "Midlands", 27, 8.3),
    ("Nottingham Lace Market", "Nottingham", "Midlands", 11, 4.1),
    ("Coventry Broadgate", "Coventry", "Midlands", 7, 2.4),
    ("London Bank", "London", "South", 46, 14.5),
    ("London Camden", "London", "South", 22, 7.2),
    ("Bristol Harbourside", "Bristol", "South", 15, 5.6),
    ("Cardiff Bay", "Cardiff", "Wales", 12, 3.7),
    ("Swansea Marina", "Swansea", "Wales", 6, 1.6),
]
bo = [
    date(1974, 5, 6),
    date(1998, 9, 14),
    date(1968, 3, 4),
    date(1989, 10, 2),
    date(1971, 1, 18),
    date(1993, 6, 7),
    date(2006, 4, 3),
    date(1959, 8, 24),
    date(2011, 2, 21),
    date(1996, 11, 11),
    date(2003, 7, 1),
    date(2015, 5, 18),
]
for i, b in enumerate(BR):
    con.execute(
        "INSERT INTO branches VALUES (?,?,?,?,?,?,?)",
        (i + 1, b[0], b[1], b[2], bo[i].isoformat(), b[3], int(i in (0, 2, 4, 7, 9))),
    )
bw = [b[4] for b in BR]
fm = "Oliver George Harry Noah Jack Arthur Muhammad Leo Oscar Charlie Jacob Thomas Henry William Alfie Joshua Freddie Archie Theo Isaac James Adam Ethan Rhys Owen Callum Declan Imran Rajesh Stuart".split()
ff = "Olivia Amelia Isla Ava Mia Ivy Lily Grace Sophie Willow Freya Florence Emily Ella Poppy Evie Charlotte Daisy Sienna Phoebe Megan Cerys Aisha Priya Fatima Hannah Zoe Chloe Ruth Moira".split()
ln = "Smith Jones Taylor Brown Williams Wilson Johnson Davies Patel Robinson Wright Thompson Evans Walker White Roberts Green Hall Wood Jackson Clarke Khan Hughes Edwards Turner Morris Cooper Ward Begum Hill Baker Ahmed Singh Murphy Shah Carter Mitchell Parker Bennett Cook Bailey Shaw Marshall Collins Richardson O'Brien Ellis Fox Chapman Osborne".split()
cities = [
    ("Leeds", 15),
    ("Manchester", 16),
    ("Liverpool", 7),
    ("Birmingham", 12),
    ("Nottingham", 6),
    ("Coventry", 4),
    ("London", 26),
    ("Bristol", 8),
    ("Cardiff", 6),
    ("Swansea", 3),
    ("Sheffield", 4),
    ("Bath", 2),
]
names = set()
clients = []
for i in range(1, 601):
    g = R.choices(["F", "M"], [51, 49])[0]
    while True:
        n = R.choice(ff if g == "F" else fm) + " " + R.choice(ln)
        if n not in names:
            names.add(n)
            break
    seg = R.choices(["Mass", "Affluent", "Private", "Student"], [62, 21, 5, 12])[0]
    by = {"Mass": (1948, 1999), "Affluent": (1950, 1990), "Private": (1942, 1985), "Student": (2000, 2006)}[
        seg
    ]
    bd = date(R.randint(*by), 1, 1) + timedelta(days=R.randint(0, 364))
    inc = R.lognormvariate({"Mass": 10.25, "Affluent": 11.1, "Private": 12.2, "Student": 8.9}[seg], 0.32)
    inc = round(inc, -2)
    sc = int(
        max(
            310,
            min(
                998,
                R.gauss({"Mass": 640, "Affluent": 735, "Private": 800, "Student": 590}[seg], 75)
                + (inc - 30000) / 4000,
            ),
        )
    )
    jd = (
        date(2012, 1, 1) + timedelta(days=int((R.random() ** 0.75) * 4600))
        if seg != "Student"
        else date(2019, 8, 1) + timedelta(days=R.randint(0, 1850))
    )
    em = (
        None
        if R.random() < 0.085
        else n.lower().replace(" ", ".").replace("'", "")
        + "@"
        + R.choices(["gmail.com", "outlook.com", "btinternet.com", "yahoo.co.uk"], [5, 3, 1, 1.5])[0]
    )
    if R.random() < 0.04:
        incv = None
    else:
        incv = inc
    clients.append(
        [
            i,
            n,
            g if R.random() > 0.015 else None,
            bd.isoformat(),
            R.choices([c[0] for c in cities], [c[1] for c in cities])[0],
            seg,
            incv,
            sc if R.random() > 0.03 else None,
            em,
            int(R.random() < (0.58 if seg in ("Student", "Affluent") else 0.37)),
            jd.isoformat(),
        ]
    )
con.executemany("INSERT INTO clients VALUES (?,?,?,?,?,?,?,?,?,?,?)", clients)
home = {
    "Leeds": [1, 2],
    "Manchester": [3],
    "Liverpool": [4],
    "Birmingham": [5],
    "Nottingham": [6],
    "Coventry": [7],
    "London": [8, 9],
    "Bristol": [10],
    "Bath": [10],
    "Cardiff": [11],
    "Swansea": [12],
    "Sheffield": [1],
}
accounts = []
aid = 1000
END = date(2024, 12, 31)
for c in clients:
    seg = c[5]
    if R.random() < 0.045:
        continue  # client without an account (loan-only or lead)
    k = R.choices(
        [1, 2, 3, 4],
        {
            "Mass": [62, 30, 7, 1],
            "Affluent": [30, 45, 20, 5],
            "Private": [12, 38, 35, 15],
            "Student": [84, 15, 1, 0],
        }[seg],
    )[0]
    types = []
    for j in range(k):
        if j == 0:
            t = "Student" if seg == "Student" else R.choices(["Current", "Joint"], [85, 15])[0]
        else:
            t = R.choices(["Savings", "Business", "Current"], [70, 18 if seg != "Student" else 0, 12])[0]
        aid += 1
        jd = date.fromisoformat(c[10])
        od = (
            jd
            if j == 0
            else jd
            + timedelta(days=R.randint(20, max(30, (END - jd).days - 5) if (END - jd).days > 40 else 30))
        )
        if od > END:
            od = END - timedelta(days=R.randint(1, 20))
        if od >= date(2024, 12, 20):
            od = date(2024, 12, 1)
        st = R.choices(["active", "dormant", "closed"], [84, 8, 8])[0]
        cd = None
        if st == "closed":
            lo = max(od + timedelta(days=30), date(2021, 6, 1))
            if lo > END - timedelta(days=40):
                st = "active"
            else:
                cd = lo + timedelta(days=R.randint(0, (END - lo).days))
        bal = R.lognormvariate(
            {"Current": 7.4, "Joint": 7.9, "Savings": 9.0, "Business": 9.4, "Student": 6.1}[t]
            + {"Mass": 0, "Affluent": 0.7, "Private": 1.9, "Student": -0.3}[seg],
            0.95,
        )
        if t in ("Current", "Student", "Business") and R.random() < 0.09:
            bal = -R.uniform(10, 900)
        if st == "closed":
            bal = 0.0
        ov = (
            None
            if t == "Savings"
            else R.choice([0, 250, 500, 1000, 1500] if t != "Business" else [2000, 5000, 10000])
        )
        br = R.choice(home[c[4]]) if R.random() < 0.8 else R.choices(range(1, 13), bw)[0]
        accounts.append(
            [
                aid,
                "40-%02d-%02d-%06d" % (R.randint(10, 60), R.randint(10, 99), aid * 37 % 1000000),
                c[0],
                br,
                t,
                st,
                od.isoformat(),
                cd and cd.isoformat(),
                round(bal, 2),
                ov,
            ]
        )
con.executemany("INSERT INTO accounts VALUES (?,?,?,?,?,?,?,?,?,?)", accounts)
# transactions
tx = []
act = {
    a[0]: R.paretovariate(1.6) * (0.4 if a[4] == "Savings" else 1.6 if a[4] == "Business" else 1)
    for a in accounts
}
never = set(R.sample([a[0] for a in accounts], 55))
months = [(y, m) for y in (2022, 2023, 2024) for m in range(1, 13)]
mw = [
    (1 + 0.16 * (y - 2022))
    * {
        1: 0.82,
        2: 0.8,
        3: 0.93,
        4: 0.97,
        5: 1.0,
        6: 1.02,
        7: 1.1,
        8: 1.04,
        9: 0.95,
        10: 1.0,
        11: 1.15,
        12: 1.42,
    }[m]
    for y, m in months
]
pool = [a for a in accounts if a[0] not in never]
pw = [min(act[a[0]], 9) for a in pool]
cat = [
    ("Groceries", 30, 3.7),
    ("Dining", 17, 3.3),
    ("Fuel", 11, 3.9),
    ("Rent", 6, 6.7),
    ("Utilities", 10, 4.5),
    ("Travel", 7, 5.5),
    ("Clothing", 9, 4.0),
    ("Entertainment", 8, 3.2),
    ("Health", 4, 4.1),
]
while len(tx) < 5200:
    a = R.choices(pool, pw)[0]
    y, m = R.choices(months, mw)[0]
    d = date(y, m, 1) + timedelta(days=R.randint(0, 30))
    if d.month != m:
        continue
    if d.weekday() == 6 and R.random() < 0.45:
        continue
    if d.weekday() == 4 and R.random() < 0.0:
        continue
    if d < date.fromisoformat(a[6]) or (a[7] and d > date.fromisoformat(a[7])):
        continue
    if a[4] == "Savings":
        t = R.choices(["deposit", "withdrawal", "transfer", "fee"], [52, 20, 26, 2])[0]
    else:
        t = R.choices(["payment", "deposit", "withdrawal", "transfer", "fee"], [54, 17, 13, 12, 4])[0]
    c = None
    if t == "payment":
        k = R.choices(cat, [x[1] * (1.9 if x[0] == "Travel" and m in (6, 7, 8) else 1) for x in cat])[0]
        c = k[0]
        amt = R.lognormvariate(k[2], 0.5)
        ch = R.choices(["POS", "Online", "Mobile app"], [52, 27 + 6 * (y - 2022), 21 + 6 * (y - 2022)])[0]
    elif t == "deposit":
        amt = R.lognormvariate(6.6, 0.8)
        ch = R.choices(["Branch", "Online", "Mobile app", "ATM"], [30, 38, 20, 12])[0]
    elif t == "withdrawal":
        amt = R.choice([10, 20, 20, 30, 40, 50, 50, 60, 80, 100, 100, 150, 200, 250, 300])
        ch = R.choices(["ATM", "Branch"], [86, 14])[0]
    elif t == "transfer":
        amt = R.lognormvariate(5.8, 0.9)
        ch = R.choices(["Online", "Mobile app", "Branch"], [45, 47, 8])[0]
    else:
        amt = R.choice([2.5, 5, 5, 7.5, 12, 15, 25])
        ch = "Online"
    if a[4] == "Business":
        amt *= 2.2 if t in ("deposit", "transfer", "payment") else 1
    h = R.choices(
        range(24),
        [1, 0.5, 0.3, 0.2, 0.3, 0.8, 2, 4, 6, 8, 9, 10, 12.8, 11, 9, 8.6, 9.4, 10.6, 9.2, 7, 5.4, 4, 3, 1.6],
    )[0]
    if c and R.random() < 0.03:
        c = None
    tx.append(
        [
            a[0],
            "%s %02d:%02d:%02d" % (d.isoformat(), h, R.randint(0, 59), R.randint(0, 59)),
            t,
            ch,
            c,
            round(amt, 2),
            int(R.random() < (0.031 if ch == "Online" else 0.009)),
        ]
    )
tx.sort(key=lambda r: r[1])
con.executemany(
    "INSERT INTO transactions VALUES (?,?,?,?,?,?,?,?)", [[50001 + i] + r for i, r in enumerate(tx)]
)
# cards
cid = 7000
for a in accounts:
    if a[4] == "Savings" or R.random() < 0.1:
        continue
    for ct in ["debit"] + (["credit"] if R.random() < (0.42 if a[4] != "Student" else 0.12) else []):
        cid += 1
        od = date.fromisoformat(a[6])
        lo = max(od, date(2020, 1, 6))
        iss = lo + timedelta(days=R.randint(0, max(1, (END - lo).days)))
        ex = date(iss.year + R.choice([3, 4, 4, 5]), iss.month, 28)
        con.execute(
            "INSERT INTO cards VALUES (?,?,?,?,?,?,?,?)",
            (
                cid,
                a[0],
                ct,
                R.choices(["Visa", "Mastercard", "Amex"], [58, 37, 0] if ct == "debit" else [38, 43, 19])[0],
                iss.isoformat(),
                ex.isoformat(),
                None
                if ct == "debit"
                else float(
                    R.choices(
                        [500, 1000, 1500, 2500, 4000, 6000, 10000],
                        {
                            "Mass": [9, 20, 24, 24, 15, 6, 2],
                            "Affluent": [1, 5, 12, 22, 28, 21, 11],
                            "Private": [0, 0, 2, 8, 20, 30, 40],
                            "Student": [55, 30, 15, 0, 0, 0, 0],
                        }[clients[a[2] - 1][5]],
                    )[0]
                ),
                int(R.random() < 0.061),
            ),
        )
# loans
pur = [
    ("Car", 30, 9.3, (24, 36, 48, 60), 6.9),
    ("Home improvement", 21, 9.5, (36, 48, 60, 84), 6.1),
    ("Debt consolidation", 17, 9.1, (36, 48, 60), 9.4),
    ("Mortgage", 14, 12.1, (240, 300, 360), 4.4),
    ("Wedding", 7, 8.9, (24, 36, 48), 8.2),
    ("Education", 11, 8.9, (36, 60, 84), 5.2),
]
lid = 300
for i in range(380):
    c = R.choices(
        clients, [{"Mass": 1, "Affluent": 1.5, "Private": 0.8, "Student": 0.35}[x[5]] for x in clients]
    )[0]
    p = R.choices(pur, [x[1] for x in pur])[0]
    lid += 1
    ap = date(2021, 1, 4) + timedelta(days=int(1440 * R.random() ** 0.9))
    sc = c[7] or 640
    st = R.choices(
        ["active", "paid off", "defaulted", "rejected", "pending"],
        [52, 19, max(1.5, (760 - sc) / 22), max(3, (730 - sc) / 12), 1 if ap < date(2024, 10, 1) else 25],
    )[0]
    lag = max(1, int(R.lognormvariate({"Mortgage": 3.4, "Car": 1.7}.get(p[0], 2.1), 0.45)))
    av = (ap + timedelta(days=lag)).isoformat() if st not in ("rejected", "pending") else None
    rate = round(max(1.9, p[4] + (ap.year - 2021) * 0.75 + (650 - sc) / 95 + R.gauss(0, 0.5)), 2)
    br = R.choice(home[c[4]]) if R.random() < 0.7 else R.choices(range(1, 13), bw)[0]
    con.execute(
        "INSERT INTO loans VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (
            lid,
            c[0],
            br,
            p[0],
            st,
            ap.isoformat(),
            av,
            float(round(R.lognormvariate(p[2], 0.4), -2)),
            rate,
            R.choice(p[3]),
            0
            if st in ("rejected", "pending")
            else R.choices([0, 1, 2, 3, 5], [74, 14, 7, 3, 2] if st != "defaulted" else [0, 0, 4, 6, 9])[0],
        ),
    )
con.commit()
con.close()
