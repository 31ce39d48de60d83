"""flights.sqlite: airlines, airports, aircraft, flights, delays (2022-2023)"""

import random, sqlite3, sys, os, math
from datetime import datetime, timedelta, date

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4101)
path = os.path.join(out, "flights.sqlite")
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path)
db.executescript("""
CREATE TABLE airlines (airline_code TEXT PRIMARY KEY, airline_name TEXT NOT NULL, home_country TEXT, founded INTEGER, is_low_cost INTEGER NOT NULL);
CREATE TABLE airports (airport_code TEXT PRIMARY KEY, airport_name TEXT, city TEXT, country TEXT, elevation_ft INTEGER, latitude REAL, longitude REAL);
CREATE TABLE aircraft (tail_number TEXT PRIMARY KEY, airline_code TEXT REFERENCES airlines(airline_code), manufacturer TEXT, model TEXT, seats INTEGER, delivered_on TEXT);
CREATE TABLE flights (flight_id INTEGER PRIMARY KEY, flight_no TEXT, airline_code TEXT REFERENCES airlines(airline_code),
 tail_number TEXT REFERENCES aircraft(tail_number), origin TEXT REFERENCES airports(airport_code), destination TEXT REFERENCES airports(airport_code),
 sched_dep TEXT, sched_arr TEXT, status TEXT, dep_delay_min INTEGER, arr_delay_min INTEGER, passengers INTEGER, distance_km INTEGER, ticket_revenue_eur REAL);
CREATE TABLE delays (delay_id INTEGER PRIMARY KEY, flight_id INTEGER REFERENCES flights(flight_id), cause TEXT, minutes INTEGER, remark TEXT);
""")
AL = [
    ("AV", "Avalon Airways", "United Kingdom", 1968, 0, 0.22, 4, 0.9),
    ("BJ", "BlueJay", "Ireland", 1999, 1, 0.25, 11, 1.25),
    ("CR", "Corona Air", "Spain", 1984, 0, 0.12, 8, 1.0),
    ("DL", "Delphi Airlines", "Greece", 1975, 0, 0.06, 13, 1.2),
    ("EU", "EuroHop", "Germany", 2006, 1, 0.16, 7, 1.1),
    ("FN", "Fjordline Air", "Denmark", 1991, 0, 0.09, 2, 0.7),
    ("HV", "Helvetia Wings", "Switzerland", 2002, 0, 0.07, 1, 0.6),
    ("LU", "Lusitano", "Portugal", 1979, 0, 0.03, 9, 1.0),
]
for a in AL:
    db.execute("INSERT INTO airlines VALUES (?,?,?,?,?)", a[:5])
AP = [
    ("LHR", "London Heathrow", "London", "United Kingdom", 83, 51.47, -0.4543, 16),
    ("MAN", "Manchester Airport", "Manchester", "United Kingdom", 257, 53.3537, -2.275, 7),
    ("DUB", "Dublin Airport", "Dublin", "Ireland", 242, 53.4213, -6.2701, 9),
    ("CDG", "Paris Charles de Gaulle", "Paris", "France", 392, 49.0097, 2.5479, 13),
    ("NCE", "Nice Cote d'Azur", "Nice", "France", 12, 43.6584, 7.2159, 4),
    ("AMS", "Amsterdam Schiphol", "Amsterdam", "Netherlands", -11, 52.3105, 4.7683, 12),
    ("FRA", "Frankfurt Airport", "Frankfurt", "Germany", 364, 50.0379, 8.5622, 11),
    ("MUC", "Munich Airport", "Munich", "Germany", 1487, 48.3537, 11.775, 8),
    ("MAD", "Madrid Barajas", "Madrid", "Spain", 2001, 40.4983, -3.5676, 10),
    ("BCN", "Barcelona El Prat", "Barcelona", "Spain", 12, 41.2974, 2.0833, 9),
    ("PMI", "Palma de Mallorca", "Palma", "Spain", 27, 39.5517, 2.7388, 5),
    ("LIS", "Lisbon Airport", "Lisbon", "Portugal", 374, 38.7742, -9.1342, 5),
    ("FCO", "Rome Fiumicino", "Rome", "Italy", 15, 41.8003, 12.2389, 7),
    ("ZRH", "Zurich Airport", "Zurich", "Switzerland", 1416, 47.4582, 8.5555, 6),
    ("VIE", "Vienna International", "Vienna", "Austria", 600, 48.1103, 16.5697, 4),
    ("CPH", "Copenhagen Kastrup", "Copenhagen", "Denmark", 17, 55.6181, 12.656, 6),
    ("ATH", "Athens International", "Athens", "Greece", 308, 37.9364, 23.9445, 5),
    ("GVA", "Geneva Airport", "Geneva", "Switzerland", 1411, 46.2381, 6.1089, 0),
    ("OPO", "Porto Airport", "Porto", "Portugal", 228, 41.2481, -8.6814, 0),
]
for a in AP:
    db.execute("INSERT INTO airports VALUES (?,?,?,?,?,?,?)", a[:7])
