import sys, os, sqlite3, random
from datetime import datetime, timedelta, date

out = sys.argv[1]
R = random.Random(7404)
p = os.path.join(out, "streaming.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE Plans(PlanID INTEGER PRIMARY KEY, PlanName TEXT, MonthlyPrice REAL, MaxScreens INTEGER, HasAds INTEGER);
CREATE TABLE Users(UserID INTEGER PRIMARY KEY, FullName TEXT, Email TEXT, Country TEXT, BirthYear INTEGER, PlanID INTEGER REFERENCES Plans(PlanID), SignupDate DATE, CancelDate DATE);
CREATE TABLE Titles(TitleID INTEGER PRIMARY KEY, Title TEXT, TitleType TEXT, Genre TEXT, ReleaseYear INTEGER, RuntimeMin INTEGER, CriticScore REAL, IsOriginal INTEGER, Language TEXT);
CREATE TABLE Views(ViewID INTEGER PRIMARY KEY, UserID INTEGER REFERENCES Users(UserID), TitleID INTEGER REFERENCES Titles(TitleID), StartedAt DATETIME, MinutesWatched INTEGER, Finished INTEGER, Device TEXT);
CREATE TABLE Ratings(RatingID INTEGER PRIMARY KEY, UserID INTEGER REFERENCES Users(UserID), TitleID INTEGER REFERENCES Titles(TitleID), Stars INTEGER, RatedOn DATE, Comment TEXT);
CREATE TABLE Payments(PaymentID INTEGER PRIMARY KEY, UserID INTEGER REFERENCES Users(UserID), PaidOn DATE, Amount REAL, Method TEXT, PaymentStatus TEXT);
""")
plans = [
    (1, "Basic with Ads", 5.99, 1, 1),
    (2, "Standard", 10.99, 2, 0),
    (3, "Premium", 16.99, 4, 0),
    (4, "Student", 4.49, 1, 0),
]
c.executemany("INSERT INTO Plans VALUES(?,?,?,?,?)", plans)
fn = "Emma Liam Olivia Noah Ava Lucas Mia Ethan Sofia Mateo Lena Jonas Hannah Felix Chloe Hugo Camille Louis Giulia Marco Aisha Omar Yuki Kenji Priya Arjun Zoe Oscar Freya Elsa Bruno Clara Diego Ines Nadia Viktor Anya Piotr Rosa Ivan".split()
ln = "Miller Garcia Schmidt Dubois Rossi Tanaka Patel Silva Johansson Kowalski Novak Murphy Brown Weber Moreau Conti Haddad Sato Sharma Costa Berg Wolf Bennett Foster Keller Lefevre Greco Price Ortega Vance".split()
names = R.sample([a + " " + b for a in fn for b in ln], 420)
ctry = {
    "United States": 31,
    "Germany": 19,
    "United Kingdom": 14,
    "France": 11,
    "Brazil": 9,
    "Spain": 7,
    "Japan": 5,
    "Sweden": 3,
}
S = date(2022, 1, 1)
E = date(2024, 12, 31)
users = []
for i, nm in enumerate(names, 1):
    s = S + timedelta(days=int(1050 * (R.random() ** 1.25)))
    by = int(R.gauss(1988, 12))
    by = min(2006, max(1945, by))
    pl = R.choices([1, 2, 3, 4], [27, 39, 22, 14 if by > 1996 else 2])[0]
    ca = None
    if R.random() < {1: 0.38, 2: 0.24, 3: 0.17, 4: 0.31}[pl]:
        x = s + timedelta(days=R.randrange(31, 700))
        if x <= E:
            ca = x
    users.append(
        [
            i,
            nm,
            nm.lower().replace(" ", ".")
            + "@"
            + R.choice(["gmail.com", "gmail.com", "outlook.com", "yahoo.com", "proton.me"]),
            R.choices(list(ctry), list(ctry.values()))[0],
            by if R.random() > 0.06 else None,
            pl,
            s,
            ca,
        ]
    )
c.executemany(
    "INSERT INTO Users VALUES(?,?,?,?,?,?,?,?)",
    [u[:6] + [u[6].isoformat(), u[7].isoformat() if u[7] else None] for u in users],
)
A = "Silent Broken Golden Last Hidden Crimson Distant Electric Frozen Midnight Burning Lost Paper Velvet Hollow".split()
B = "Harbor Kingdom Promise Detective Orchard Signal Mirror Highway Garden Empire Witness Summer Station Tide Letters Machine".split()
tn = R.sample([("The " if R.random() < 0.4 else "") + a + " " + b for a in A for b in B], 150)
gen = {
    "Drama": 30,
    "Comedy": 22,
    "Thriller": 17,
    "Documentary": 12,
    "Sci-Fi": 10,
    "Animation": 8,
    "Horror": 6,
    "Romance": 7,
}
titles = []
for i, t in enumerate(tn, 1):
    g = R.choices(list(gen), list(gen.values()))[0]
    ty = R.choices(["Movie", "Series"], [6, 4])[0]
    rt = int(R.gauss(112, 17)) if ty == "Movie" else int(R.gauss(47, 8))
    titles.append(
        (
            i,
            t,
            ty,
            g,
            min(2024, int(2025 - R.expovariate(1 / 6.5))),
            rt,
            round(
                min(
                    9.6,
                    max(
                        2.8,
                        R.gauss(
                            {"Documentary": 7.6, "Drama": 7.1, "Horror": 5.6, "Romance": 6.1}.get(g, 6.6), 1.0
                        ),
                    ),
                ),
                1,
            )
            if R.random() > 0.05
            else None,
            1 if R.random() < 0.33 else 0,
            R.choices(["English", "Spanish", "German", "Korean", "French", "Japanese"], [60, 11, 9, 8, 7, 5])[
                0
            ],
        )
    )
c.executemany("INSERT INTO Titles VALUES(?,?,?,?,?,?,?,?,?)", titles)
pop = [R.paretovariate(1.1) * (1.4 if t[7] else 1) for t in titles]
pop = [min(x, 14) for x in pop]
for k in (17, 58, 103, 141):
    pop[k] = 0
act = {u[0]: R.lognormvariate(0, 0.9) * {1: 0.8, 2: 1, 3: 1.5, 4: 1.1}[u[5]] for u in users}
for k in (33, 77, 150, 201, 266, 318, 399, 12, 88):
    act[k] = 0
views = []
hw = [2, 1, 0.6, 0.3, 0.2, 0.2, 0.4, 0.8, 1, 1, 1.2, 1.4, 2, 2, 2, 2.2, 2.6, 3.5, 5, 7, 9, 9.5, 7, 4]
uw = [act[u[0]] for u in users]
rate = []
while len(views) < 5400:
    u = R.choices(users, uw)[0]
    e = u[7] or E
    d = u[6] + timedelta(days=R.randrange(0, (e - u[6]).days + 1))
    if R.random() > [1, 0.92, 0.85, 0.8, 0.74, 0.68, 0.66, 0.7, 0.78, 0.86, 0.95, 1][d.month - 1] * (
        1 if d.weekday() >= 4 else 0.72
    ):
        continue
    ti = R.choices(range(150), pop)[0]
    t = titles[ti]
    if t[4] > d.year:
        continue
    full = R.random() < 0.57 + 0.03 * ((t[6] or 6) - 6.5)
    mn = t[5] if full else max(1, int(t[5] * R.betavariate(1.4, 1.6)))
    h = R.choices(range(24), hw)[0]
    views.append(
        (
            datetime(d.year, d.month, d.day, h, R.randrange(60), R.randrange(60)),
            u[0],
            t[0],
            mn,
            1 if full else 0,
            R.choices(["TV", "Mobile", "Tablet", "Laptop", None], [46, 27, 9, 17, 1])[0],
        )
    )
    if R.random() < 0.24:
        st = min(
            5, max(1, int(R.gauss(3.1 + 0.3 * ((t[6] or 6.5) - 6.5) + (0.5 if full else -0.5), 1) + 0.5))
        )
        rate.append(
            (
                (d + timedelta(days=R.choice([0, 0, 1, 2]))).isoformat(),
                u[0],
                t[0],
                st,
                R.choice(
                    [
                        None,
                        None,
                        None,
                        "Loved it",
                        "Too slow",
                        "Great cast",
                        "Meh",
                        "Fell asleep",
                        "Would watch again",
                    ]
                ),
            )
        )
views.sort()
seen = set()
rr = []
for r in sorted(rate, key=lambda r: r[:4]):
    if (r[1], r[2]) in seen:
        continue
    seen.add((r[1], r[2]))
    rr.append(r)
c.executemany(
    "INSERT INTO Views VALUES(?,?,?,?,?,?,?)",
    [(i, v[1], v[2], v[0].strftime("%F %H:%M:%S"), v[3], v[4], v[5]) for i, v in enumerate(views, 1)],
)
c.executemany(
    "INSERT INTO Ratings VALUES(?,?,?,?,?,?)",
    [(i,) + (r[1], r[2], r[3], r[0], r[4]) for i, r in enumerate(rr, 1)],
)
pay = []
for u in users:
    d = u[6]
    e = u[7] or E
    me = R.choices(["Credit Card", "PayPal", "Debit Card", "Gift Card"], [48, 29, 17, 6])[0]
    while d <= e:
        a = plans[u[5] - 1][2]
        st = R.choices(["Paid", "Failed", "Refunded"], [94, 4.2, 1.8])[0]
        pay.append((d, u[0], a, me, st))
        d += timedelta(days=R.choice([30, 30, 31]))
pay = [p for p in sorted(pay) if p[0] <= E]
c.executemany(
    "INSERT INTO Payments VALUES(?,?,?,?,?,?)",
    [(i, p[1], p[0].isoformat(), p[2], p[3], p[4]) for i, p in enumerate(pay, 1)],
)
c.commit()
c.close()
