"""clinic_visits.csv: one row per booked appointment at an outpatient clinic, 2022-2024."""

import csv, os, random, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4711)
DEPTS = {  # name: (weight, base cost, base wait, noshow, doctors{name:(weight, wait factor, cost factor)}, diagnoses)
    "General Practice": (
        34,
        118,
        24,
        0.085,
        {
            "Dr. James Porter": (10, 1.25, 1.0),
            "Dr. Lucy Chen": (12, 0.70, 1.05),
            "Dr. Omar Farouk": (7, 1.05, 0.95),
            "Dr. Ingrid Solberg": (5, 0.92, 1.1),
        },
        [
            "Upper respiratory infection",
            "Hypertension",
            "Type 2 diabetes",
            "Annual check-up",
            "Back pain",
            "Influenza",
        ],
    ),
    "Cardiology": (
        14,
        372,
        33,
        0.055,
        {"Dr. Helen Okafor": (8, 1.1, 1.12), "Dr. Marcus Lind": (6, 0.9, 0.97)},
        ["Atrial fibrillation", "Hypertension", "Chest pain", "Heart failure"],
    ),
    "Orthopedics": (
        17,
        298,
        38,
        0.075,
        {"Dr. Priya Raman": (9, 0.95, 1.08), "Dr. Tom Brandt": (7, 1.3, 0.96)},
        ["Knee pain", "Fracture follow-up", "Back pain", "Shoulder injury"],
    ),
    "Dermatology": (
        12,
        165,
        27,
        0.14,
        {"Dr. Sofia Marino": (7, 0.85, 1.15), "Dr. Alan Whitfield": (5, 1.2, 0.9)},
        ["Eczema", "Acne", "Mole check", "Psoriasis"],
    ),
    "Pediatrics": (
        13,
        132,
        21,
        0.10,
        {"Dr. Grace Kim": (8, 0.88, 1.04), "Dr. Nadia Haddad": (5, 1.18, 0.98)},
        ["Vaccination", "Ear infection", "Asthma", "Upper respiratory infection"],
    ),
    "Neurology": (
        6,
        415,
        41,
        0.065,
        {"Dr. Viktor Petrov": (1, 1.0, 1.0)},
        ["Migraine", "Epilepsy", "Neuropathy"],
    ),
    "ENT": (
        5,
        187,
        29,
        0.09,
        {"Dr. Rosa Delgado": (1, 1.0, 1.0)},
        ["Sinusitis", "Ear infection", "Hearing loss", "Tonsillitis"],
    ),
}
CITIES = {
    "Springfield": 40,
    "Riverton": 22,
    "Oakdale": 14,
    "Fairview": 9,
    "Milford": 7,
    "Clayton": 5,
    "Lakewood": 3,
}
INS = {"BlueShield": 30, "UnitedCare": 22, "Aetna": 15, "Medicaid": 12, "Self-pay": 10}
COVER = {
    "BlueShield": 0.80,
    "UnitedCare": 0.74,
    "Aetna": 0.69,
    "Medicaid": 0.91,
    "Medicare": 0.85,
    "Self-pay": 0.0,
}


def pick(d):
    return R.choices(list(d), [v[0] if isinstance(v, tuple) else v for v in d.values()])[0]


def mk_patients(n, start, kids):
    ps = []
    for i in range(n):
        by = R.randint(2008, 2021) if kids else int(R.triangular(1934, 2004, 1962))
        ins = pick(INS)
        if 2023 - by >= 66 and R.random() < 0.8:
            ins = "Medicare"
        ps.append(
            dict(
                id=f"P{start + i:05d}",
                by=by,
                g=R.choices(["F", "M", "X"], [55, 44, 1])[0],
                city=pick(CITIES),
                ins=ins,
                w=R.paretovariate(1.6),
            )
        )
    return ps


adults, kids = mk_patients(1150, 10001, False), mk_patients(230, 20001, True)
for p in adults + kids:
    p["w"] = min(p["w"], 9)
