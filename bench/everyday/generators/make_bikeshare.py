import sys, os, csv, random
from datetime import datetime, timedelta

out = sys.argv[1]
r = random.Random(6101)
ST = [
    ("Central Station", 15),
    ("Market Square", 12),
    ("University Library", 11),
    ("Harbour Front", 10),
    ("City Park North", 8),
    ("Tech Campus", 7.5),
    ("Museum Quarter", 6),
    ("Riverside Mall", 5.5),
    ("Old Mill", 5),
    ("Opera House", 4.2),
    ("Lakeside", 4),
    ("Hospital East", 3.4),
    ("West End", 2.9),
    ("Botanical Garden", 2.4),
    ("Football Stadium", 1.9),
    ("Zoo", 1.5),
    ("Airport Shuttle Stop", 0.8),
]
names = [s for s, _ in ST]
W = {
    "annual": [w for _, w in ST],
    "monthly": [
        w * (1.9 if s in ("Tech Campus", "University Library", "Hospital East") else 1) for s, w in ST
    ],
    "casual": [
        w * (2.2 if s in ("Harbour Front", "City Park North", "Lakeside", "Zoo", "Botanical Garden") else 0.7)
        for s, w in ST
    ],
}
seas = [0.35, 0.4, 0.7, 1, 1.3, 1.55, 1.7, 1.6, 1.25, 0.9, 0.55, 0.38]
hours = [1, 0.5, 0.3, 0.2, 0.4, 1.5, 4, 8, 11, 6, 4.5, 5, 6.5, 6, 5.5, 6.5, 9, 13, 10, 7, 5, 4, 3, 2]
days = [
    datetime(2022, 3, 1) + timedelta(d)
    for d in range((datetime(2024, 12, 31) - datetime(2022, 3, 1)).days + 1)
]
dw = [
    seas[d.month - 1] * (1 + 0.28 * (d.year - 2022)) * [1, 1.02, 1.08, 1.05, 1.12, 0.95, 0.78][d.weekday()]
    for d in days
]
bikes = [f"B-{i:03d}" for i in range(101, 221)]
bw = [r.uniform(0.3, 2.4) for _ in bikes]
ebike = set(r.sample(bikes, 46))
rows = []
for _ in range(4200):
    d = r.choices(days, dw)[0]
    s = d + timedelta(hours=r.choices(range(24), hours)[0], minutes=r.randrange(60), seconds=r.randrange(60))
    wk = d.weekday() >= 5
    m = r.choices(["annual", "monthly", "casual"], [5, 2.4, 4.4 if wk else 1.9])[0]
    b = r.choices(bikes, bw)[0]
    t = "e-bike" if b in ebike else "classic"
    a = r.choices(names, W[m])[0]
    e = r.choices(names, W[m])[0]
    base = {"annual": 2.6, "monthly": 3.0, "casual": 4.3}[m] * (1.45 if t == "e-bike" else 1)
    dist = round(max(0.3, r.lognormvariate(0, 0.55) * base), 2)
    speed = (15.5 if t == "e-bike" else 11.5) * r.uniform(0.7, 1.15) * (0.8 if m == "casual" else 1)
    secs = int(dist / speed * 3600 + r.randint(40, 240))
    mins = secs / 60
    rate = 0.22 if t == "e-bike" else 0.14
    fare = (
        (1 + rate * mins)
        if m == "casual"
        else max(0, mins - (45 if m == "annual" else 30)) * rate + (0.5 if t == "e-bike" else 0)
    )
    rating = (
        r.choices([1, 2, 3, 4, 5], [3, 5, 12, 35, 45] if t == "e-bike" else [5, 9, 22, 38, 26])[0]
        if r.random() < 0.47
        else ""
    )
    by = int(min(2008, max(1945, r.gauss(1991 if m == "casual" else 1986, 11)))) if r.random() < 0.9 else ""
    h = "yes" if r.random() < {"annual": 0.06, "monthly": 0.1, "casual": 0.23}[m] else "no"
    en = s + timedelta(seconds=secs)
    if r.random() < 0.004:
        e = en = dist = fare = ""
    elif r.random() < 0.018:
        e = ""
    rows.append([s, en, a, e, b, t, m, by, dist, fare if fare == "" else f"{fare:.2f}", h, rating])
rows.sort(key=lambda x: x[0])
with open(os.path.join(out, "bikeshare.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        "trip_id,started_at,ended_at,start_station,end_station,bike_id,bike_type,member_type,birth_year,distance_km,fare_eur,helmet_rented,rating".split(
            ","
        )
    )
    for i, x in enumerate(rows):
        w.writerow([100001 + i] + [str(v) for v in x])
