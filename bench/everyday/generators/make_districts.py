#!/usr/bin/env python3
"""districts.json: yearly figures of the districts of a made-up country."""

import json, os, random, sys

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(7306)
A = "Alder Bram Cold Dun East Fal Glen Hart Iron Kes Lang Mar North Oak Pen Quar Red Sand Thorn Ulver"
A = A.split()
B = "bury field ford ham leigh mouth ness port stead ton wick worth".split()
PROV = ["Highmark", "Lowlands", "Southreach", "Isle Coast", "Vale"]
seen = set()
rows = []
i = 0
while len(seen) < 64:
    n = R.choice(A) + R.choice(B)
    if n in seen:
        continue
    seen.add(n)
    i += 1
    prov = R.choices(PROV, [12, 18, 15, 8, 11])[0]
    kind = R.choices(["urban", "rural", "mixed"], [25, 45, 30])[0]
    pop = R.lognormvariate({"urban": 12.1, "rural": 10.2, "mixed": 11.1}[kind], 0.45)
    area = round(R.lognormvariate({"urban": 4.7, "rural": 6.7, "mixed": 6.0}[kind], 0.4), 1)
    gdp = R.lognormvariate({"urban": 10.55, "rural": 10.1, "mixed": 10.25}[kind], 0.15)
    grow = R.gauss({"urban": 0.011, "rural": -0.006, "mixed": 0.003}[kind], 0.006)
    unem = R.gauss({"Highmark": 5, "Southreach": 7.5, "Isle Coast": 8.3}.get(prov, 6), 1)
    beds = pop / 1000 * R.gauss({"urban": 4.6, "rural": 2.1, "mixed": 3}[kind], 0.6)
    coast = prov == "Isle Coast" or (prov == "Southreach" and R.random() < 0.4)
    for y in range(2017, 2025):
        pop *= 1 + grow + R.gauss(0, 0.002)
        gdp *= 1 + R.gauss(0.025 if y != 2020 else -0.045, 0.012)
        unem = max(1.8, unem + R.gauss(-0.15 if y != 2020 else 1.7, 0.3))
        births = int(pop * R.gauss(0.0094, 0.0008))
        deaths = int(pop * R.gauss(0.0096 if kind != "urban" else 0.0081, 0.0007))
        cars = R.gauss({"urban": 0.41, "rural": 0.66, "mixed": 0.56}[kind], 0.02)
        rows.append(
            {
                "dist_code": f"D{i:03d}",
                "District": n,
                "Province": prov,
                "Settlement type": kind,
                "coastal": "yes" if coast else "no",
                "Year": y,
                "Population": int(pop),
                "Area_km2": area,
                "GDP (mn)": round(gdp * pop / 1e6, 1),
                "Unempl. rate %": round(unem, 1),
                "Live births": births,
                "Deaths": deaths,
                "Hosp. beds": int(max(12, beds * (1 - 0.006 * (y - 2017)))) if R.random() > 0.03 else None,
                "Cars registered": int(pop * cars),
                "New dwellings": max(0, int(R.gauss(pop * 0.0036, pop * 0.0011))),
                "Avg rent/m2": round(R.gauss({"urban": 11.8, "rural": 6.4, "mixed": 8.1}[kind], 0.6), 2)
                + round(0.31 * (y - 2017), 2)
                if R.random() > 0.05
                else None,
            }
        )
for r in rows:
    if r["Avg rent/m2"] is not None:
        r["Avg rent/m2"] = round(r["Avg rent/m2"], 2)
with open(os.path.join(out, "districts.json"), "w", encoding="utf-8") as fh:
    json.dump(rows, fh, indent=1)
