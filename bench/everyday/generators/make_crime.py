import sys, os, csv, random
from datetime import datetime, timedelta

out = sys.argv[1]
R = random.Random(7202)
T = {
    "Theft": (30, 0.11, ["Shoplifting", "Pickpocketing", "Bicycle theft", "Theft from vehicle"], (420, 0.9)),
    "Assault": (17, 0.34, ["Simple", "Aggravated", "With weapon"], None),
    "Vandalism": (14, 0.07, ["Graffiti", "Broken window", "Vehicle damage"], (650, 0.8)),
    "Burglary": (11, 0.13, ["Residential", "Commercial", "Garage"], (2100, 0.8)),
    "Drug Offense": (9, 0.71, ["Possession", "Dealing"], None),
    "Vehicle Theft": (7, 0.16, ["Car", "Motorcycle", "Truck"], (9800, 0.6)),
    "Robbery": (5, 0.27, ["Street", "Armed", "Bank"], (780, 1.0)),
    "Fraud": (4.5, 0.19, ["Credit card", "Online", "Identity"], (1700, 1.1)),
    "Arson": (1.6, 0.22, ["Building", "Vehicle", "Trash container"], (14500, 0.9)),
    "Homicide": (0.7, 0.58, ["First degree", "Manslaughter"], None),
}
D = {
    "Downtown": 26,
    "Harbor": 17,
    "Riverside": 14,
    "Northgate": 12,
    "University": 10,
    "Old Mill": 8,
    "Westfield": 7,
    "Hillcrest": 4,
}
locs = {
    "Street": 34,
    "Residence": 22,
    "Store": 14,
    "Parking Lot": 10,
    "Park": 6,
    "Bar / Restaurant": 7,
    "School": 3,
    "Public Transit": 5,
}
hw = [5, 4, 3.4, 2, 1.2, 1, 1, 1.6, 2.2, 2.6, 3, 3.4, 4, 3.8, 4, 4.6, 5, 5.4, 6, 6.2, 6.4, 6.6, 7.2, 6.4]
mw = [0.82, 0.78, 0.92, 0.98, 1.06, 1.14, 1.28, 1.24, 1.08, 1.02, 0.9, 0.88]
days = [datetime(2021, 1, 1) + timedelta(days=i) for i in range(1461)]
dw = [
    mw[d.month - 1]
    * [0.93, 0.9, 0.92, 0.97, 1.18, 1.24, 1.02][d.weekday()]
    * {2021: 0.9, 2022: 1.02, 2023: 1.15, 2024: 1.04}[d.year]
    for d in days
]
rows = []
for d in sorted(R.choices(days, dw, k=5200)):
    t = R.choices(list(T), [v[0] for v in T.values()])[0]
    wgt, pa, desc, dm = T[t]
    dist = R.choices(
        list(D),
        [
            v
            * (
                1.9
                if (t, k)
                in {
                    ("Drug Offense", "Harbor"),
                    ("Burglary", "Hillcrest"),
                    ("Vehicle Theft", "Westfield"),
                    ("Theft", "University"),
                }
                else 1
            )
            for k, v in D.items()
        ],
    )[0]
    hr = R.choices(range(24), hw)[0]
    o = d.replace(hour=hr, minute=R.choice([0, 0, 0, 5, 10, 15, 20, 30, 30, 40, 45, 50, 55]))
    lag = (
        0
        if t in ("Assault", "Homicide", "Drug Offense", "Robbery") and R.random() < 0.85
        else R.choice([0, 0, 0, 1, 1, 2, 3, 5, 8])
        if t != "Fraud"
        else R.randrange(3, 70)
    )
    arrest = R.random() < pa * (1.25 if dist == "Downtown" else 0.8 if dist == "Harbor" else 1)
    off = max(
        1,
        int(
            R.gauss(
                {"Homicide": 7.5, "Robbery": 3.6, "Arson": 4.2, "Assault": 2.7, "Drug Offense": 2.9}.get(
                    t, 1.6
                ),
                1.1,
            )
            + 0.5
        ),
    )
    dmg = round(R.lognormvariate(__import__("math").log(dm[0]), dm[1]), 2) if dm else None
    if dmg is not None and R.random() < 0.06:
        dmg = None
    stt = (
        "Cleared"
        if arrest and R.random() < 0.86
        else R.choices(["Open", "Closed - no suspect", "Under Review"], [0.42, 0.47, 0.11])[0]
    )
    age = (
        ""
        if R.random() < 0.27 or t in ("Vandalism", "Drug Offense")
        else min(91, max(9, int(R.gauss(38, 15))))
    )
    loc = (
        R.choices(list(locs), list(locs.values()))[0]
        if t != "Burglary"
        else R.choices(["Residence", "Store", "School"], [7, 3, 0.6])[0]
    )
    if R.random() < 0.02:
        loc = ""
    dom = "Y" if t in ("Assault", "Homicide") and R.random() < 0.31 else "N"
    rows.append(
        [
            o,
            t,
            R.choices(desc, [4, 3, 2, 1.5][: len(desc)])[0],
            dist,
            loc,
            "true" if arrest else "false",
            dom,
            off,
            "" if dmg is None else dmg,
            (d + timedelta(days=lag)).strftime("%F"),
            age,
            stt,
            round(
                max(1.5, R.lognormvariate(2.2 if t in ("Homicide", "Robbery", "Assault") else 3.0, 0.5)), 1
            ),
        ]
    )
rows.sort(key=lambda r: r[0])
with open(os.path.join(out, "crime.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        [
            "Case Number",
            "Occurred At",
            "Crime Type",
            "Description",
            "District",
            "Location",
            "Arrest",
            "Domestic",
            "Officers",
            "Damage (USD)",
            "Reported Date",
            "Victim Age",
            "Case Status",
            "Response Time (min)",
        ]
    )
    for i, r in enumerate(rows, 1):
        w.writerow(["%s-%05d" % (r[0].strftime("%y"), 10000 + i), r[0].strftime("%F %H:%M:%S")] + r[1:])
