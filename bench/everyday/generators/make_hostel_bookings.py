import csv, random, sys, os, datetime as D

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(4107)
FN = "Emma Liam Sofia Noah Mia Lucas Anna Jonas Chloe Hugo Marta Pablo Giulia Marco Yuki Kenji Olivia Jack Amelie Felix Ines Diego Hannah Max Zoe Tom Elena Ivan Nora Erik Priya Arjun Lena Paul Alice Leo".split()
LN = "Smith Müller García Rossi Dubois Tanaka Silva Novak Jansen Kowalski Brown Fischer López Bianchi Martin Sato Costa Horvat Visser Nowak Taylor Weber Moreno Ricci Petit Kim Larsen Svensson O'Brien Walker Schmidt Ferrari Moreau Patel Singh Berg".split()
countries = [
    ("Germany", 21),
    ("Spain", 14),
    ("United Kingdom", 17),
    ("France", 12),
    ("Italy", 9),
    ("United States", 11),
    ("Netherlands", 6),
    ("Japan", 3),
    ("Brazil", 4),
    ("Australia", 5),
]
rooms = [
    ("8-Bed Dorm", 34, 19, 3),
    ("6-Bed Dorm", 22, 24, 3),
    ("4-Bed Female Dorm", 13, 28, 2),
    ("Private Double", 19, 72, 2),
    ("Family Room", 7, 104, 4),
    ("Private Single", 9, 49, 1),
]
mw = [4, 4, 6, 8, 10, 13, 17, 18, 11, 8, 4, 6]
yw = {2022: 26, 2023: 33, 2024: 41}
reqs = [
    "Late arrival",
    "Bottom bunk please",
    "Quiet room",
    "Early check-in",
    "Luggage storage",
    "Vegan breakfast",
    "Near friends booking",
    "Airport shuttle",
]
rows = []
for _ in range(3400):
    y = r.choices(list(yw), yw.values())[0]
    m = r.choices(range(1, 13), mw)[0]
    days = [D.date(y, m, 1) + D.timedelta(i) for i in range(31)]
    days = [d for d in days if d.month == m]
    arr = r.choices(
        days,
        [
            {4: 2.1, 5: 1.7, 3: 1.2}.get(
                d.weekday(), 0.8 + 0.06 * (d.weekday() == 0) - 0.1 * (d.weekday() == 1)
            )
            for d in days
        ],
    )[0]
    ch = r.choices(
        ["Booking.com", "Hostelworld", "Direct website", "Walk-in", "Expedia", "Phone"],
        [34 if y < 2024 else 29, 27, 16 if y < 2024 else 24, 7, 9, 4],
    )[0]
    lead = 0 if ch == "Walk-in" else min(300, int(r.lognormvariate(2.9 if ch != "Phone" else 2.1, 1.0)))
    booked = arr - D.timedelta(lead)
    room, _, base, mx = r.choices(rooms, [x[1] for x in rooms])[0]
    g = r.randint(1, mx) if mx > 1 else 1
    if mx == 4:
        g = r.choice([2, 3, 3, 4, 4])
    nights = r.choices([1, 2, 3, 4, 5, 6, 7, 10, 14], [20, 27, 22, 12, 7, 4, 5, 2, 1])[0]
    season = 1.0 + 0.28 * (m in (6, 7, 8)) - 0.12 * (m in (1, 2, 11)) + 0.12 * (m == 12)
    p = (
        base
        * season
        * (1 + 0.07 * (y - 2022))
        * (1 + 0.10 * (arr.weekday() in (4, 5)))
        * r.uniform(0.88, 1.15)
        * (0.93 if ch == "Direct website" else 1)
    )
    if "Dorm" in room:
        p *= g
    p = round(p, 2)
    pc = 0.06 + 0.0022 * lead + {"Booking.com": 0.13, "Expedia": 0.10, "Hostelworld": 0.06}.get(ch, 0.0)
    if ch == "Walk-in":
        pc = 0
    u = r.random()
    st = (
        "Cancelled"
        if u < pc
        else ("No-Show" if u < pc + (0.035 if ch != "Walk-in" else 0) else "Checked Out")
    )
    canc = ""
    if st == "Cancelled":
        canc = (booked + D.timedelta(r.randint(0, lead))).isoformat()
    rev = ""
    if st == "Checked Out" and r.random() < 0.57:
        rev = round(
            min(
                10,
                max(
                    2,
                    r.gauss(
                        {
                            "8-Bed Dorm": 7.5,
                            "6-Bed Dorm": 7.9,
                            "4-Bed Female Dorm": 8.5,
                            "Private Double": 8.8,
                            "Family Room": 8.2,
                            "Private Single": 8.4,
                        }[room],
                        1.1,
                    ),
                ),
            ),
            1,
        )
    c = r.choices([x[0] for x in countries], [x[1] for x in countries])[0]
    if r.random() < 0.025:
        c = ""
    rows.append(
        [
            booked,
            r.random(),
            f"{r.choice(FN)} {r.choice(LN)}",
            c,
            ch,
            room,
            arr,
            lead,
            nights,
            g,
            p,
            round(p * nights, 2),
            "yes" if r.random() < (0.31 if "Dorm" in room else 0.52) else "no",
            st,
            canc,
            1 if r.random() < (0.24 if ch in ("Direct website", "Phone") else 0.08) else 0,
            rev,
            r.choice(reqs) if r.random() < 0.22 else "",
        ]
    )
rows.sort(key=lambda x: (x[0], x[1]))
with open(os.path.join(out, "hostel_bookings.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        [
            "Booking ID",
            "Booked On",
            "Guest Name",
            "Country",
            "Channel",
            "Room Type",
            "Arrival Date",
            "Lead Time (days)",
            "Nights",
            "Guests",
            "Price per Night (EUR)",
            "Total Price (EUR)",
            "Breakfast",
            "Status",
            "Cancelled On",
            "Repeat Guest",
            "Review Score",
            "Special Request",
        ]
    )
    for i, x in enumerate(rows):
        w.writerow([f"B{10001 + i}", x[0].isoformat(), *x[2:6], x[6].isoformat(), *x[7:]])
