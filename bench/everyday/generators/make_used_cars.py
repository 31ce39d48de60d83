import csv, random, sys, os, datetime as D, math

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
r = random.Random(8821)
M = [
    ("Volkswagen", "Golf", "hatchback", 27000, 9),
    ("Volkswagen", "Passat", "estate", 37000, 6),
    ("Volkswagen", "Polo", "hatchback", 19500, 6),
    ("BMW", "3 Series", "saloon", 45500, 7),
    ("BMW", "X3", "SUV", 58000, 4),
    ("Audi", "A4", "saloon", 43000, 6),
    ("Audi", "Q5", "SUV", 56500, 3),
    ("Ford", "Fiesta", "hatchback", 17500, 8),
    ("Ford", "Focus", "hatchback", 24000, 7),
    ("Ford", "Kuga", "SUV", 33000, 3),
    ("Toyota", "Yaris", "hatchback", 18800, 5),
    ("Toyota", "RAV4", "SUV", 38500, 3),
    ("Skoda", "Octavia", "estate", 28500, 7),
    ("Renault", "Clio", "hatchback", 17200, 5),
    ("Fiat", "500", "hatchback", 16300, 4),
    ("Mercedes-Benz", "C-Class", "saloon", 47500, 5),
    ("Mercedes-Benz", "E-Class", "estate", 60500, 3),
    ("Mazda", "MX-5", "convertible", 31500, 2),
    ("Tesla", "Model 3", "saloon", 49000, 3),
    ("Hyundai", "i30", "hatchback", 23000, 4),
    ("Kia", "Sportage", "SUV", 32500, 3),
]
regs = [
    ("Bavaria", 24),
    ("North Rhine-Westphalia", 30),
    ("Baden-Württemberg", 19),
    ("Hesse", 11),
    ("Saxony", 8),
    ("Berlin", 9),
    ("Hamburg", 6),
]
cols = [("black", 24), ("grey", 21), ("white", 19), ("silver", 12), ("blue", 11), ("red", 8), ("green", 3)]
mw = [8, 7, 10, 11, 10, 8, 7, 7, 9, 9, 8, 5]
rows = []


def dec(x, n):
    return f"{x:.{n}f}".replace(".", ",")


for _ in range(2750):
    mk, mo, body, new, _w = r.choices(M, [m[4] for m in M])[0]
    y = r.choices([2022, 2023, 2024], [28, 34, 38])[0]
    m = r.choices(range(1, 13), mw)[0]
    d = D.date(y, m, r.randint(1, 28))
    age = min(18, max(0, int(r.gammavariate(2.6, 2.3))))
    if mk == "Tesla":
        age = min(age, y - 2019)
    fy = y - age
    if mk == "Tesla":
        fuel = "electric"
    else:
        dp = 0.62 if new > 35000 and body in ("saloon", "estate", "SUV") else 0.22
        fuel = r.choices(["diesel", "petrol", "hybrid"], [dp, 1 - dp, 0.26 if mk == "Toyota" else 0.05])[0]
        if mo in ("Fiesta", "500", "MX-5", "Yaris", "Clio") and fuel == "diesel":
            fuel = "petrol"
        if fuel == "hybrid" and fy < 2014:
            fuel = "petrol"
    km = int(max(800, r.gauss(1, 0.28) * (age + 0.6) * (17500 if fuel == "diesel" else 11800)))
    gear = (
        "automatic"
        if fuel in ("electric", "hybrid") or r.random() < (0.68 if new > 40000 else 0.19)
        else "manual"
    )
    eng = (
        ""
        if fuel == "electric"
        else dec(
            r.choice([1.0, 1.2, 1.4])
            if new < 20000
            else r.choice([1.4, 1.5, 1.6, 2.0])
            if new < 34000
            else r.choice([2.0, 2.0, 2.2, 3.0]),
            1,
        )
    )
    hp = int(new / 1000 * r.uniform(3.6, 5.0)) + 20
    seller = r.choices(["dealer", "private"], [64, 36])[0]
    acc = r.random()
    accf = "no" if acc < 0.11 else ("" if acc < 0.17 else "yes")
    price = (
        new
        * math.exp(-0.118 * age)
        * math.exp(-km / 520000)
        * r.uniform(0.84, 1.14)
        * (1.07 if seller == "dealer" else 1)
        * (1.05 if gear == "automatic" else 1)
        * (0.83 if accf == "no" else 1)
        * (1 + 0.03 * (y - 2022))
    )
    price = round(price / 10) * 10 + r.choice([0, 0, 0, -1, -0.5])
    price = max(490, price)
    cons = (
        ""
        if fuel == "electric" or r.random() < 0.06
        else dec(
            max(
                3.4,
                (
                    4.2
                    + new / 16000
                    + (1.1 if fuel == "petrol" else -0.9 if fuel == "hybrid" else 0)
                    + (0.9 if body == "SUV" else 0)
                )
                * r.uniform(0.9, 1.1),
            ),
            1,
        )
    )
    owners = 1 + min(5, int(r.expovariate(1 / (0.2 + age * 0.17))))
    sold = ""
    if r.random() < 0.79:
        t = (
            int(
                r.gammavariate(1.8, 17 if seller == "dealer" else 25)
                * (1.3 if mk in ("Tesla", "Mercedes-Benz") else 1)
            )
            + 1
        )
        s = d + D.timedelta(t)
        if s <= D.date(2024, 12, 31):
            sold = s.isoformat()
    col = r.choices([c[0] for c in cols], [c[1] for c in cols])[0]
    if r.random() < 0.03:
        col = ""
    views = int(r.lognormvariate(5.3, 0.7) * (1.4 if body == "convertible" else 1))
    rows.append(
        [
            d.isoformat(),
            sold,
            mk,
            mo,
            body,
            fuel,
            gear,
            fy,
            km,
            eng,
            hp,
            cons,
            owners,
            col,
            accf,
            seller,
            r.choices([c[0] for c in regs], [c[1] for c in regs])[0],
            views,
            dec(price, 2),
        ]
    )
rows.sort(key=lambda x: x[0])
with open(os.path.join(out, "used_cars.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f, delimiter=";")
    w.writerow(
        "ad_id posted_on sold_on make model body_type fuel gearbox first_reg_year mileage_km engine_l power_hp cons_l_100km prev_owners colour accident_free seller_type region views price_eur".split()
    )
    for i, x in enumerate(rows):
        w.writerow([500001 + i] + x)
