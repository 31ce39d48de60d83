import sqlite3, random, sys, os, math, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4105)
p = os.path.join(out, "donations.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE Donors(DonorID INTEGER PRIMARY KEY, DonorName TEXT, DonorType TEXT, City TEXT, Country TEXT, JoinDate TEXT, Newsletter INTEGER, Email TEXT);
CREATE TABLE Campaigns(CampaignID INTEGER PRIMARY KEY, CampaignName TEXT, Cause TEXT, StartDate TEXT, EndDate TEXT, GoalAmount REAL);
CREATE TABLE Gifts(GiftID INTEGER PRIMARY KEY, DonorID INTEGER REFERENCES Donors(DonorID), CampaignID INTEGER REFERENCES Campaigns(CampaignID), GiftDate TEXT, Amount REAL, PaymentMethod TEXT, IsRecurring INTEGER, ThankYouSentDate TEXT);
CREATE TABLE Events(EventID INTEGER PRIMARY KEY, CampaignID INTEGER REFERENCES Campaigns(CampaignID), EventName TEXT, EventType TEXT, EventDate TEXT, Venue TEXT, Cost REAL, Attendees INTEGER, AmountRaised REAL);
CREATE TABLE Volunteers(VolunteerID INTEGER PRIMARY KEY, FullName TEXT, City TEXT, BirthDate TEXT, SignupDate TEXT, Skill TEXT, Active TEXT);
CREATE TABLE Shifts(ShiftID INTEGER PRIMARY KEY, VolunteerID INTEGER REFERENCES Volunteers(VolunteerID), EventID INTEGER REFERENCES Events(EventID), HoursWorked REAL, Role TEXT);
""")
fn = "Alice Brian Chloe Declan Eileen Fergus Gemma Hugh Isla Joan Kieran Laura Martin Niamh Oscar Paula Ronan Sheila Thomas Una Victor Wendy Aoife Barry Ciara Dermot Ella Frank Grainne Hannah".split()
ln = "Byrne Kelly Walsh Murphy Ryan Doyle Nolan Brennan Quinn Moore Clarke Hayes Keane Dunne Foley Power Casey Burke Reid Lynch Whelan Smith Jones Taylor Evans Brown Wilson Davies Khan Singh".split()
CITY = [
    ("Dublin", "Ireland", 30),
    ("Cork", "Ireland", 15),
    ("Galway", "Ireland", 9),
    ("Belfast", "United Kingdom", 11),
    ("London", "United Kingdom", 18),
    ("Manchester", "United Kingdom", 8),
    ("Edinburgh", "United Kingdom", 6),
    ("Boston", "United States", 5),
]
used = set()


def nm():
    while 1:
        s = R.choice(fn) + " " + R.choice(ln)
        if s not in used:
            used.add(s)
            return s


co = [
    "Harbour Bank",
    "Oakfield Foods",
    "Celtic Software",
    "Brightline Energy",
    "Murray & Sons",
    "Greenway Logistics",
    "Northstar Pharma",
    "Tidewater Hotels",
    "Quill Publishing",
    "Summit Insurance",
    "Lakeside Brewery",
    "Atlantic Telecom",
    "Crown Motors",
    "Pebble Design",
    "Horizon Travel",
    "Ironbridge Steel",
    "Fern Cosmetics",
    "Delta Legal",
]
fo = [
    "O'Hara Foundation",
    "Whitfield Trust",
    "The Larch Fund",
    "Cavendish Foundation",
    "Shamrock Trust",
    "Elmwood Foundation",
    "Sinclair Family Fund",
]
D = []
for i in range(1, 361):
    if i <= 18:
        n, t = co[i - 1], "Company"
    elif i <= 25:
        n, t = fo[i - 19], "Foundation"
    else:
        n, t = nm(), "Individual"
    D.append([n, t])
R.shuffle(D)
dn = []
for i, (n, t) in enumerate(D, 1):
    ci = R.choices(CITY, [x[2] for x in CITY])[0]
    j = dt.date(2020, 1, 1) + dt.timedelta(int(1750 * R.random() ** 1.25))
    act = R.lognormvariate(0, 0.9) * (1.5 if t != "Individual" else 1)
    if R.random() < 0.07:
        act = 0
    dn.append((i, n, t, j, act, R.lognormvariate(0, 0.6)))
    c.execute(
        "INSERT INTO Donors VALUES(?,?,?,?,?,?,?,?)",
        (
            i,
            n,
            t,
            ci[0],
            ci[1],
            j.isoformat(),
            int(R.random() < 0.58),
            None
            if R.random() < 0.1
            else n.lower().replace(" ", ".").replace("'", "").replace("&", "and") + "@example.org",
        ),
    )
K = [
    ("Winter Shelter 2021", "Homelessness", "2021-11-01", "2022-02-28", 60000, 1.1),
    ("Books for All", "Education", "2021-02-01", "2021-08-31", 35000, 0.8),
    ("Clean Water Kenya", "Water", "2021-05-01", "2022-12-31", 120000, 1.5),
    ("School Meals", "Education", "2022-01-15", "2022-10-31", 80000, 1.3),
    ("Winter Shelter 2022", "Homelessness", "2022-11-01", "2023-02-28", 70000, 1.6),
    ("Flood Relief", "Emergency", "2023-03-10", "2023-06-30", 90000, 3.2),
    ("Rescue Dogs", "Animals", "2022-04-01", "2023-09-30", 30000, 0.9),
    ("Youth Coding Clubs", "Education", "2023-09-01", "2024-06-30", 45000, 0.7),
    ("Winter Shelter 2023", "Homelessness", "2023-11-01", "2024-02-29", 80000, 2.0),
    ("Solar Wells", "Water", "2024-01-15", "2024-11-30", 110000, 1.4),
    ("Hospice Garden", "Health", "2022-09-01", "2024-12-31", 50000, 0.6),
    ("Reading Buses", "Education", "2024-10-01", None, 40000, 0.5),
]
for i, k in enumerate(K, 1):
    c.execute("INSERT INTO Campaigns VALUES(?,?,?,?,?,?)", (i,) + k[:5])
G = []
days = [dt.date(2021, 1, 4) + dt.timedelta(i) for i in range(1455)]
dw = [
    (2.3 if x.month == 12 else 1.35 if x.month == 11 else 0.75 if x.month in (7, 8) else 1)
    * (1.6 if dt.date(2023, 3, 10) <= x <= dt.date(2023, 4, 20) else 1)
    * {2021: 0.75, 2022: 0.95, 2023: 1.1, 2024: 1.15}[x.year]
    * (1.2 if x.weekday() < 5 else 0.7)
    for x in days
]
while len(G) < 3800:
    d = R.choices(days, dw)[0]
    x = R.choices(dn, [z[4] for z in dn])[0]
    if x[3] > d:
        continue
    op = [(i, k) for i, k in enumerate(K, 1) if k[2] <= d.isoformat() <= (k[3] or "2099")]
    cid = None
    if op and R.random() < 0.86:
        cid = R.choices([o[0] for o in op], [o[1][5] for o in op])[0]
    base = {"Individual": 48, "Company": 620, "Foundation": 1900}[x[2]] * x[5]
    a = base * R.lognormvariate(0, 0.55)
    a = max(5.0, round(a / 5) * 5.0) if R.random() < 0.8 else round(max(3, a), 2)
    rec = int(x[2] == "Individual" and R.random() < 0.34)
    m = R.choices(
        ["Credit card", "Direct debit", "PayPal", "Bank transfer", "Cheque"],
        [38, 16 + 20 * rec, 19, 14 if x[2] == "Individual" else 70, 5],
    )[0]
    ty = (
        None
        if R.random() < 0.12
        else (
            d
            + dt.timedelta(
                int(R.expovariate(1 / {"Individual": 8, "Company": 4, "Foundation": 2.5}[x[2]]) + 1)
            )
        ).isoformat()
    )
    G.append((d.isoformat(), x[0], cid, a, m, rec, ty))
G.sort(key=lambda g: (g[0], g[1]))
for i, (d, x, cid, a, m, rec, ty) in enumerate(G, 1):
    c.execute("INSERT INTO Gifts VALUES(?,?,?,?,?,?,?,?)", (i, x, cid, d, a, m, rec, ty))
ET = [
    ("Gala dinner", 2, 16000, 180, 31000),
    ("Charity run", 4, 5200, 420, 11000),
    ("Bake sale", 9, 260, 95, 1150),
    ("Concert", 4, 6100, 310, 12500),
    ("Quiz night", 8, 640, 85, 2300),
    ("Auction", 3, 2900, 120, 9800),
]
VEN = ["Town Hall", "St. Mary's Centre", "Riverside Park", "Grand Hotel", "Civic Theatre", "The Old Mill"]
ev = []
for i in range(66):
    k = R.choices(range(1, 12), [z[5] for z in K[:11]])[0]
    kk = K[k - 1]
    a = dt.date.fromisoformat(kk[2])
    b = dt.date.fromisoformat(kk[3])
    d = a + dt.timedelta(R.randrange((b - a).days))
    t = R.choices(ET, [z[1] for z in ET])[0]
    s = R.lognormvariate(0, 0.3)
    ev.append((d.isoformat(), k, t, kk[0], s))
ev.sort(key=lambda z: (z[0], z[1]))
for i, (d, k, t, kn, s) in enumerate(ev, 1):
    c.execute(
        "INSERT INTO Events VALUES(?,?,?,?,?,?,?,?,?)",
        (
            i,
            k,
            f"{kn} {t[0]}",
            t[0],
            d,
            R.choice(VEN),
            round(t[2] * s * R.uniform(0.8, 1.2), 2),
            int(t[3] * s),
            round(t[4] * s * R.lognormvariate(0, 0.45), 2) if R.random() > 0.05 else None,
        ),
    )
SK = ["Catering", "Driving", "First aid", "Fundraising", "IT", "Music", "Photography", None]
vol = []
for i in range(1, 141):
    ci = R.choices(CITY[:7], [x[2] for x in CITY[:7]])[0]
    s = dt.date(2020, 6, 1) + dt.timedelta(R.randrange(1600))
    b = dt.date(1945, 1, 1) + dt.timedelta(R.randrange(22000))
    c.execute(
        "INSERT INTO Volunteers VALUES(?,?,?,?,?,?,?)",
        (
            i,
            nm(),
            ci[0],
            b.isoformat(),
            s.isoformat(),
            R.choices(SK, [18, 12, 11, 24, 9, 5, 7, 8])[0],
            "yes" if R.random() < 0.72 else "no",
        ),
    )
    vol.append((i, s.isoformat(), 0 if R.random() < 0.1 else R.lognormvariate(0, 0.7)))
sid = 0
for i, (d, k, t, kn, s) in enumerate(ev, 1):
    el = [v for v in vol if v[1] <= d and v[2] > 0]
    n = min(
        len(el),
        max(
            3,
            int(
                R.gauss(
                    {
                        "Gala dinner": 18,
                        "Charity run": 26,
                        "Bake sale": 7,
                        "Concert": 17,
                        "Quiz night": 8,
                        "Auction": 11,
                    }[t[0]],
                    2.5,
                )
            ),
        ),
    )
    ch = set()
    while len(ch) < n:
        ch.add(R.choices(el, [v[2] for v in el])[0][0])
    for v in sorted(ch):
        sid += 1
        c.execute(
            "INSERT INTO Shifts VALUES(?,?,?,?,?)",
            (
                sid,
                v,
                i,
                R.choice([2, 2.5, 3, 3.5, 4, 4, 5, 6, 7.5]),
                R.choices(["Setup", "Registration", "Steward", "Catering", "Clean-up"], [24, 19, 30, 17, 10])[
                    0
                ],
            ),
        )
c.commit()
