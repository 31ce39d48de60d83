import random, sys, os, sqlite3, datetime as D

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(5150)
p = os.path.join(out, "vet.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE Owners(OwnerID INTEGER PRIMARY KEY, FullName TEXT, Town TEXT, Phone TEXT, Email TEXT, RegisteredOn TEXT, NewsletterOptIn INTEGER);
CREATE TABLE Pets(PetID INTEGER PRIMARY KEY, OwnerID INTEGER REFERENCES Owners(OwnerID), PetName TEXT, Species TEXT, Breed TEXT, Sex TEXT, BirthDate TEXT, WeightKg REAL, Neutered TEXT, Insured TEXT);
CREATE TABLE Vets(VetID INTEGER PRIMARY KEY, VetName TEXT, Specialty TEXT, HireDate TEXT);
CREATE TABLE Appointments(ApptID INTEGER PRIMARY KEY, PetID INTEGER REFERENCES Pets(PetID), VetID INTEGER REFERENCES Vets(VetID), BookedOn TEXT, ApptDate TEXT, StartTime TEXT, DurationMin INTEGER, Reason TEXT, Status TEXT);
CREATE TABLE Medicines(MedicineID INTEGER PRIMARY KEY, MedicineName TEXT, Category TEXT, Supplier TEXT, UnitPrice REAL, StockQty INTEGER, ReorderLevel INTEGER, ExpiryDate TEXT);
CREATE TABLE Treatments(TreatmentID INTEGER PRIMARY KEY, ApptID INTEGER REFERENCES Appointments(ApptID), MedicineID INTEGER REFERENCES Medicines(MedicineID), TreatmentName TEXT, Qty INTEGER, Fee REAL);
CREATE TABLE Invoices(InvoiceID INTEGER PRIMARY KEY, ApptID INTEGER REFERENCES Appointments(ApptID), InvoiceDate TEXT, Amount REAL, PaidDate TEXT, PayMethod TEXT);
""")
F = "Alice Ben Carol Dan Ella Frank Grace Harry Isla Jack Kate Leo Megan Nick Oscar Poppy Rachel Sam Tina Will Fiona George Helen Ian Joanna Keith Laura Martin Naomi Owen".split()
L = "Adams Baker Carter Dixon Evans Foster Green Hughes Irving Jenkins Knight Lawson Marsh Nolan Osborne Parker Quinn Reid Shaw Turner Underwood Vaughan Watts York Barnes Cole Doyle Ellis".split()
T = [
    ("Ashford", 29),
    ("Brookfield", 22),
    ("Millbury", 17),
    ("Oakham", 13),
    ("Stonebridge", 11),
    ("Westcliff", 8),
]


def pick(l):
    return r.choices([x[0] for x in l], [x[1] for x in l])[0]


names = r.sample([f"{a} {b}" for a in F for b in L], 410)
BR = {
    "Dog": [
        ("Labrador", 22, 30),
        ("Cocker Spaniel", 14, 14),
        ("German Shepherd", 10, 34),
        ("French Bulldog", 16, 12),
        ("Border Collie", 9, 19),
        ("Mixed breed", 20, 18),
        ("Chihuahua", 7, 2.8),
    ],
    "Cat": [
        ("Domestic Shorthair", 50, 4.4),
        ("Maine Coon", 13, 6.6),
        ("Siamese", 11, 4.0),
        ("British Shorthair", 16, 5.2),
        ("Bengal", 8, 5.0),
    ],
    "Rabbit": [("Lop", 55, 2.3), ("Netherland Dwarf", 45, 1.1)],
    "Guinea pig": [("Abyssinian", 100, 1.0)],
    "Bird": [("Budgerigar", 70, 0.04), ("Cockatiel", 30, 0.1)],
    "Reptile": [("Bearded Dragon", 60, 0.45), ("Corn Snake", 40, 0.8)],
}
PN = "Bella Max Luna Charlie Milo Coco Rocky Daisy Buddy Molly Simba Oreo Teddy Willow Ruby Oscar Nala Alfie Poppy Jasper Rosie Toby Ziggy Pepper Misty Shadow Biscuit Ginger Hazel Felix".split()
pets = []
pid = 0
for i, n in enumerate(names, 1):
    reg = D.date(
        r.choices([2019, 2020, 2021, 2022, 2023, 2024], [14, 14, 18, 20, 20, 14])[0],
        r.randint(1, 12),
        r.randint(1, 28),
    )
    if reg > D.date(2024, 9, 1):
        reg = D.date(2024, r.randint(1, 8), r.randint(1, 28))
    a, b = n.split()
    c.execute(
        "INSERT INTO Owners VALUES(?,?,?,?,?,?,?)",
        (
            i,
            n,
            pick(T),
            f"01{r.randint(200, 999)} {r.randint(100000, 999999)}" if r.random() > 0.04 else None,
            f"{a}.{b}@mail.example".lower() if r.random() > 0.13 else None,
            reg.isoformat(),
            int(r.random() < 0.47),
        ),
    )
    for _ in range(r.choices([1, 2, 3, 4, 5], [60, 25, 9, 4, 2])[0]):
        pid += 1
        sp = r.choices(["Dog", "Cat", "Rabbit", "Guinea pig", "Bird", "Reptile"], [46, 35, 9, 4, 3, 3])[0]
        br, _, w = r.choices(BR[sp], [x[1] for x in BR[sp]])[0]
        bd = D.date(r.randint(2008, 2023), r.randint(1, 12), r.randint(1, 28))
        c.execute(
            "INSERT INTO Pets VALUES(?,?,?,?,?,?,?,?,?,?)",
            (
                pid,
                i,
                r.choice(PN),
                sp,
                br if r.random() > 0.03 else None,
                r.choice("MF"),
                bd.isoformat() if r.random() > 0.06 else None,
                round(w * r.uniform(0.75, 1.3), 2) if r.random() > 0.04 else None,
                "Yes" if r.random() < (0.66 if sp in ("Dog", "Cat") else 0.2) else "No",
                "Yes" if r.random() < {"Dog": 0.52, "Cat": 0.36}.get(sp, 0.08) else "No",
            ),
        )
        pets.append((pid, sp, reg, bd))
V = [
    ("Dr. Sarah Whitmore", "Surgery", "2012-03-05", 25),
    ("Dr. James Okafor", "General practice", "2016-09-12", 23),
    ("Dr. Lucy Chen", "Dermatology", "2018-01-22", 15),
    ("Dr. Tom Bradshaw", "General practice", "2019-06-03", 19),
    ("Dr. Nadia Petrov", "Exotics", "2021-02-15", 10),
    ("Dr. Ewan McKay", "Dentistry", "2020-10-01", 12),
]
for i, v in enumerate(V, 1):
    c.execute("INSERT INTO Vets VALUES(?,?,?,?)", (i,) + v[:3])
MED = [
    ("Amoxicillin 250mg", "Antibiotic", 0.85, 14),
    ("Clindamycin 75mg", "Antibiotic", 1.1, 7),
    ("Doxycycline 100mg", "Antibiotic", 1.35, 6),
    ("Cefalexin 300mg", "Antibiotic", 0.95, 5),
    ("Meloxicam oral", "Pain relief", 14.5, 13),
    ("Carprofen 50mg", "Pain relief", 1.6, 10),
    ("Tramadol 50mg", "Pain relief", 1.25, 4),
    ("Gabapentin 100mg", "Pain relief", 0.9, 5),
    ("Frontline Spot-On", "Parasite control", 9.8, 15),
    ("Bravecto Chew", "Parasite control", 28.9, 9),
    ("Milbemax Tablet", "Parasite control", 6.4, 12),
    ("Panacur Paste", "Parasite control", 7.2, 6),
    ("Rabies vaccine", "Vaccine", 18.0, 9),
    ("DHPP vaccine", "Vaccine", 22.5, 20),
    ("FVRCP vaccine", "Vaccine", 21.0, 15),
    ("Myxomatosis vaccine", "Vaccine", 19.5, 4),
    ("Prednisolone 5mg", "Steroid", 0.55, 8),
    ("Dexamethasone inj", "Steroid", 8.3, 3),
    ("Propofol", "Anaesthetic", 16.8, 6),
    ("Isoflurane", "Anaesthetic", 24.2, 4),
    ("Otomax ear drops", "Dermatology", 19.9, 6),
    ("Malaseb shampoo", "Dermatology", 15.4, 4),
    ("Insulin Caninsulin", "Endocrine", 33.0, 2),
    ("Thyronorm", "Endocrine", 29.5, 2),
    ("Metacam Cat", "Pain relief", 13.2, 6),
    ("Chloramphenicol drops", "Antibiotic", 6.9, 0),
]
sup = ["VetSupply Ltd", "Animalcare Direct", "MediPaws", "Henshaw Pharma"]
for i, (n, k, u, w) in enumerate(MED, 1):
    ro = r.choice([20, 30, 40, 50])
    c.execute(
        "INSERT INTO Medicines VALUES(?,?,?,?,?,?,?,?)",
        (
            i,
            n,
            k,
            r.choices(sup, [5, 4, 3, 2])[0],
            u,
            r.randint(4, 220) if r.random() > 0.3 else r.randint(2, ro - 1),
            ro,
            D.date(r.choice([2024, 2025, 2025, 2026]), r.randint(1, 12), r.randint(1, 28)).isoformat(),
        ),
    )
RS = {
    "Check-up": (26, 20, 38),
    "Vaccination": (24, 15, 24),
    "Dental": (9, 45, 145),
    "Surgery": (6, 90, 380),
    "Skin problem": (11, 25, 52),
    "Injury": (9, 30, 88),
    "Digestive issue": (8, 25, 58),
    "Follow-up": (12, 15, 22),
    "Emergency": (4, 50, 190),
}
act = [r.gammavariate(1.3, 1) for _ in pets]
idx = [i for i in range(len(pets)) if r.random() > 0.05]
import itertools

cum = list(itertools.accumulate(act[k] for k in idx))
A = []
while len(A) < 3100:
    k = r.choices(idx, cum_weights=cum)[0]
    pt = pets[k]
    d = D.date(2022, 1, 1) + D.timedelta(r.randint(0, 1095))
    wd = d.weekday()
    if wd == 6 or d < pt[2] or d < pt[3]:
        continue
    if r.random() > {0: 1, 1: 0.78, 2: 0.7, 3: 0.74, 4: 0.86, 5: 0.42}[wd] * {
        5: 1,
        6: 0.97,
        7: 0.9,
        4: 0.92,
        1: 0.68,
        2: 0.7,
        12: 0.62,
    }.get(d.month, 0.8) * (0.78 + 0.11 * (d.year - 2022)):
        continue
    A.append(
        (
            d,
            r.choice(
                [
                    "08:30",
                    "09:00",
                    "09:30",
                    "09:30",
                    "10:00",
                    "10:00",
                    "10:00",
                    "10:30",
                    "11:00",
                    "11:30",
                    "14:00",
                    "14:30",
                    "15:00",
                    "15:30",
                    "16:00",
                    "16:30",
                    "16:30",
                    "17:00",
                ]
            ),
            k,
        )
    )
A.sort()
tid = iid = 0
for n, (d, t, k) in enumerate(A, 1):
    pt = pets[k]
    rs = r.choices(list(RS), [x[0] for x in RS.values()])[0]
    w = [v[3] for v in V]
    if pt[1] in ("Bird", "Reptile"):
        w[4] *= 14
    if rs == "Surgery":
        w[0] *= 4
    if rs == "Dental":
        w[5] *= 6
    if rs == "Skin problem":
        w[2] *= 4
    v = r.choices(range(1, 7), w)[0]
    bk = d - D.timedelta(0 if rs == "Emergency" else int(r.expovariate(1 / 8)))
    u = r.random()
    st = "Completed" if u < 0.87 else "Cancelled" if u < 0.94 else "No-show"
    dur = max(5, int(r.gauss(RS[rs][1], RS[rs][1] * 0.2) / 5 + 0.5) * 5)
    c.execute(
        "INSERT INTO Appointments VALUES(?,?,?,?,?,?,?,?,?)",
        (n, pt[0], v, bk.isoformat(), d.isoformat(), t, dur, rs, st),
    )
    if st != "Completed":
        continue
    tot = 0
    base = round(RS[rs][2] * r.uniform(0.85, 1.2) * (1 + 0.05 * (d.year - 2022)), 2)
    lines = [
        (
            None,
            {
                "Check-up": "Consultation",
                "Vaccination": "Vaccination visit",
                "Dental": "Dental cleaning",
                "Surgery": "Surgical procedure",
                "Skin problem": "Skin examination",
                "Injury": "Wound care",
                "Digestive issue": "Digestive work-up",
                "Follow-up": "Re-examination",
                "Emergency": "Emergency care",
            }[rs],
            1,
            base,
        )
    ]
    if rs == "Vaccination":
        cats = ["Vaccine"] + (["Parasite control"] if r.random() < 0.3 else [])
    elif rs == "Surgery":
        cats = ["Anaesthetic", "Pain relief"] + (["Antibiotic"] if r.random() < 0.7 else [])
    elif rs == "Dental":
        cats = ["Anaesthetic"] + (["Antibiotic"] if r.random() < 0.5 else [])
    else:
        cats = [
            x
            for x, q in {
                "Check-up": [("Parasite control", 0.4)],
                "Skin problem": [("Dermatology", 0.6), ("Steroid", 0.4)],
                "Injury": [("Pain relief", 0.7), ("Antibiotic", 0.4)],
                "Digestive issue": [("Antibiotic", 0.4), ("Parasite control", 0.3)],
                "Follow-up": [("Pain relief", 0.15), ("Endocrine", 0.08)],
                "Emergency": [("Pain relief", 0.6), ("Steroid", 0.3)],
            }[rs]
            if r.random() < q
        ]
    for ct in cats:
        opts = [(i, m) for i, m in enumerate(MED, 1) if m[1] == ct and m[3]]
        if ct == "Vaccine":
            opts = [
                o
                for o in opts
                if o[1][0]
                in {
                    "Dog": ("DHPP vaccine", "Rabies vaccine"),
                    "Cat": ("FVRCP vaccine", "Rabies vaccine"),
                }.get(pt[1], ("Myxomatosis vaccine",))
            ]
        mi, m = r.choices(opts, [o[1][3] for o in opts])[0]
        q = (
            r.choice([7, 10, 14, 14, 20, 28])
            if m[2] < 2
            else r.choice([1, 1, 1, 2])
            if ct != "Vaccine"
            else 1
        )
        lines.append(
            (
                mi,
                "Medication dispensed"
                if ct not in ("Vaccine", "Anaesthetic")
                else "Injection"
                if ct == "Vaccine"
                else "Anaesthesia",
                q,
                round(m[2] * q, 2),
            )
        )
    for mi, nm, q, fee in lines:
        tid += 1
        tot += fee
        c.execute("INSERT INTO Treatments VALUES(?,?,?,?,?,?)", (tid, n, mi, nm, q, fee))
    if r.random() < 0.985:
        iid += 1
        ivd = min(D.date(2024, 12, 31), d + D.timedelta(r.choice([0, 0, 0, 0, 1, 2])))
        pay = None
        if r.random() > 0.055:
            pay = ivd + D.timedelta(0 if r.random() < 0.55 else int(r.expovariate(1 / 13)))
            if pay > D.date(2025, 1, 15):
                pay = None
        c.execute(
            "INSERT INTO Invoices VALUES(?,?,?,?,?,?)",
            (
                iid,
                n,
                ivd.isoformat(),
                round(tot, 2),
                pay and pay.isoformat(),
                r.choices(["Card", "Cash", "Bank transfer", "Pet insurance"], [58, 12, 14, 16])[0]
                if pay
                else None,
            ),
        )
c.commit()
