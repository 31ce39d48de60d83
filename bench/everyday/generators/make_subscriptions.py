import csv, random, sys, os, datetime as D

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(6402)
P = [
    ("FRE", "Free Forever", "Entry", 0, 1, "Community", 2, 30),
    ("STA", "Starter", "Entry", 9, 1, "Email", 20, 34),
    ("TEA", "Team", "Growth", 15, 3, "Email", 100, 31),
    ("BUS", "Business", "Growth", 24, 10, "Priority", 500, 19),
    ("ENT", "Enterprise", "Premium", 39, 40, "Dedicated", 5000, 7),
    ("EDU", "Education", "Special", 5, 5, "Email", 50, 8),
    ("GOV", "Public Sector", "Special", 31, 25, "Priority", 1000, 0),
]
with open(os.path.join(out, "plans.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow("PlanCode,PlanName,Tier,ListPricePerSeat,MinSeats,SupportLevel,StorageGB".split(","))
    for p in P:
        w.writerow(p[:7])
A = "Blue Nova Bright Silver Apex Delta Green Iron Cedar Summit Vector Quantum Harbor Maple Orbit Pixel Red Stone Solar Urban Vivid Alpine Copper Crest Falcon Granite Indigo Jade Lunar Meridian Nimbus Onyx Prairie Raven Sierra Terra Union Willow Zephyr Amber".split()
B = "Labs Works Logistics Media Health Foods Systems Partners Analytics Studio Consulting Robotics Retail Finance Energy Design Motors Travel Legal Learning Security Garden Dynamics Ventures Clinic Textiles Print Homes Freight Games Optics Bakery Records Dental Apparel Sports Tools Marine Realty Events Software Insurance".split()
names = r.sample([f"{a} {b}" for a in A for b in B], 1560)
ctry = [
    ("United States", 41),
    ("United Kingdom", 15),
    ("Germany", 12),
    ("Canada", 9),
    ("France", 7),
    ("India", 6),
    ("Australia", 5),
    ("Brazil", 3),
]
ind = [
    ("Technology", 24),
    ("Retail", 16),
    ("Healthcare", 13),
    ("Education", 9),
    ("Finance", 14),
    ("Manufacturing", 11),
    ("Hospitality", 7),
]
chn = [
    ("Organic Search", 29),
    ("Paid Ads", 23),
    ("Referral", 18),
    ("Partner", 11),
    ("Outbound Sales", 9),
    ("Social Media", 8),
]
reasons = [
    ("Too expensive", 31),
    ("Missing features", 22),
    ("Switched to competitor", 18),
    ("Company closed", 9),
    ("Poor support", 8),
    ("No longer needed", 14),
]


def pick(l):
    return r.choices([x[0] for x in l], [x[1] for x in l])[0]


END = D.date(2024, 12, 31)
rows = []
for n in names:
    y = r.choices([2021, 2022, 2023, 2024], [17, 23, 28, 32])[0]
    m = r.choices(range(1, 13), [12, 9, 10, 8, 8, 7, 5, 5, 11, 10, 9, 5])[0]
    d = D.date(y, m, r.randint(1, 28))
    i = pick(ind)
    pc = None
    c = r.choices(
        P, [x[7] * (6 if x[0] == "EDU" and i == "Education" else 0.3 if x[0] == "EDU" else 1) for x in P]
    )[0]
    ch = pick(chn)
    if c[0] == "ENT" and r.random() < 0.5:
        ch = "Outbound Sales"
    seats = {
        "FRE": lambda: r.randint(1, 3),
        "STA": lambda: r.randint(1, 8),
        "TEA": lambda: 3 + int(r.expovariate(1 / 9)),
        "BUS": lambda: 10 + int(r.expovariate(1 / 24)),
        "ENT": lambda: 40 + int(r.expovariate(1 / 90)),
        "EDU": lambda: 5 + int(r.expovariate(1 / 30)),
    }[c[0]]()
    bill = "Monthly" if c[0] == "FRE" or r.random() < 0.56 else "Annual"
    disc = 0 if c[0] == "FRE" else r.choices([0, 5, 10, 15, 20, 25], [44, 13, 19, 8, 12, 4])[0]
    if c[0] != "FRE" and bill == "Annual":
        disc = max(disc, 10)
    mrr = round(c[3] * seats * (1 - disc / 100), 2)
    haz = (
        {"FRE": 0.042, "STA": 0.034, "TEA": 0.022, "BUS": 0.013, "ENT": 0.007, "EDU": 0.012}[c[0]]
        * (0.55 if bill == "Annual" else 1)
        * (1.35 if ch == "Paid Ads" else 0.75 if ch == "Referral" else 1)
    )
    t = int(r.expovariate(haz) * 30.4) + 6
    ce = d + D.timedelta(t)
    churn = ce.isoformat() if ce <= END else ""
    reason = (pick(reasons) if r.random() < 0.86 else "") if churn else ""
    nps = "" if r.random() < 0.38 else max(0, min(10, int(round(r.gauss(6.0 if churn else 7.9, 1.9)))))
    tick = min(60, int(r.expovariate(1 / (1.2 + seats * 0.09))))
    pilot = "" if c[0] == "FRE" else ("Y" if r.random() < 0.58 else "N")
    rows.append(
        (
            d,
            n,
            pick(ctry) if r.random() > 0.015 else "",
            i,
            c[0],
            churn,
            seats,
            mrr,
            bill,
            disc,
            ch,
            pilot,
            nps,
            tick,
            reason,
        )
    )
rows.sort(key=lambda x: (x[0], x[1]))
with open(os.path.join(out, "subscriptions.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        "SubscriberID,Company,Country,Industry,PlanCode,SignupDate,ChurnDate,Seats,MRR,BillingCycle,DiscountPct,AcquisitionChannel,StartedAsTrial,NPS,SupportTickets,ChurnReason".split(
            ","
        )
    )
    for k, x in enumerate(rows):
        w.writerow([f"SUB-{k + 1:05d}", x[1], x[2], x[3], x[4], x[0].isoformat(), *x[5:]])
