"""movies.csv: films released 2005-2023"""

import random, csv, sys, os
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4303)
G = {
    "Drama": (0.24, 22, 112, 6.9, 1.6),
    "Comedy": (0.19, 28, 101, 6.2, 2.1),
    "Action": (0.15, 95, 117, 6.3, 2.5),
    "Thriller": (0.12, 38, 109, 6.5, 2.0),
    "Horror": (0.10, 12, 96, 5.7, 3.2),
    "Animation": (0.07, 88, 94, 6.9, 3.0),
    "Science Fiction": (0.06, 110, 121, 6.6, 2.4),
    "Romance": (0.04, 20, 105, 6.3, 2.0),
    "Documentary": (0.03, 2.5, 92, 7.3, 1.1),
}
C = {
    "United States": (0.52, "English", 1.25),
    "United Kingdom": (0.13, "English", 0.7),
    "France": (0.09, "French", 0.4),
    "India": (0.08, "Hindi", 0.35),
    "South Korea": (0.05, "Korean", 0.35),
    "Japan": (0.05, "Japanese", 0.4),
    "Germany": (0.04, "German", 0.4),
    "Spain": (0.04, "Spanish", 0.3),
}
FN = "Elena Marcus Priya Tom Sofia Daniel Hana Lucas Ingrid Omar Claire Victor Mei Julian Rosa Peter Nadia Felix Grace Andre Yuki Samuel Iris Paul Lena Hugo Amara Neil Carla Erik".split()
LN = "Hartmann Okafor Delacroix Whitfield Moreno Sandoval Kim Petrov Ashworth Nakamura Iyer Lindgren Castellano Byrne Novak Fournier Mehta Sato Brandt Quinn Alvarez Weiss Donnelly Park Rossi Tanaka Cole Varga Singh Adler".split()
dirs = []
while len(dirs) < 170:
    d = R.choice(FN) + " " + R.choice(LN)
    if d not in dirs:
        dirs.append(d)
dwt = [1 / (i + 4) ** 0.75 for i in range(170)]
tal = [R.gauss(0, 0.55) for _ in dirs]
fav = [R.choices(list(G), [g[0] for g in G.values()])[0] for _ in dirs]
A = "Silent Crimson Last Broken Golden Midnight Hidden Burning Electric Forgotten Paper Winter Iron Distant Savage Hollow Quiet Velvet Endless Second Wild Stolen Scarlet Northern Glass Lonely Bitter Secret Fallen Perfect".split()
B = "River Kingdom Garden Protocol Horizon Summer Witness Empire Letters Shadow Highway Orchard Machine Harbor Promise Daughter Signal Island Circus Frontier Memory Hunter Station Echo Waltz Storm Detective Neighbors Legacy Tide".split()
P = [
    "The {a} {b}",
    "{a} {b}",
    "{b} of the {a} {c}",
    "Beyond the {b}",
    "{a} {b}: {c} Rising",
    "A {a} {b}",
    "Return to {a} {b}",
    "{b} & {c}",
    "The {b}'s {c}",
]
titles = set()
rows = []
years = list(range(2005, 2024))
yw = [34, 36, 39, 42, 40, 44, 47, 50, 54, 57, 60, 63, 66, 70, 72, 31, 45, 64, 58]
mw = [6, 6, 8, 7, 9, 11, 12, 8, 8, 10, 11, 10]
for i in range(1150):
    while True:
        t = R.choice(P).format(a=R.choice(A), b=R.choice(B), c=R.choice(B))
        if t not in titles:
            titles.add(t)
            break
    k = R.choices(range(170), dwt)[0]
    g = fav[k] if R.random() < 0.55 else R.choices(list(G), [x[0] for x in G.values()])[0]
    y = R.choices(years, yw)[0]
    m = R.choices(range(1, 13), mw)[0]
    d = date(y, m, R.randrange(1, 29))
    d += timedelta(days=(4 - d.weekday()) if R.random() < 0.7 else 0)
    if d.year != y:
        d = date(y, m, 15)
    c = R.choices(list(C), [x[0] for x in C.values()])[0]
    gg = G[g]
    bud = gg[1] * C[c][2] * R.lognormvariate(-0.25, 0.75) * (1 + (y - 2005) * 0.012)
    rating = min(9.4, max(1.8, R.gauss(gg[3] + tal[k] * 0.8, 0.8)))
    gross = (
        bud
        * gg[4]
        * R.lognormvariate(-0.3, 0.85)
        * (1 + (rating - 6.3) * 0.22 if rating > 3 else 0.3)
        * (0.45 if y == 2020 else 0.75 if y == 2021 else 1)
    )
    gross = max(gross, 0.01)
    votes = int(
        R.lognormvariate(8.2, 0.7) * (gross + 2) ** 0.55 * (1 + (rating - 6) * 0.15 if rating > 4 else 0.6)
    )
    run = int(R.gauss(gg[2] + (8 if c == "India" else 0) + (rating - 6.3) * 4, 12))
    run = max(68, min(212, run))
    if c == "India":
        run += 18
    cert = R.choices(
        ["G", "PG", "PG-13", "R", "Not Rated"],
        {"Animation": [35, 55, 8, 1, 1], "Horror": [0, 2, 23, 70, 5], "Documentary": [5, 20, 20, 15, 40]}.get(
            g, [2, 12, 44, 37, 5]
        ),
    )[0]
    stream = 1 if R.random() < (0.25 + (y - 2005) * 0.03) else 0
    lang = C[c][1] if R.random() < 0.93 else R.choice(["English", "French", "Spanish", "Mandarin"])
    osc = 0
    if rating > 7.4 and R.random() < 0.3:
        osc = R.choices([1, 2, 3, 4, 5, 7], [50, 25, 12, 7, 4, 2])[0]
    studio = R.choices(
        ["Meridian Pictures", "Northlight", "Big Lantern", "Cobalt Films", "Harrow House", "Independent"],
        [24, 19, 16, 12, 8, 21] if bud > 30 else [10, 9, 13, 15, 17, 36],
    )[0]
    rows.append(
        [
            f"M{i + 1:04d}",
            t,
            d.isoformat(),
            g,
            dirs[k],
            c,
            lang,
            cert,
            run if R.random() > 0.015 else "",
            int(round(bud * 1e6, -4)) if R.random() > 0.11 else "",
            int(round(gross * 1e6, -3)) if R.random() > 0.05 else "",
            round(rating, 1) if R.random() > 0.02 else "",
            votes,
            osc,
            stream,
            studio,
        ]
    )
with open(os.path.join(out, "movies.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        "MovieID,Title,ReleaseDate,Genre,Director,Country,Language,Certificate,RuntimeMin,BudgetUSD,GrossUSD,Rating,Votes,OscarWins,OnStreaming,Studio".split(
            ","
        )
    )
    w.writerows(rows)
