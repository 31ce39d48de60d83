import csv, random, sys, os, math, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4103)
D = {
    "Altstadt": (30, ["Marktgasse", "Domplatz", "Lange Strasse", "Brunnengasse", "Rathausplatz"]),
    "Bahnhof": (22, ["Bahnhofstrasse", "Postweg", "Gleisallee"]),
    "Hafen": (13, ["Am Kai", "Speicherstrasse", "Werftweg"]),
    "Nordstadt": (11, ["Lindenallee", "Kirchweg", "Schulstrasse"]),
    "Universitaet": (16, ["Campusring", "Humboldtstrasse", "Mensaweg"]),
    "Westend": (8, ["Parkallee", "Goethestrasse", "Rosenweg"]),
}
V = [
    ("Expired meter", 36, 22.5),
    ("No ticket displayed", 27, 28.0),
    ("No parking zone", 14, 55.0),
    ("Blocking driveway", 6, 70.0),
    ("Disabled bay", 3.5, 110.0),
    ("Fire lane", 2.5, 135.5),
    ("Resident zone", 11, 37.5),
]
OFF = [
    ("P-101", 19),
    ("P-104", 15),
    ("P-107", 13),
    ("P-112", 22),
    ("P-115", 8),
    ("P-118", 11),
    ("P-121", 6),
    ("P-126", 4),
]
days = [dt.date(2022, 1, 1) + dt.timedelta(i) for i in range(1096)]
dw = [
    {0: 0.95, 1: 1.0, 2: 1.05, 3: 1.12, 4: 1.3, 5: 1.42, 6: 0.28}[x.weekday()]
    * (1 + 0.22 * math.cos(2 * math.pi * (x.timetuple().tm_yday - 345) / 365))
    * {2022: 0.86, 2023: 1.0, 2024: 1.2}[x.year]
    for x in days
]
de = lambda x: "" if x is None else ("%.2f" % x).replace(".", ",")
dd = lambda x: x.strftime("%d.%m.%Y") if x else ""
rows = []
n = 500000
for d in sorted(R.choices(days, dw, k=4300)):
    n += R.randint(1, 6)
    dis = R.choices(list(D), [v[0] for v in D.values()])[0]
    st = R.choices(D[dis][1], [5, 3, 2, 1.4, 1][: len(D[dis][1])])[0]
    wts = [v[1] for v in V]
    if dis == "Westend" or dis == "Nordstadt":
        wts[6] *= 2.5
    if dis == "Hafen":
        wts[5] *= 3
    v = R.choices(V, wts)[0]
    fine = round(v[2] * {2022: 1, 2023: 1, 2024: 1.1}[d.year], 2)
    if R.random() < 0.07:
        fine = round(fine * 1.5, 2)  # repeat offender
    over = int(R.expovariate(1 / 48) + 4) if v[0] == "Expired meter" else None
    veh = R.choices(["Car", "Van", "Motorbike", "Truck", "Camper"], [74, 14, 5, 4, 3])[0]
    ctry = R.choices(["D", "NL", "A", "PL", "F", "CH"], [79, 7, 5, 4, 3, 2])[0]
    app = R.random() < (0.13 if fine > 60 else 0.06)
    res = R.choices(["rejected", "reduced", "cancelled", ""], [52, 20, 22, 6])[0] if app else ""
    ppaid = {"D": 0.87, "NL": 0.66, "A": 0.74, "PL": 0.55, "F": 0.6, "CH": 0.7}[ctry] - (
        0.09 if veh == "Truck" else 0
    )
    paid = R.random() < ppaid and res != "cancelled"
    lag = int(R.expovariate(1 / 19) + 1) if paid else None
    pd = d + dt.timedelta(lag) if paid else None
    late = None
    if lag and lag > 30:
        late = 12.5
    elif not paid and res != "cancelled":
        late = 25.0
    ch = R.choices(["Online", "Bank transfer", "App", "Cash desk"], [41, 27, 24, 8])[0] if paid else ""
    hr = R.choices(range(7, 21), [2, 5, 8, 11, 12, 10, 9, 10, 11, 10, 8, 6, 4, 2])[0]
    rows.append(
        [
            f"T{n}",
            dd(d),
            "%02d:%02d" % (hr, R.randrange(60)),
            dis,
            st,
            v[0],
            de(fine),
            de(late),
            "" if over is None else over,
            veh,
            ctry,
            R.choices([o[0] for o in OFF], [o[1] for o in OFF])[0],
            "Yes" if paid else "No",
            dd(pd),
            ch,
            "Yes" if app else "No",
            res,
        ]
    )
with open(os.path.join(out, "parking.csv"), "w", newline="", encoding="utf-8") as fh:
    w = csv.writer(fh, delimiter=";")
    w.writerow(
        [
            "TicketNo",
            "IssueDate",
            "IssueTime",
            "District",
            "Street",
            "Violation",
            "Fine (EUR)",
            "Late Fee (EUR)",
            "Overstay (min)",
            "VehicleType",
            "PlateCountry",
            "OfficerID",
            "Paid",
            "PaymentDate",
            "PaymentChannel",
            "Appealed",
            "AppealResult",
        ]
    )
    w.writerows(rows)
