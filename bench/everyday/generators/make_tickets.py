"""Customer support tickets and agents -> tickets.csv, agents.csv"""

import csv, os, random, sys
from datetime import datetime, timedelta, date

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(1618)
AN = [
    ("Priya Raman", "Billing"),
    ("Tom Becker", "Technical"),
    ("Maria Souza", "Technical"),
    ("Jake Donnelly", "Billing"),
    ("Aiko Tanaka", "Technical"),
    ("Chidi Okafor", "Account Services"),
    ("Laura Bianchi", "Shipping"),
    ("Henrik Olsen", "Technical"),
    ("Fatima Zahra", "Billing"),
    ("Ben Carver", "Shipping"),
    ("Grace Lim", "Technical"),
    ("Diego Paredes", "Account Services"),
    ("Nora Feldman", "Billing"),
    ("Sam Whitaker", "Shipping"),
    ("Yuki Mori", "Technical"),
    ("Olga Petrova", "Technical"),
    ("Ravi Menon", "Account Services"),
    ("Emily Stone", "Shipping"),
    ("Pedro Alves", "Technical"),
    ("Hannah Cole", "Billing"),
    ("Kwesi Addo", "Technical"),
    ("Ingrid Dahl", "Account Services"),
    ("Marcus Reid", "Shipping"),
    ("Zoe Chan", "Technical"),
    ("Liam Hurst", "Billing"),
    ("Anouk Visser", "Technical"),
    ("Carlos Mena", "Shipping"),
    ("Tara Singh", "Account Services"),
]
REG = [
    "EMEA",
    "EMEA",
    "Americas",
    "Americas",
    "APAC",
    "EMEA",
    "EMEA",
    "EMEA",
    "EMEA",
    "Americas",
    "APAC",
    "Americas",
    "Americas",
    "EMEA",
    "APAC",
    "EMEA",
    "APAC",
    "Americas",
    "Americas",
    "EMEA",
    "EMEA",
    "EMEA",
    "Americas",
    "APAC",
    "EMEA",
    "EMEA",
    "Americas",
    "APAC",
]
agents = []
for i, ((n, t), r) in enumerate(zip(AN, REG)):
    lvl = R.choices(["Junior", "Senior", "Lead"], [5, 4, 1.3])[0]
    hire = (
        date(2017, 3, 1) + timedelta(days=R.randint(0, 1750))
        if i < 25
        else date(2024, 11, 4) + timedelta(days=7 * (i - 25))
    )
    agents.append(
        [
            f"A{101 + i}",
            n,
            t,
            r,
            lvl if i < 25 else "Junior",
            hire.isoformat(),
            {"Junior": 19, "Senior": 27, "Lead": 35}[lvl if i < 25 else "Junior"]
            + R.choice([0, 0.5, 1, 1.5, 2]),
            "no" if i % 6 == 3 else "yes",
        ]
    )
