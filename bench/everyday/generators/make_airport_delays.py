import csv, random, sys, os, math, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4102)
AP = {
    "VIE": (48.1, 16.6),
    "MUC": (48.35, 11.8),
    "FRA": (50.0, 8.6),
    "CDG": (49.0, 2.5),
    "LHR": (51.5, -0.45),
    "BCN": (41.3, 2.1),
    "ZRH": (47.5, 8.5),
    "CPH": (55.6, 12.65),
    "WAW": (52.2, 21.0),
    "FCO": (41.8, 12.2),
}
W = {"VIE": 9, "MUC": 14, "FRA": 19, "CDG": 12, "LHR": 16, "BCN": 8, "ZRH": 6, "CPH": 5, "WAW": 4, "FCO": 7}
C = [
    ("Nordwind Air", 22, 4, "NW", 0.9),
    ("AlpenJet", 17, 2, "AJ", 0.75),
    ("EuroSky", 31, 7, "ES", 1.15),
    ("BlueFin Airways", 12, 3, "BF", 0.95),
    ("Iberica Express", 10, 11, "IX", 1.5),
    ("Vistula Airlines", 6, 5, "VA", 1.05),
]
AC = [("A320", 180), ("A321", 220), ("B737-800", 189), ("E190", 106), ("A220-300", 145), ("CRJ-900", 90)]


def dist(a, b):
    la, lo = map(math.radians, AP[a])
    lb, lp = map(math.radians, AP[b])
    return int(
        6371 * math.acos(math.sin(la) * math.sin(lb) + math.cos(la) * math.cos(lb) * math.cos(lo - lp))
    )


rows = []
d0 = dt.date(2023, 1, 1)
fn = {}
days = [d0 + dt.timedelta(i) for i in range(731)]
dw = [
    (1 + 0.3 * math.cos(2 * math.pi * (x.timetuple().tm_yday - 200) / 365))
    * {0: 1.06, 1: 0.9, 2: 0.93, 3: 1.0, 4: 1.22, 5: 0.84, 6: 1.1}[x.weekday()]
    * (1.13 if x.year == 2024 else 1)
    for x in days
]
pick = sorted(R.choices(days, dw, k=5600))
for d in pick:
    c = R.choices(C, [x[1] for x in C])[0]
    o = R.choices(list(W), list(W.values()))[0]
    e = R.choices(list(W), list(W.values()))[0]
    while e == o or dist(o, e) < 150:
        e = R.choices(list(W), list(W.values()))[0]
    k = (c[3], o, e)
    if k not in fn:
        fn[k] = f"{c[3]}{100 + len(fn) * 3 + 1}"
    a = R.choices(AC, [30, 16, 26, 11, 10, 7])[0]
    hr = R.choices(range(6, 23), [10, 14, 13, 9, 8, 7, 7, 7, 6, 6, 8, 10, 12, 11, 8, 5, 3])[0]
    sd = dt.datetime(d.year, d.month, d.day, hr, R.choice(range(0, 60, 5)))
    km = dist(o, e)
    blk = int((35 + km / 12.2) // 5 * 5) + 5
    sa = sd + dt.timedelta(minutes=blk)
    summer = d.month in (6, 7, 8)
    winter = d.month in (12, 1, 2)
    canc = R.random() < 0.013 * c[4] * (2.1 if winter else 1) * (1.6 if o == "LHR" else 1)
    cause = ""
    dd = None
    ad = aa = ""
    ard = None
    pax = ""
    lf = min(
        1,
        max(0.35, R.gauss(0.8 + (0.07 if summer else 0) - (0.05 if c[0] == "Vistula Airlines" else 0), 0.11)),
    )
    if canc:
        cause = R.choices(["Weather", "Technical", "Crew", "Strike"], [45 if winter else 20, 25, 14, 12])[0]
    else:
        p = 0.3 * c[4] * (1.3 if summer else 1) * (1 + (hr - 6) * 0.03) * (1.2 if o in ("LHR", "CDG") else 1)
        if R.random() < p:
            cause = R.choices(
                ["Late inbound aircraft", "Weather", "Technical", "Air traffic control", "Crew", "Security"],
                [34, 24 if winter else 12, 13, 28 if summer else 17, 8, 4],
            )[0]
            dd = int(15 + R.expovariate(1 / (26 + c[2])) * (1.45 if cause == "Technical" else 1))
        else:
            dd = int(R.gauss(2, 5))
            dd = min(14, max(-12, dd))
        ard = dd + int(R.gauss(-4, 7))
        ad = (sd + dt.timedelta(minutes=dd)).strftime("%Y-%m-%d %H:%M:%S")
        aa = (sa + dt.timedelta(minutes=ard)).strftime("%Y-%m-%d %H:%M:%S")
        pax = int(a[1] * lf)
    rows.append(
        [
            d.isoformat(),
            fn[k],
            c[0],
            o,
            e,
            sd.strftime("%Y-%m-%d %H:%M:%S"),
            ad,
            sa.strftime("%Y-%m-%d %H:%M:%S"),
            aa,
            "" if dd is None else dd,
            "" if ard is None else ard,
            cause,
            1 if canc else 0,
            km,
            a[0],
            a[1],
            pax,
        ]
    )
rows.sort(key=lambda r: (r[5], r[1]))
with open(os.path.join(out, "airport_delays.csv"), "w", newline="", encoding="utf-8") as fh:
    w = csv.writer(fh)
    w.writerow(
        "flight_date flight_no carrier origin dest sched_dep actual_dep sched_arr actual_arr dep_delay_min arr_delay_min delay_cause cancelled distance_km aircraft_type seats pax".split()
    )
    w.writerows(rows)
