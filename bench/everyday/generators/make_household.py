import csv, os, sys, random, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(4101)
D0, D1 = dt.date(2021, 1, 1), dt.date(2023, 12, 31)
rows = []


def add(d, payee, cat, amt, acc, who, rec="no", note=""):
    if D0 <= d <= D1:
        rows.append([d, payee, cat, round(amt, 2), acc, who, rec, note])


def card(who):
    return {
        "Anna": r.choices(["Anna Visa", "Joint Checking", "Cash"], [70, 20, 10])[0],
        "Mark": r.choices(["Mark Mastercard", "Joint Checking", "Cash"], [60, 25, 15])[0],
        "Lena": r.choices(["Lena Debit", "Cash"], [65, 35])[0],
        "Tom": "Cash",
    }[who]


infl = {2021: 1.0, 2022: 1.08, 2023: 1.13}
# monthly bills
for y in (2021, 2022, 2023):
    for m in range(1, 13):
        f = infl[y]
        add(
            dt.date(y, m, 1),
            "Wells Fargo Mortgage",
            "Housing",
            2140.55 if (y, m) < (2022, 7) else 2265.10,
            "Joint Checking",
            "Mark",
            "yes",
        )
        add(
            dt.date(y, m, 5),
            "PG&E",
            "Utilities",
            (110 + (75 if m in (12, 1, 2) else 30 if m in (7, 8) else 0)) * f * r.uniform(0.85, 1.2),
            "Joint Checking",
            "Anna",
            "yes",
        )
        add(
            dt.date(y, m, 9),
            "Comcast",
            "Utilities",
            79.99 if y < 2023 else 89.99,
            "Joint Checking",
            "Anna",
            "yes",
        )
        add(
            dt.date(y, m, 14),
            "Verizon",
            "Utilities",
            142.30 if y == 2021 else 151.80,
            "Mark Mastercard",
            "Mark",
            "yes",
        )
        if m % 2 == 0:
            add(
                dt.date(y, m, 18),
                "City Water",
                "Utilities",
                88 * f * r.uniform(0.8, 1.3),
                "Joint Checking",
                "Anna",
                "yes",
            )
        add(
            dt.date(y, m, 3),
            "Netflix",
            "Entertainment",
            13.99 if y == 2021 else 15.49,
            "Anna Visa",
            "Anna",
            "yes",
        )
        add(
            dt.date(y, m, 21),
            "Spotify",
            "Entertainment",
            15.99 if y < 2023 else 16.99,
            "Mark Mastercard",
            "Mark",
            "yes",
        )
        if m in (2, 5, 8, 11):
            add(dt.date(y, m, 12), "State Farm", "Insurance", 486.25 * f, "Joint Checking", "Mark", "yes")
        if m not in (7, 8):
            add(
                dt.date(y, m, 7),
                "Bay Music School",
                "Kids",
                120 if y < 2023 else 132,
                "Joint Checking",
                "Anna",
                "yes",
            )
