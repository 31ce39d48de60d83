#!/usr/bin/env python3
"""waste_collection.csv: weighbridge tickets of a town's waste collection."""

import csv, os, random, sys
from datetime import date, timedelta

import names

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(7305)
ROUTES = [
    # code, district, households, weekday
    ("N1", "Northgate", 3120, 0),
    ("N2", "Northgate", 2740, 1),
    ("E1", "Eastfield", 4180, 2),
    ("E2", "Eastfield", 3660, 3),
    ("S1", "Southbank", 2210, 4),
    ("S2", "Southbank", 2890, 0),
    ("W1", "Westhill", 1980, 1),
    ("W2", "Westhill", 1540, 2),
    ("C1", "Old Town", 5020, 3),
]
STREAMS = [
    # name, every n weeks, kg per household, facility, gate fee per tonne
    ("Residual", 1, 3.6, "Kilnside Incinerator", 96),
    ("Paper/Card", 2, 1.5, "Greenloop MRF", -18),
    ("Packaging", 2, 1.1, "Greenloop MRF", 41),
    ("Glass", 4, 1.7, "Quarry Lane Transfer Stn", 12),
    ("Organics", 1, 1.2, "Hollow Farm Composting", 54),
]
TRUCKS = ["T-03", "T-07", "T-08", "T-11", "T-12", "T-15", "T-16"]
drivers = names.people(R, 11)
rows = []
d0 = date(2024, 1, 1)
k = 50210
for wk in range(78):
    for code, dis, hh, wday in ROUTES:
        for si, (st, ev, kg, fac, fee) in enumerate(STREAMS):
            if (wk + wday + si) % ev:
                continue
            d = d0 + timedelta(wk * 7 + (wday + (si // 2)) % 5)
            if (d.month, d.day) in ((1, 1), (12, 25), (12, 26)):
                continue
            seas = 1
            if st == "Organics":
                seas = {1: 0.5, 2: 0.55, 4: 1.2, 5: 1.5, 6: 1.5, 7: 1.3, 10: 1.4, 12: 0.5}.get(d.month, 1)
            if st in ("Glass", "Paper/Card") and d.month == 1:
                seas = 1.35
            t = hh * kg * seas * ev**0.85 * R.gauss(1, 0.09) / 1000
            t *= 1.12 if dis == "Old Town" and st == "Residual" else 1
            t *= 0.97 if d.year == 2025 and st == "Residual" else 1
            cont = {"Residual": None, "Paper/Card": 5, "Packaging": 14, "Glass": 2.5, "Organics": 6}[st]
            if cont is not None:
                cont = round(max(0.3, R.gauss(cont * (1.5 if dis == "Old Town" else 1), cont * 0.3)), 1)
            stt = R.choices(["Completed", "Partial", "Missed"], [93, 5, 2])[0]
            if stt == "Partial":
                t *= R.uniform(0.4, 0.8)
            tare = R.choice([11.2, 11.6, 12.4, 10.9])
            net = round(t, 2)
            k += R.randint(1, 3)
            start = 5 * 60 + R.choice([30, 45, 60])
            dur = int(hh / 11 * R.gauss(1, 0.08)) + 40
            end = start + dur
            rel = cont is not None and cont > 20
            ok = stt != "Missed"
            note = R.choices(["", "Road closed", "Breakdown"], [94, 4, 2])[0]
            rows.append(
                [
                    f"WB{k}" if ok else "",
                    d.isoformat(),
                    code,
                    dis,
                    hh,
                    st,
                    R.choice(TRUCKS) if ok else "",
                    drivers[(ROUTES.index((code, dis, hh, wday)) + R.choice([0, 0, 0, 1])) % 11],
                    stt,
                    f"{start // 60:02d}:{start % 60:02d}" if ok else "",
                    f"{end // 60:02d}:{end % 60:02d}" if ok else "",
                    round(net + tare, 2) if ok else "",
                    tare if ok else "",
                    net if ok else "",
                    cont if ok and cont is not None and R.random() > 0.04 else "",
                    fac if ok else "",
                    fee,
                    round(net * fee, 2) if ok else "",
                    "Load rejected" if ok and rel else note,
                ]
            )
rows.sort(key=lambda r: (r[1], r[2]))
head = (
    "Ticket;Coll. Date;Route;District;Households;Waste Stream;Truck;Driver;Coll. Status;Start;End"
    ";Gross wt (t);Tare wt (t);Net wt (t);Contam. %;Facility;Gate fee EUR/t;Cost EUR;Remarks"
)
with open(os.path.join(out, "waste_collection.csv"), "w", newline="", encoding="utf-8") as fh:
    w = csv.writer(fh)
    w.writerow(head.split(";"))
    w.writerows(rows)
