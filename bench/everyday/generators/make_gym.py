import sys, os, csv, random
from datetime import datetime, date, timedelta

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names import people

r = random.Random(5202)
out = sys.argv[1]
clubs = ["Mitte", "Neukölln", "Prenzlauer Berg", "Spandau", "Charlottenburg"]
cw = [33, 24, 20, 9, 14]
fee = {"Basic": "24,90", "Standard": "39,90", "Premium": "64,50", "Student": "19,90", "Family": "79,00"}
pw = [30, 34, 14, 17, 5]
act = {"Weights": 30, "Cardio": 26, "Yoga": 13, "Spinning": 11, "Swimming": 9, "CrossFit": 7, "Pilates": 4}
base = {
    "Weights": (68, 6.6),
    "Cardio": (48, 9.4),
    "Yoga": (60, 3.6),
    "Spinning": (50, 11.2),
    "Swimming": (55, 8.9),
    "CrossFit": (62, 11.9),
    "Pilates": (54, 4.3),
}
M = []
for i, n in enumerate(people(r, 210)):
    pl = r.choices(list(fee), pw)[0]
    by = r.randint(1998, 2005) if pl == "Student" else int(min(2003, max(1948, r.gauss(1984, 11))))
    j = date(2021, 3, 1) + timedelta(days=r.randint(0, 1150))
    M.append(
        dict(
            id="M%04d" % (1001 + i * 3),
            n=n,
            g=r.choices(["F", "M", "D"], [49, 49, 2])[0],
            by=by,
            pl=pl,
            club=r.choices(clubs, cw)[0],
            j=j,
            w=min(r.paretovariate(1.25), 10),
            fav=r.choices(list(act), list(act.values()))[0],
            can=r.random() < 0.22,
        )
    )
mon = [1.6, 1.3, 1.1, 1, 0.95, 0.85, 0.7, 0.68, 1.05, 1.0, 0.95, 0.7]
wd = [1.5, 1.3, 1.25, 1.05, 0.85, 0.8, 0.6]
hw = [5, 8, 9, 6, 4, 4, 6, 5, 4, 5, 8, 15, 18, 12, 7, 2]
V = []
ws = [m["w"] for m in M]
while len(V) < 5200:
    m = r.choices(M, ws)[0]
    d = date(2022, 1, 1) + timedelta(days=r.randint(0, 911))
    if d < m["j"] or r.random() > mon[d.month - 1] * wd[d.weekday()] / 2.4 * (0.7 + 0.12 * (d.year - 2022)):
        continue
    h = r.choices(range(6, 22), hw)[0]
    V.append((datetime(d.year, d.month, d.day, h, r.randint(0, 59)), m))
V.sort(key=lambda x: (x[0], x[1]["id"]))
f = open(os.path.join(out, "gym.csv"), "w", newline="", encoding="utf-8")
w = csv.writer(f, delimiter=";", lineterminator="\n")
w.writerow(
    [
        "Visit No",
        "Member ID",
        "Member Name",
        "Gender",
        "Birth Year",
        "Plan",
        "Monthly Fee (EUR)",
        "Join Date",
        "Membership Status",
        "Club",
        "Check-in",
        "Check-out",
        "Activity",
        "Calories Burned",
        "Avg Heart Rate",
        "Shop Spend (EUR)",
        "Personal Trainer",
        "Rating",
    ]
)
k = 100000
for t, m in V:
    k += r.randint(1, 3)
    a = m["fav"] if r.random() < 0.45 else r.choices(list(act), list(act.values()))[0]
    du = max(12, int(r.gauss(base[a][0], 14)))
    cal = int(du * base[a][1] * r.uniform(0.85, 1.15))
    sp = r.choice([0, 0, 0, 0, 0, 0, 0, 2.5, 3.2, 4.9, 6.75, 1.8]) + (
        r.choice([24.9, 39.95]) if r.random() < 0.02 else 0
    )
    club = m["club"] if r.random() < 0.85 else r.choices(clubs, cw)[0]
    pt = "yes" if r.random() < (0.3 if m["pl"] == "Premium" else 0.05) else "no"
    hr = int(min(188, max(78, 70 + base[a][1] * 6.2 + r.gauss(0, 9)))) if r.random() < 0.72 else ""
    rt = (
        r.choices([1, 2, 3, 4, 5], [3, 6, 17, 42, 32] if club != "Spandau" else [9, 15, 27, 31, 18])[0]
        if r.random() < 0.4
        else ""
    )
    w.writerow(
        [
            k,
            m["id"],
            m["n"],
            m["g"],
            m["by"],
            m["pl"],
            fee[m["pl"]],
            m["j"],
            "cancelled" if m["can"] else "active",
            club,
            t.strftime("%Y-%m-%d %H:%M"),
            (t + timedelta(minutes=du)).strftime("%Y-%m-%d %H:%M") if r.random() > 0.03 else "",
            a,
            cal if r.random() > 0.04 else "",
            hr,
            ("%.2f" % sp).replace(".", ","),
            pt,
            rt,
        ]
    )
f.close()