pos = {a[0]: (a[5], a[6]) for a in AP}


def km(a, b):
    (p, q), (r, s) = pos[a], pos[b]
    p, q, r, s = map(math.radians, (p, q, r, s))
    return int(
        6371
        * 2
        * math.asin(
            math.sqrt(math.sin((r - p) / 2) ** 2 + math.cos(p) * math.cos(r) * math.sin((s - q) / 2) ** 2)
        )
    )


MODELS = [
    ("Airbus", "A320", 180),
    ("Airbus", "A321neo", 220),
    ("Boeing", "737-800", 189),
    ("Embraer", "E190", 104),
    ("Airbus", "A319", 144),
    ("ATR", "ATR 72-600", 70),
    ("Boeing", "737 MAX 8", 197),
]
fleet = {}
mix = {
    "AV": [0, 0, 1, 4, 4],
    "BJ": [2, 2, 2, 6],
    "CR": [0, 0, 1, 3],
    "DL": [0, 4, 5],
    "EU": [0, 0, 4, 1],
    "FN": [3, 3, 0, 5],
    "HV": [3, 4, 0],
    "LU": [4, 5],
}
seen = set()
for a in AL:
    n = max(3, int(a[5] * 60))
    fleet[a[0]] = []
    for i in range(n):
        m = MODELS[R.choice(mix[a[0]])]
        while True:
            t = (
                {
                    "AV": "G",
                    "BJ": "EI",
                    "CR": "EC",
                    "DL": "SX",
                    "EU": "D",
                    "FN": "OY",
                    "HV": "HB",
                    "LU": "CS",
                }[a[0]]
                + "-"
                + "".join(R.choice("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(3))
            )
            if t not in seen:
                seen.add(t)
                break
        d = date(2003, 1, 1) + timedelta(days=R.randrange(0, 6700))
        db.execute(
            "INSERT INTO aircraft VALUES (?,?,?,?,?,?)",
            (t, a[0], m[0], m[1], m[2], d.isoformat() if R.random() > 0.05 else None),
        )
        fleet[a[0]].append((t, m[2]))
base = {
    "AV": "LHR",
    "BJ": "DUB",
    "CR": "MAD",
    "DL": "ATH",
    "EU": "FRA",
    "FN": "CPH",
    "HV": "ZRH",
    "LU": "LIS",
}
codes = [a[0] for a in AP]
w = [a[7] for a in AP]
monthw = [0.72, 0.70, 0.85, 0.97, 1.05, 1.2, 1.38, 1.42, 1.15, 1.0, 0.78, 0.92]
days = [date(2022, 1, 1) + timedelta(days=i) for i in range(730)]
dw = [
    monthw[d.month - 1]
    * (1.0 if d.year == 2022 else 1.17)
    * [1.05, 0.9, 0.93, 1.03, 1.25, 0.86, 1.12][d.weekday()]
    for d in days
]
hours = list(range(6, 23))
hw = [6, 9, 9, 7, 6, 5, 5, 5, 5, 6, 7, 9, 9, 6, 5, 3, 2]
recs = []
idle = {fleet["AV"][-1][0], fleet["BJ"][3][0], fleet["DL"][0][0]}
routeno = {}
for _ in range(5000):
    d = R.choices(days, dw)[0]
    a = R.choices(AL, [x[5] for x in AL])[0]
    c = a[0]
    hub = base[c]
    o = hub if R.random() < 0.42 else R.choices(codes, w)[0]
    de = o
    while de == o:
        de = hub if (R.random() < 0.45 and o != hub) else R.choices(codes, w)[0]
    dist = km(o, de)
    seats = 0
    while True:
        t, seats = R.choice(fleet[c])
        if t not in idle:
            break
    dep = datetime(d.year, d.month, d.day, R.choices(hours, hw)[0], R.choice(range(0, 60, 5)))
    block = int(round((35 + dist / 12.2 + R.randrange(-4, 9)) / 5) * 5)
    recs.append((dep, a, c, o, de, dist, t, seats, block))
recs.sort(key=lambda r: (r[0], r[2], r[3], r[4]))
delays = []
did = 1
for i, (dep, a, c, o, de, dist, t, seats, block) in enumerate(recs):
    fid = 10001 + i
    no = routeno.setdefault((c, o, de), f"{c}{100 + len(routeno)}")
    winter = dep.month in (12, 1, 2)
    summer = dep.month in (6, 7, 8)
    pc = 0.018 + (0.022 if winter else 0) + (0.008 if c == "BJ" else 0)
    u = R.random()
    status = "Cancelled" if u < pc else ("Diverted" if u < pc + 0.006 else "Completed")
    load = min(
        1,
        max(0.32, R.gauss(0.78 + (0.09 if summer else -0.05 if winter else 0) + (0.06 if a[4] else 0), 0.11)),
    )
    pax = int(seats * load)
    if status == "Cancelled":
        dd = ad = None
        pax = None
        rev = None
    else:
        if R.random() < 0.27 * a[7] * (1.3 if summer else 1) * (1.2 if dep.hour >= 17 else 0.9):
            dd = int(16 + R.expovariate(1 / (24 * a[7] + 8)))
        else:
            dd = int(max(-9, min(15, R.gauss(a[6] / 3, 4.5))))
        ad = dd + int(R.gauss(-3, 6))
        if status == "Diverted":
            ad += R.randrange(45, 150)
        rev = round(
            pax
            * (28 + dist * 0.055)
            * (0.72 if a[4] else 1.2)
            * (1.22 if summer else 1)
            * R.uniform(0.85, 1.2),
            2,
        )
    if status != "Cancelled" and R.random() < 0.012:
        pax = None
    db.execute(
        "INSERT INTO flights VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            fid,
            no,
            c,
            t,
            o,
            de,
            dep.strftime("%Y-%m-%d %H:%M:%S"),
            (dep + timedelta(minutes=block)).strftime("%Y-%m-%d %H:%M:%S"),
            status,
            dd,
            ad,
            pax,
            dist,
            rev,
        ),
    )
    if dd is not None and dd > 15:
        cw = {
            "Weather": 14 + (16 if winter else 0),
            "Air traffic control": 20 + (12 if summer else 0),
            "Technical": 17,
            "Crew": 11,
            "Late inbound aircraft": 34,
            "Security": 3,
        }
        n = 1 if R.random() < 0.72 else 2
        cs = []
        while len(cs) < n:
            x = R.choices(list(cw), list(cw.values()))[0]
            if x not in cs:
                cs.append(x)
        parts = [dd] if n == 1 else [int(dd * R.uniform(0.25, 0.75))]
        if n == 2:
            parts.append(dd - parts[0])
        for x, m in zip(cs, parts):
            rem = (
                R.choice(
                    {
                        "Weather": ["fog", "thunderstorms", "strong crosswind", "de-icing"],
                        "Air traffic control": ["slot restriction", "airspace congestion"],
                        "Technical": ["hydraulic check", "tyre change", "sensor fault"],
                        "Crew": ["crew rest", "late crew bus"],
                        "Late inbound aircraft": ["rotation delay"],
                        "Security": ["bag search", "screening queue"],
                    }[x]
                )
                if R.random() < 0.55
                else None
            )
            delays.append((did, fid, x, m, rem))
            did += 1
db.executemany("INSERT INTO delays VALUES (?,?,?,?,?)", delays)
db.commit()
db.close()