spec = {  # category: [(payee, weight, mean, sd)], rate per day, who weights (Anna, Mark, Lena, Tom)
    "Groceries": (
        [
            ("Trader Joe's", 34, 62, 22),
            ("Safeway", 28, 48, 25),
            ("Costco", 14, 168, 60),
            ("Whole Foods", 12, 71, 30),
            ("Farmers Market", 12, 27, 9),
        ],
        0.72,
        (55, 38, 5, 2),
    ),
    "Dining Out": (
        [
            ("Chipotle", 24, 34, 12),
            ("Luigi's Pizza", 20, 46, 14),
            ("Starbucks", 36, 9, 4),
            ("Thai Orchid", 12, 63, 17),
            ("Blue Heron Grill", 5, 118, 32),
        ],
        0.48,
        (32, 40, 20, 8),
    ),
    "Transport": (
        [
            ("Shell", 34, 54, 11),
            ("Chevron", 22, 58, 12),
            ("BART", 24, 11, 4),
            ("Uber", 15, 23, 11),
            ("Jiffy Lube", 3, 128, 60),
        ],
        0.33,
        (36, 52, 10, 2),
    ),
    "Health": (
        [("CVS Pharmacy", 55, 24, 14), ("Kaiser Permanente", 25, 45, 25), ("Patel Dental", 14, 140, 85)],
        0.10,
        (58, 36, 4, 2),
    ),
    "Kids": (
        [
            ("Target", 30, 41, 20),
            ("Lincoln Middle School", 20, 33, 22),
            ("Eastside Soccer Club", 12, 95, 30),
            ("Amazon", 24, 28, 15),
        ],
        0.12,
        (62, 30, 5, 3),
    ),
    "Entertainment": (
        [
            ("AMC Theatres", 35, 47, 15),
            ("Steam", 30, 31, 17),
            ("Barnes & Noble", 22, 29, 13),
            ("Ticketmaster", 8, 155, 70),
        ],
        0.10,
        (25, 35, 24, 16),
    ),
    "Clothing": (
        [("Old Navy", 40, 58, 27), ("REI", 22, 104, 55), ("Nordstrom", 16, 133, 62), ("Target", 25, 36, 16)],
        0.085,
        (52, 26, 20, 2),
    ),
    "Home & Garden": (
        [("Home Depot", 45, 76, 55), ("IKEA", 16, 182, 120), ("Amazon", 36, 38, 22)],
        0.10,
        (40, 58, 1, 1),
    ),
    "Pets": ([("Petco", 65, 47, 18), ("Bay Vet Clinic", 20, 171, 95)], 0.065, (66, 28, 5, 1)),
    "Gifts": ([("Amazon", 50, 42, 24), ("Etsy", 30, 36, 17), ("Hallmark", 20, 14, 6)], 0.05, (55, 25, 14, 6)),
}
names = ["Anna", "Mark", "Lena", "Tom"]
notes = {
    "Groceries": ["weekly shop", "party snacks", "bbq"],
    "Dining Out": ["lunch", "birthday dinner", "coffee w/ Sue", "takeout"],
    "Transport": ["airport", "work trip", "oil change"],
    "Health": ["copay", "flu meds", "cleaning"],
    "Kids": ["school supplies", "field trip"],
    "Clothing": ["winter coat", "shoes", "returned half"],
    "Home & Garden": ["paint", "tools", "shelf"],
    "Gifts": ["birthday", "xmas", "wedding"],
    "Pets": ["food", "vaccination"],
    "Entertainment": ["movie night", "concert"],
}
d = D0
while d <= D1:
    for cat, (ps, rate, ww) in spec.items():
        q = rate
        if cat == "Gifts":
            q *= 5 if d.month == 12 else 1
        if cat == "Clothing":
            q *= 2 if d.month in (8, 11) else 1
        if cat == "Dining Out":
            q *= 1.7 if d.weekday() in (4, 5) else 0.8
        if cat == "Groceries":
            q *= 1.8 if d.weekday() == 5 else 1.3 if d.weekday() == 2 else 0.8
        if cat == "Home & Garden":
            q *= 2 if d.month in (4, 5) else 1
        n = int(q) + (r.random() < q - int(q))
        for _ in range(n):
            p, _, mu, sd = r.choices(ps, [x[1] for x in ps])[0]
            who = r.choices(names, ww)[0]
            a = max(2.15, r.gauss(mu, sd)) * infl[d.year]
            if who in ("Lena", "Tom"):
                a = min(a, 20 + r.random() * 60)
            add(d, p, cat, a, card(who), who, "no", r.choice(notes[cat]) if r.random() < 0.22 else "")
    d += dt.timedelta(1)
for y, m, days in ((2021, 7, 9), (2022, 4, 5), (2022, 7, 12), (2023, 3, 4), (2023, 8, 14), (2023, 12, 6)):
    add(
        dt.date(y, m, 2) - dt.timedelta(40),
        "United Airlines",
        "Travel",
        r.uniform(900, 2100),
        "Anna Visa",
        "Anna",
        "no",
        "family flights",
    )
    for i in range(days):
        if r.random() < 0.55:
            add(
                dt.date(y, m, 3 + i),
                r.choice(["Marriott", "Airbnb", "Airbnb"]),
                "Travel",
                r.uniform(130, 420),
                "Anna Visa",
                "Anna",
            )
        if r.random() < 0.6:
            add(
                dt.date(y, m, 3 + i),
                r.choice(["Hertz", "Local Tours", "Beach Shack"]),
                "Travel",
                r.uniform(25, 190),
                r.choice(["Mark Mastercard", "Cash"]),
                "Mark",
            )
rows.sort(key=lambda x: (x[0], x[1], x[3]))
with open(os.path.join(out, "household.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(["Date", "Payee", "Category", "Amount (USD)", "Account", "Who", "Recurring", "Note"])
    for x in rows:
        if x[6] == "no" and r.random() < 0.018:
            x[5] = ""
        w.writerow([x[0].isoformat(), x[1], x[2], "%.2f" % x[3]] + x[4:])
