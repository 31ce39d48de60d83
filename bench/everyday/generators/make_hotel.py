import sys, os, sqlite3, random
from datetime import date, timedelta

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names import people

r = random.Random(5404)
out = sys.argv[1]
p = os.path.join(out, "hotel.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE Hotels(HotelID INTEGER PRIMARY KEY,HotelName TEXT NOT NULL,City TEXT,Country TEXT,Stars INTEGER,OpenedYear INTEGER,HasPool INTEGER);
CREATE TABLE Rooms(RoomID INTEGER PRIMARY KEY,HotelID INTEGER REFERENCES Hotels(HotelID),RoomNo TEXT,RoomType TEXT,Beds INTEGER,NightlyRate REAL,SizeSqm REAL,Smoking INTEGER);
CREATE TABLE Guests(GuestID INTEGER PRIMARY KEY,FullName TEXT NOT NULL,Nationality TEXT,Email TEXT,LoyaltyTier TEXT,BirthYear INTEGER);
CREATE TABLE Bookings(BookingID INTEGER PRIMARY KEY,GuestID INTEGER REFERENCES Guests(GuestID),RoomID INTEGER REFERENCES Rooms(RoomID),BookedOn TEXT,CheckIn TEXT,CheckOut TEXT,Adults INTEGER,Children INTEGER,Channel TEXT,Status TEXT,TotalAmt REAL);
CREATE TABLE Payments(PaymentID INTEGER PRIMARY KEY,BookingID INTEGER REFERENCES Bookings(BookingID),PaidOn TEXT,Amount REAL,Method TEXT);
CREATE TABLE Reviews(ReviewID INTEGER PRIMARY KEY,BookingID INTEGER REFERENCES Bookings(BookingID),ReviewDate TEXT,Score INTEGER,WouldRecommend INTEGER,Comment TEXT);
""")
H = [
    ("Alba Grand Lisbon", "Lisbon", "Portugal", 5, 1998, 1, 1.45, 9),
    ("Alba Porto Ribeira", "Porto", "Portugal", 4, 2007, 0, 1.0, 8),
    ("Alba Madrid Centro", "Madrid", "Spain", 4, 2003, 0, 1.15, 12),
    ("Alba Barcelona Playa", "Barcelona", "Spain", 5, 2011, 1, 1.6, 13),
    ("Alba Valencia", "Valencia", "Spain", 3, 2014, 0, 0.75, 6),
    ("Alba Nice Riviera", "Nice", "France", 4, 2009, 1, 1.3, 8),
    ("Alba Lyon Gare", "Lyon", "France", 3, 2016, 0, 0.8, 5),
    ("Alba Rome Termini", "Rome", "Italy", 4, 2005, 0, 1.2, 11),
]
RT = {
    "Single": (78, 1, 16),
    "Double": (112, 1, 22),
    "Twin": (108, 2, 23),
    "Family": (158, 3, 34),
    "Suite": (245, 1, 48),
}
rtw = [18, 40, 18, 14, 10]
rid = 0
R = []
for i, h in enumerate(H, 1):
    c.execute("INSERT INTO Hotels VALUES(?,?,?,?,?,?,?)", (i,) + h[:6])
    for n in range(12 + h[7]):
        rid += 1
        t = r.choices(list(RT), rtw)[0]
        b = RT[t]
        rate = round(b[0] * h[6] * r.uniform(0.9, 1.12), 0) + r.choice([0, 0.5])
        c.execute(
            "INSERT INTO Rooms VALUES(?,?,?,?,?,?,?,?)",
            (
                rid,
                i,
                "%d%02d" % (1 + n // 6, 1 + n % 6),
                t,
                b[1],
                rate,
                round(b[2] * r.uniform(0.9, 1.15), 1),
                int(r.random() < 0.06),
            ),
        )
        if rid not in (33, 101, 140):
            R.append((rid, i, t, rate, h[7]))
nat = {
    "Spanish": 22,
    "British": 19,
    "German": 15,
    "French": 13,
    "Portuguese": 10,
    "American": 9,
    "Italian": 7,
    "Dutch": 5,
}
G = []
for i, n in enumerate(people(r, 640), 1):
    x = r.random()
    ti = "Platinum" if x < 0.05 else "Gold" if x < 0.17 else "Silver" if x < 0.42 else None
    c.execute(
        "INSERT INTO Guests VALUES(?,?,?,?,?,?)",
        (
            i,
            n,
            r.choices(list(nat), list(nat.values()))[0],
            n.lower().replace(" ", "_") + "@" + r.choice(["gmail.com", "yahoo.com", "web.de", "icloud.com"])
            if r.random() > 0.1
            else None,
            ti,
            int(min(2004, max(1942, r.gauss(1979, 13)))) if r.random() > 0.05 else None,
        ),
    )
    G.append((i, {"Platinum": 6, "Gold": 3.2, "Silver": 1.7, None: 1}[ti] * r.uniform(0.4, 1.6)))
mon = [0.55, 0.6, 0.75, 0.95, 1.1, 1.3, 1.6, 1.7, 1.2, 0.9, 0.6, 0.85]
B = []
rw = [x[4] * (1.3 if x[2] == "Double" else 1) for x in R]
gw = [g[1] for g in G]
while len(B) < 3200:
    d = date(2022, 1, 2) + timedelta(days=r.randint(0, 1085))
    if r.random() > mon[d.month - 1] / 1.7 * (1.3 if d.weekday() in (4, 5) else 1) / 1.3 * (
        0.7 + 0.13 * (d.year - 2022)
    ):
        continue
    g = r.choices(G, gw)[0][0]
    rm = r.choices(R, rw)[0]
    lead = int(r.expovariate(1 / 38))
    B.append((d - timedelta(days=lead), d, g, rm, lead))
B.sort(key=lambda x: (x[0], x[1], x[2], x[3][0]))
pid = 0
rv = 0
base = [8.6, 8.0, 7.7, 8.8, 7.2, 8.2, 6.9, 7.5]
good = ["Lovely staff and great breakfast", "Perfect location", "Would come back any time", "Very clean room"]
mid = ["OK for the price", "Decent stay", "Breakfast was average"]
bad = ["Noisy at night", "Air conditioning broken", "Room smaller than expected", "Slow check-in"]
pays = []
revs = []
for i, (bo, ci, g, rm, lead) in enumerate(B, 1):
    n = r.choices([1, 2, 3, 4, 5, 7, 10, 14], [17, 24, 20, 14, 9, 10, 3, 1])[0]
    t = rm[2]
    ad = 1 if t == "Single" else r.choices([1, 2, 3], [18, 74, 8])[0]
    ch = (
        r.choices([0, 1, 2, 3], [10, 30, 42, 18])[0]
        if t == "Family"
        else (r.choices([0, 1], [9, 1])[0] if t != "Single" else 0)
    )
    chn = r.choices(["Booking.com", "Website", "Expedia", "Phone", "Travel agent"], [38, 29, 17, 9, 7])[0]
    st = r.choices(["completed", "cancelled", "no-show"], [82, 14 if chn != "Booking.com" else 24, 3])[0]
    amt = round(
        rm[3]
        * n
        * (1.2 if ci.month in (7, 8) else 0.92 if ci.month in (1, 2, 11) else 1)
        * r.choice([1, 1, 1, 0.9, 0.95]),
        2,
    )
    c.execute(
        "INSERT INTO Bookings VALUES(?,?,?,?,?,?,?,?,?,?,?)",
        (i, g, rm[0], str(bo), str(ci), str(ci + timedelta(days=n)), ad, ch, chn, st, amt),
    )
    me = r.choices(["credit card", "debit card", "PayPal", "bank transfer", "cash"], [48, 21, 16, 9, 6])[0]
    if st == "completed":
        if r.random() < 0.25:
            dep = round(amt * 0.3, 2)
            pays.append((bo, i, dep, me))
            pays.append(
                (ci + timedelta(days=n), i, round(amt - dep, 2), me if r.random() < 0.7 else "credit card")
            )
        elif r.random() < 0.97:
            pays.append((ci + timedelta(days=n) if r.random() < 0.6 else bo, i, amt, me))
        if r.random() < 0.42:
            s = int(round(min(10, max(1, r.gauss(base[rm[1] - 1], 1.5)))))
            cm = r.choice(good if s >= 8 else mid if s >= 6 else bad) if r.random() < 0.65 else None
            revs.append(
                (
                    ci + timedelta(days=n + r.randint(1, 20)),
                    i,
                    s,
                    int(r.random() < (0.94 if s >= 8 else 0.5 if s >= 6 else 0.07)),
                    cm,
                )
            )
    elif st == "no-show" and r.random() < 0.6:
        pays.append((ci, i, round(amt * 0.5, 2), me))
pays.sort(key=lambda x: (x[0], x[1]))
revs.sort(key=lambda x: (x[0], x[1]))
for k, (d, b, a, m) in enumerate(pays, 1):
    c.execute("INSERT INTO Payments VALUES(?,?,?,?,?)", (k, b, str(d), a, m))
for k, (d, b, s, w, cm) in enumerate(revs, 1):
    c.execute("INSERT INTO Reviews VALUES(?,?,?,?,?,?)", (k, b, str(d), s, w, cm))
c.commit()
c.close()
