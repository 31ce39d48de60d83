"""energy.csv: monthly electricity meter readings, semicolon separated, decimal commas, dd.mm.yyyy dates, 2022-2024."""

import csv, math, os, random, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(815)
TYPES = {  # n, base kWh/month, area range, tariffs, heating weights
    "Apartment": (
        38,
        165,
        (42, 110),
        ["Standard", "Standard", "Green Flex", "Night Saver"],
        {"Gas": 5, "District heating": 6, "Electric": 2},
    ),
    "Detached house": (
        22,
        330,
        (105, 240),
        ["Standard", "Green Flex", "Green Flex", "Night Saver"],
        {"Gas": 4, "Heat pump": 5, "Electric": 1},
    ),
    "Row house": (
        15,
        262,
        (85, 150),
        ["Standard", "Standard", "Night Saver", "Green Flex"],
        {"Gas": 6, "Heat pump": 2, "District heating": 2},
    ),
    "Office": (9, 3350, (300, 1400), ["Business"], {"Gas": 3, "District heating": 4, "Heat pump": 2}),
    "Shop": (
        8,
        1720,
        (80, 420),
        ["Business", "Business", "Standard"],
        {"Gas": 3, "Electric": 2, "District heating": 2},
    ),
    "School": (4, 6400, (1900, 4200), ["Business"], {"District heating": 3, "Gas": 1}),
}
DIST = {"Altstadt": 20, "Nordend": 30, "Hafen": 14, "Westpark": 22, "Lindenau": 10}
PRICE = {"Standard": 0.318, "Night Saver": 0.291, "Green Flex": 0.304, "Business": 0.247}
BASE = {"Standard": 9.5, "Night Saver": 11.9, "Green Flex": 10.5, "Business": 34.0}
SEAS = [1.24, 1.17, 1.09, 0.97, 0.9, 0.86, 0.83, 0.84, 0.92, 1.01, 1.12, 1.22]
PY = {2022: 1.0, 2023: 1.27, 2024: 1.11}


def pick(d):
    return R.choices(list(d), list(d.values()))[0]


meters = []
no = 1000
for t, (n, base, area, tars, heat) in TYPES.items():
    for _ in range(n):
        no += R.randint(1, 9)
        a = R.randint(*area)
        h = pick(heat)
        home = t in ("Apartment", "Detached house", "Row house")
        meters.append(
            dict(
                id=f"MTR-{no}",
                t=t,
                d=pick(DIST),
                tar=R.choice(tars),
                a=a,
                h=h,
                occ=(
                    R.choices([1, 2, 3, 4, 5], [6, 8, 5, 4, 1] if t == "Apartment" else [1, 6, 6, 7, 3])[0]
                    if home
                    else None
                ),
                solar=R.random()
                < {"Detached house": 0.45, "Row house": 0.27, "School": 0.5, "Office": 0.22}.get(t, 0.03),
                base=base * (0.55 + 0.45 * a / ((area[0] + area[1]) / 2)) * R.lognormvariate(0, 0.16),
                slow=R.random() < 0.15,
                sw=None,
            )
        )
for m in R.sample([m for m in meters if m["tar"] == "Standard" and m["t"] != "Shop"], 9):
    m["sw"] = (
        date(R.choice([2023, 2023, 2024]), R.choice([1, 4, 7, 10]), 1),
        R.choice(["Green Flex", "Night Saver"]),
    )
de = lambda x, k: "" if x is None else f"{x:.{k}f}".replace(".", ",")
dd = lambda x: "" if x is None else x.strftime("%d.%m.%Y")
rows = []
for m in meters:
    start = R.choice([0] * 9 + [5, 8, 14])
    for k in range(start, 36):
        y, mo = 2022 + k // 12, k % 12 + 1
        if R.random() < 0.006:
            continue
        rd = date(y, mo, R.choice([24, 25, 26, 27, 28]))
        tar = m["sw"][1] if m["sw"] and rd >= m["sw"][0] else m["tar"]
        s = SEAS[mo - 1]
        amp = {"Electric": 2.1, "Heat pump": 1.7}.get(m["h"], 1)
        f = max(0.45, 1 + (s - 1) * amp) * ({"Electric": 1.5, "Heat pump": 1.35}.get(m["h"], 1))
        if m["t"] == "School" and mo in (7, 8):
            f *= 0.38
        if m["t"] == "Shop" and mo == 12:
            f *= 1.22
        if m["t"] == "Office" and mo in (6, 7, 8):
            f *= 1.28
        if m["solar"]:
            f *= 1 - 0.52 * max(0, math.sin(math.pi * (mo - 1.5) / 10.5))
        if m["occ"]:
            f *= 0.72 + 0.13 * m["occ"]
        kwh = m["base"] * f * {2022: 1.0, 2023: 0.93, 2024: 0.965}[y] * R.lognormvariate(0, 0.07)
        pr = round(PRICE[tar] * PY[y] * (1.02 if mo >= 7 and y == 2022 else 1), 4)
        rt = R.choices(["actual", "estimated", "customer"], [80, 13 if y > 2022 else 22, 7])[0]
        outage = R.choices([0, R.randint(3, 25), R.randint(30, 190)], [93, 5, 2 if m["d"] != "Hafen" else 6])[
            0
        ]
        if R.random() < 0.014:
            rows.append(
                [
                    m["id"],
                    m["t"],
                    m["d"],
                    tar,
                    dd(rd),
                    "",
                    "",
                    de(pr, 4),
                    "",
                    m["a"],
                    m["occ"] or "",
                    "yes" if m["solar"] else "no",
                    m["h"],
                    "failed",
                    "",
                    "",
                    "",
                    outage,
                ]
            )
            continue
        kwh = round(kwh, 1)
        peak = round(
            kwh / 30 / 24 * R.uniform(2.6, 5.2) * (1.3 if m["h"] in ("Electric", "Heat pump") else 1), 2
        )
        bill = round(kwh * pr + BASE[tar], 2)
        inv = rd + timedelta(days=R.randint(5, 11))
        due = inv + timedelta(days=14)
        delay = (
            R.randint(15, 41)
            if R.random() < (0.55 if m["slow"] else 0.08 + 0.05 * (m["t"] == "Shop"))
            else R.randint(1, 14)
        )
        paid = inv + timedelta(days=delay)
        if paid > date(2024, 12, 31) or R.random() < (0.05 if m["slow"] else 0.006):
            paid = None
        rows.append(
            [
                m["id"],
                m["t"],
                m["d"],
                tar,
                dd(rd),
                de(kwh, 1),
                de(peak, 2),
                de(pr, 4),
                de(bill, 2),
                m["a"],
                m["occ"] or "",
                "yes" if m["solar"] else "no",
                m["h"],
                rt,
                dd(inv),
                dd(due),
                dd(paid),
                outage,
            ]
        )
with open(os.path.join(out, "energy.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        [
            "MeterID",
            "BuildingType",
            "District",
            "Tariff",
            "ReadDate",
            "Consumption_kWh",
            "PeakLoad_kW",
            "Price_EUR_per_kWh",
            "BillAmt_EUR",
            "FloorArea_m2",
            "Occupants",
            "HasSolar",
            "Heating",
            "ReadingType",
            "InvoiceDate",
            "DueDate",
            "PaidOn",
            "OutageMin",
        ]
    )
    w.writerows(rows)