aw, kw = [p["w"] for p in adults], [p["w"] for p in kids]
SEAS = [1.25, 1.2, 1.1, 0.98, 0.95, 0.85, 0.72, 0.7, 0.98, 1.1, 1.18, 1.02]
rows = []
d = date(2022, 1, 3)
while d <= date(2024, 12, 30):
    wd = d.weekday()
    base = (
        [5.6, 4.7, 4.3, 4.5, 3.6, 1.2, 0][wd]
        * SEAS[d.month - 1]
        * {2022: 0.86, 2023: 1.0, 2024: 1.13}[d.year]
    )
    if (d.month, d.day) in ((1, 1), (7, 4), (12, 25), (12, 26)):
        base = 0
    n = int(base) + (R.random() < base - int(base))
    if base:
        n = max(0, n + R.choice([-1, 0, 0, 1]))
    for _ in range(n):
        dep = pick(DEPTS)
        _, c0, w0, ns, docs, diags = DEPTS[dep]
        doc = pick(docs)
        _, wf, cf = docs[doc]
        p = (
            R.choices(kids, kw)[0]
            if dep == "Pediatrics"
            else (R.choices(kids, kw)[0] if dep == "ENT" and R.random() < 0.25 else R.choices(adults, aw)[0])
        )
        vt = R.choices(
            ["New patient", "Follow-up", "Telehealth", "Urgent"],
            [28, 47, {2022: 10, 2023: 14, 2024: 18}[d.year], 9],
        )[0]
        lead = {
            "New patient": R.randint(6, 48),
            "Follow-up": R.randint(4, 35),
            "Telehealth": R.randint(1, 14),
            "Urgent": R.choice([0, 0, 0, 1, 1, 2]),
        }[vt]
        noshow = R.random() < ns * (1.5 if lead > 25 else 0.8) * (0.4 if vt == "Urgent" else 1)
        ins = None if R.random() < 0.025 else p["ins"]
        if noshow:
            wait = dur = cost = paid = sat = diag = None
            rx = "No"
        else:
            wait = max(
                0, round(R.gammavariate(4, w0 * wf / 4) * {"Telehealth": 0.35, "Urgent": 1.35}.get(vt, 1))
            )
            dur = max(
                5,
                round(
                    R.gauss({"New patient": 31, "Follow-up": 18, "Telehealth": 14, "Urgent": 26}[vt], 5)
                    * (1.25 if dep in ("Neurology", "Cardiology") else 1)
                ),
            )
            cost = round(
                c0
                * cf
                * {"New patient": 1.35, "Follow-up": 0.9, "Telehealth": 0.6, "Urgent": 1.6}[vt]
                * R.lognormvariate(0, 0.22)
                * {2022: 1, 2023: 1.05, 2024: 1.11}[d.year],
                2,
            )
            paid = (
                0.0
                if ins is None
                else round(
                    cost * min(1, max(0, COVER[ins] + (R.gauss(0, 0.05) if ins != "Self-pay" else 0))), 2
                )
            )
            sat = None if R.random() < 0.33 else min(10, max(1, round(9.3 - wait / 17 + R.gauss(0, 1.1))))
            diag = (
                None
                if R.random() < 0.04
                else R.choices(diags, [len(diags) + 1 - i for i in range(len(diags))])[0]
            )
            rx = "Yes" if R.random() < 0.46 else "No"
        rows.append(
            [
                d.isoformat(),
                (d - timedelta(days=lead)).isoformat(),
                p["id"],
                d.year - p["by"],
                p["g"],
                p["city"],
                dep,
                doc,
                vt,
                ins,
                wait,
                dur,
                cost,
                paid,
                int(noshow),
                sat,
                rx,
                diag,
            ]
        )
    d += timedelta(days=1)
with open(os.path.join(out, "clinic_visits.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        [
            "Visit ID",
            "Visit Date",
            "Booked On",
            "Patient ID",
            "Patient Age",
            "Gender",
            "City",
            "Department",
            "Doctor",
            "Visit Type",
            "Insurance",
            "Wait (min)",
            "Consultation (min)",
            "Cost (USD)",
            "Insurance Paid (USD)",
            "No Show",
            "Satisfaction (1-10)",
            "Prescription",
            "Diagnosis",
        ]
    )
    for i, r in enumerate(rows):
        r = ["" if x is None else x for x in r]
        for j in (12, 13):
            if r[j] != "":
                r[j] = f"{r[j]:.2f}"
        w.writerow([f"V{100001 + i}"] + r)
