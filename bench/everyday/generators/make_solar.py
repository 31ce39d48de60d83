import csv, os, sys, random, math, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(4404)
sites = [
    ("Dairy Hall", "Bavaria", 96.0, dt.date(2022, 1, 1), 232, "business", 1.04),
    ("Town Hall", "Hesse", 48.5, dt.date(2022, 1, 1), 145, "business", 0.95),
    ("School Gym", "Hesse", 62.0, dt.date(2022, 5, 1), 120, "business", 0.97),
    ("Villa Rosa", "Bavaria", 9.8, dt.date(2022, 1, 1), 17, "residential", 1.06),
    ("Warehouse 7", "Saxony", 180.0, dt.date(2022, 3, 15), 330, "industrial", 0.99),
    ("Cottage Elbe", "Saxony", 6.4, dt.date(2022, 9, 1), 11, "residential", 0.9),
]
tar = {
    ("business", 2022): 0.294,
    ("business", 2023): 0.352,
    ("business", 2024): 0.311,
    ("residential", 2022): 0.338,
    ("residential", 2023): 0.419,
    ("residential", 2024): 0.372,
    ("industrial", 2022): 0.214,
    ("industrial", 2023): 0.268,
    ("industrial", 2024): 0.226,
}
fi = {2022: 0.0820, 2023: 0.0860, 2024: 0.0803}
c = lambda v, n=1: "" if v is None else ("%.*f" % (n, v)).replace(".", ",")
d = dt.date(2022, 1, 1)
rows = []
while d <= dt.date(2024, 12, 31):
    doy = d.timetuple().tm_yday
    s = math.cos((doy - 172) / 365.25 * 2 * math.pi)
    for reg, dT in (("Bavaria", -0.8), ("Hesse", 0.6), ("Saxony", -0.2)):
        cl = min(100, max(0, r.gauss(58 - 16 * s, 30)))
        temp = (
            9.8
            + dT
            + 9.6 * math.cos((doy - 200) / 365.25 * 2 * math.pi)
            + r.gauss(0, 3.6)
            - (2 if cl < 20 and s < 0 else 0)
        )
        rain = r.random() < max(0, (cl - 45) / 90)
        w = (
            "snow"
            if rain and temp < 1.0
            else "rain"
            if rain
            else "sunny"
            if cl < 28
            else "partly cloudy"
            if cl < 65
            else "overcast"
        )
        sun = max(0, (12.2 + 4.1 * s) * (1 - cl / 100) * r.uniform(0.85, 1.0))
        for n, rg, kwp, st, base, tt, eff in sites:
            if rg != reg or d < st:
                continue
            irr = (3.05 + 2.35 * s) * (1.28 - 0.95 * cl / 100) * (0.25 if w == "snow" else 1)
            prod = max(0.02, kwp * eff * irr * 0.82 * r.uniform(0.93, 1.05) * (1 - 0.006 * (d.year - 2022)))
            flt = 1 if r.random() < (0.016 if n != "Warehouse 7" else 0.034) else 0
            if flt:
                prod *= r.uniform(0.0, 0.45)
            cons = base * (1 + 0.16 * -s) * r.uniform(0.86, 1.15)
            if tt != "residential":
                cons *= 0.42 if d.weekday() >= 5 else 1.12
            else:
                cons *= 1.18 if d.weekday() >= 5 else 0.95
            if n == "School Gym" and d.month == 8:
                cons *= 0.35
            selfu = min(prod, cons) * (r.uniform(0.62, 0.78))
            exp = prod - selfu
            imp = cons - selfu
            if r.random() < 0.008:
                prod = exp = None
            rows.append(
                [
                    d.strftime("%d.%m.%Y"),
                    n,
                    rg,
                    c(kwp),
                    tt,
                    c(prod, 2),
                    c(cons, 2),
                    c(exp, 2),
                    c(imp, 2),
                    c(tar[tt, d.year], 3),
                    c(fi[d.year], 4),
                    c(temp),
                    c(sun),
                    str(round(cl)) if r.random() > 0.01 else "",
                    w,
                    flt,
                ]
            )
    d += dt.timedelta(1)
with open(os.path.join(out, "solar.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        [
            "Date",
            "Site",
            "Region",
            "Capacity (kWp)",
            "Tariff Class",
            "Production (kWh)",
            "Consumption (kWh)",
            "Grid Export (kWh)",
            "Grid Import (kWh)",
            "Tariff (EUR/kWh)",
            "Feed-in Rate (EUR/kWh)",
            "Avg Temp (C)",
            "Sunshine (h)",
            "Cloud Cover (%)",
            "Weather",
            "Inverter Fault",
        ]
    )
    w.writerows(rows)