aw = {
    a[0]: R.uniform(0.5, 1.7) * (0.55 if a[7] == "no" else 1) * (0 if i >= 26 else 1)
    for i, a in enumerate(agents)
}
q = {a[0]: R.gauss(0, 0.35) for a in agents}
CAT = {
    "Billing": [("Refund request", 9), ("Invoice question", 8), ("Payment failed", 7)],
    "Technical": [
        ("Login problem", 13),
        ("Bug report", 12),
        ("Slow performance", 6),
        ("Integration help", 5),
    ],
    "Account Services": [("Cancel subscription", 5), ("Change plan", 4), ("Update details", 4)],
    "Shipping": [("Delivery delayed", 10), ("Damaged item", 5), ("Wrong item", 3)],
}
cats = [(t, c, w) for t, l in CAT.items() for c, w in l]
SUB = {
    "Refund request": ["I want my money back", "Refund for order", "Please refund duplicate charge"],
    "Invoice question": ["Question about my invoice", "VAT on invoice wrong", "Need a copy of invoice"],
    "Payment failed": ["Card declined", "Payment not going through"],
    "Login problem": ["Cannot log in", "Password reset mail never arrives", "Locked out of account"],
    "Bug report": ["App crashes on start", "Export button does nothing", "Error 500 when saving"],
    "Slow performance": ["Dashboard very slow", "Pages take forever to load"],
    "Integration help": ["API key not working", "How to connect Slack?"],
    "Cancel subscription": ["Please cancel my plan", "Cancel before renewal"],
    "Change plan": ["Upgrade to Pro", "Downgrade my plan"],
    "Update details": ["Change my email address", "New company address"],
    "Delivery delayed": ["Where is my parcel?", "Order still not delivered"],
    "Damaged item": ["Item arrived broken", "Box was crushed"],
    "Wrong item": ["Received the wrong product"],
}
days = [date(2022, 7, 1) + timedelta(days=i) for i in range(915)]
dw = [
    {0: 1.45, 1: 1.25, 2: 1.12, 3: 1.08, 4: 0.98, 5: 0.5, 6: 0.42}[d.weekday()]
    * {
        1: 1.2,
        2: 1,
        3: 0.95,
        4: 0.9,
        5: 0.88,
        6: 0.85,
        7: 0.82,
        8: 0.8,
        9: 0.95,
        10: 1.05,
        11: 1.3,
        12: 1.42,
    }[d.month]
    * {2022: 0.8, 2023: 1, 2024: 1.22}[d.year]
    * (
        0.25
        if (d.month, d.day) in ((12, 24), (12, 25), (12, 26), (1, 1))
        else 3.4
        if d == date(2023, 11, 27)
        else 1
    )
    for d in days
]
end = datetime(2024, 12, 31, 23, 59, 59)
hw = [2, 1, 1, 1, 1, 2, 4, 8, 14, 19, 21, 18, 15, 17, 18, 16, 13, 10, 8, 7, 6, 5, 4, 3]
stamps = sorted(
    datetime(d.year, d.month, d.day, R.choices(range(24), hw)[0], R.randint(0, 59), R.randint(0, 59))
    for d in R.choices(days, dw, k=5260)
)
rows = []
for i, c in enumerate(stamps):
    team, cat, _ = R.choices(cats, [w for _, _, w in cats])[0]
    pr = R.choices(
        ["low", "normal", "high", "urgent"], [22, 50, 20, 8] if team != "Technical" else [15, 45, 27, 13]
    )[0]
    ch = R.choices(
        ["email", "chat", "phone", "web form", "social"], [41, 27 if c.year > 2022 else 17, 18, 11, 3.5]
    )[0]
    pool = [a for a in agents if a[2] == team and aw[a[0]] > 0 and a[5] <= c.date().isoformat()]
    if R.random() < 0.08:
        pool = [a for a in agents if aw[a[0]] > 0 and a[5] <= c.date().isoformat()]
    a = R.choices(pool, [aw[x[0]] for x in pool])[0]
    un = R.random() < 0.022
    fr = c + timedelta(
        minutes=max(
            1,
            R.lognormvariate(
                {"chat": 1.6, "phone": 1.1, "email": 5.1, "web form": 5.3, "social": 4.2}[ch], 0.75
            )
            * {"low": 1.5, "normal": 1, "high": 0.6, "urgent": 0.3}[pr],
        ),
        seconds=R.randint(0, 59),
    )
    rs = fr + timedelta(
        hours=R.lognormvariate(2.7, 0.85)
        * {"low": 1.6, "normal": 1.1, "high": 0.75, "urgent": 0.38}[pr]
        * {"Junior": 1.2, "Senior": 0.9, "Lead": 0.75}[a[4]]
        * (1.5 if cat == "Bug report" else 1)
        * (0.45 if ch in ("chat", "phone") else 1),
        seconds=R.randint(0, 3599),
    )
    st = "closed" if (end - c).days > 30 else "resolved"
    frs, rss = fr, rs
    if un:
        frs = fr if R.random() < 0.4 else None
        rss = None
        st = "open"
    elif R.random() < 0.03:
        rss = None
        st = R.choice(["open", "pending", "pending"])
    if rss and rss > end:
        rss = None
        st = "pending"
    if frs and frs > end:
        frs = None
        st = "open"
        rss = None
    cs = ""
    if rss and R.random() < 0.46:
        hrs = (rss - c).total_seconds() / 3600
        cs = int(
            min(
                5,
                max(
                    1,
                    round(
                        R.gauss(
                            4.25
                            + q[a[0]]
                            - 0.012 * min(hrs, 120)
                            - (0.3 if cat in ("Refund request", "Damaged item") else 0),
                            0.95,
                        )
                    ),
                ),
            )
        )
    reo = int(bool(rss) and R.random() < (0.13 if cat == "Bug report" else 0.06))
    rep = max(1, int(R.lognormvariate(1.0, 0.55) + (1 if ch == "chat" else 0) + reo * 2)) if frs else 0
    f = lambda t: t.strftime("%Y-%m-%d %H:%M:%S") if t else ""
    rows.append(
        [
            f"T-{100001 + i}",
            f(c),
            f(frs),
            f(rss),
            pr,
            ch,
            cat,
            R.choice(SUB[cat]),
            f"C{R.randint(1, 1500) if R.random() < 0.6 else int(1 + 1500 * R.random() ** 3):05d}",
            R.choices(["Free", "Basic", "Pro", "Enterprise"], [30, 34, 25, 11])[0],
            st,
            "" if un else a[0],
            rep,
            reo,
            cs,
        ]
    )


def wr(n, h, rr):
    with open(os.path.join(out, n), "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow(h)
        w.writerows(rr)


wr(
    "tickets.csv",
    [
        "ticket_id",
        "created_at",
        "first_response_at",
        "resolved_at",
        "priority",
        "channel",
        "category",
        "subject",
        "customer_id",
        "plan",
        "status",
        "agent_id",
        "num_replies",
        "reopened",
        "csat_score",
    ],
    rows,
)
wr(
    "agents.csv",
    ["agent_id", "agent_name", "team", "region", "level", "hire_date", "hourly_rate_usd", "full_time"],
    agents,
)
