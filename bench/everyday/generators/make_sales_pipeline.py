import sys, os, csv, random
from datetime import date, timedelta

out = sys.argv[1]
r = random.Random(6303)
OW = [
    ("Anna Lindqvist", 20, 1.25),
    ("Bruno Keller", 17, 0.9),
    ("Carla Mendes", 14, 1.1),
    ("Dirk Vos", 13, 0.75),
    ("Eszter Nagy", 11, 1.35),
    ("Farid Benali", 9, 1),
    ("Greta Holm", 8, 0.85),
    ("Hannes Wolf", 5, 0.6),
]
IND = [
    ("Manufacturing", 24, 1.5),
    ("Retail", 19, 0.7),
    ("Healthcare", 15, 1.2),
    ("Software", 14, 0.9),
    ("Logistics", 11, 1),
    ("Education", 7, 0.5),
    ("Energy", 6, 2.2),
    ("Public Sector", 4, 1.8),
]
SRC = [
    ("Website", 28, 0.8),
    ("Referral", 18, 1.7),
    ("Trade Fair", 14, 1.1),
    ("Cold Call", 16, 0.5),
    ("LinkedIn", 13, 0.9),
    ("Partner", 11, 1.4),
]
CO = [
    ("Germany", 38),
    ("Austria", 14),
    ("Switzerland", 12),
    ("Netherlands", 11),
    ("France", 10),
    ("Italy", 8),
    ("Poland", 7),
]
PR = [("Starter", 38, 4200), ("Professional", 34, 14500), ("Enterprise", 18, 52000), ("Consulting", 10, 9800)]
A = "Alpen Nord Rhein Blau Gold Stern Adler Linden Berg Hansa Nova Delta Omni Terra Vita Kronos Helio Astra Primus Quanta Sigma Turm Wald Falken Eiche".split()
B = "Technik Handel Logistik Systeme Pharma Energie Werke Medien Bau Solutions Foods Textil".split()
C = ["GmbH", "AG", "SE", "B.V.", "SA"]
accs = []
while len(accs) < 240:
    n = f"{r.choice(A)}{r.choice(B).lower()} {r.choices(C, [6, 3, 1, 1.5, 1])[0]}"
    if n not in [a[0] for a in accs]:
        i = r.choices(IND, [x[1] for x in IND])[0]
        accs.append(
            (
                n,
                i,
                r.choices(CO, [x[1] for x in CO])[0][0],
                int(min(9000, max(6, r.lognormvariate(4.7, 1.2)))) if r.random() < 0.92 else "",
                r.lognormvariate(0, 0.9),
            )
        )
aw = [a[4] for a in accs]
rows = []
end = date(2024, 12, 31)
days = [date(2022, 1, 3) + timedelta(i) for i in range(1090)]
dwt = [
    (0 if d.weekday() > 5 else 0.15 if d.weekday() == 5 else 1)
    * [0.9, 1, 1.25, 1.05, 1.1, 0.95, 0.6, 0.5, 1.2, 1.25, 1.15, 0.7][d.month - 1]
    * (1 + 0.2 * (d.year - 2022))
    for d in days
]
for _ in range(1850):
    a = r.choices(accs, aw)[0]
    o = r.choices(OW, [x[1] for x in OW])[0]
    s = r.choices(SRC, [x[1] for x in SRC])[0]
    p = r.choices(PR, [x[1] for x in PR])[0]
    cr = r.choices(days, dwt)[0]
    amt = round(p[2] * a[1][2] ** 0.5 * r.lognormvariate(0, 0.45), 2)
    cyc = int(
        max(
            5,
            r.lognormvariate(
                {"Starter": 3.4, "Professional": 4.0, "Enterprise": 4.7, "Consulting": 3.7}[p[0]], 0.5
            ),
        )
    )
    cl = cr + timedelta(cyc)
    if cl <= end and r.random() < 0.95:
        pw = min(0.9, 0.36 * o[2] * s[2] ** 0.7)
        st = "Won" if r.random() < pw else "Lost"
        prob = 100 if st == "Won" else 0
        lr = (
            r.choices(
                ["Price", "Competitor", "No budget", "No decision", "Missing feature"], [30, 25, 20, 16, 9]
            )[0]
            if st == "Lost" and r.random() < 0.88
            else ""
        )
    else:
        st = r.choices(["Lead", "Qualified", "Proposal", "Negotiation"], [34, 28, 22, 16])[0]
        prob = {"Lead": 10, "Qualified": 25, "Proposal": 50, "Negotiation": 75}[st] + r.choice([-5, 0, 0, 5])
        cl = None
        lr = ""
    if st == "Lead" and r.random() < 0.3:
        amt = None
    rows.append(
        (
            cr,
            cl,
            a,
            o[0],
            s[0] if r.random() < 0.97 else "",
            p[0],
            amt,
            st,
            prob,
            lr,
            r.choices(["Yes", "No"], [22, 78])[0] if st in ("Won",) else "No",
            max(1, int(r.gauss(6, 3))),
        )
    )
rows.sort(key=lambda x: (x[0], x[2][0]))
f2 = lambda d: d.strftime("%d.%m.%Y") if d else ""
with open(os.path.join(out, "sales_pipeline.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        [
            "Deal ID",
            "Account",
            "Industry",
            "Country",
            "Employees",
            "Owner",
            "Lead Source",
            "Product",
            "Stage",
            "Amount (EUR)",
            "Probability %",
            "Created Date",
            "Closed Date",
            "Lost Reason",
            "Upsell",
            "# Meetings",
        ]
    )
    for i, (cr, cl, a, o, s, p, amt, st, prob, lr, up, mt) in enumerate(rows):
        w.writerow(
            [
                f"D-{20001 + i}",
                a[0],
                a[1][0],
                a[2],
                a[3],
                o,
                s,
                p,
                st,
                "" if amt is None else f"{amt:.2f}".replace(".", ","),
                prob,
                f2(cr),
                f2(cl),
                lr,
                up,
                mt,
            ]
        )
