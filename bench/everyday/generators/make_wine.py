import sys, os, csv, random
from datetime import date, timedelta

r = random.Random(5303)
out = sys.argv[1]
# country: (weight, price level, point shift, provinces, varieties)
C = {
    "Italy": (
        24,
        1.1,
        0.3,
        {"Tuscany": 9, "Piedmont": 7, "Veneto": 5, "Sicily": 3},
        {"Sangiovese": 9, "Nebbiolo": 6, "Pinot Grigio": 4, "Nero d'Avola": 3},
    ),
    "France": (
        22,
        1.35,
        0.6,
        {"Bordeaux": 9, "Burgundy": 7, "Alsace": 3, "Champagne": 4},
        {"Cabernet Sauvignon": 6, "Pinot Noir": 7, "Chardonnay": 8, "Riesling": 3},
    ),
    "US": (
        27,
        1.2,
        0.1,
        {"California": 15, "Oregon": 5, "Washington": 6},
        {"Cabernet Sauvignon": 9, "Pinot Noir": 8, "Chardonnay": 7, "Syrah": 3, "Zinfandel": 4},
    ),
    "Spain": (11, 0.75, -0.4, {"Rioja": 6, "Catalonia": 4}, {"Tempranillo": 9, "Albariño": 3, "Rosé": 2}),
    "Portugal": (6, 0.7, -0.1, {"Douro": 5, "Alentejo": 3}, {"Touriga Nacional": 5, "Rosé": 2}),
    "Chile": (
        7,
        0.55,
        -1.3,
        {"Maipo Valley": 4, "Colchagua": 3},
        {"Cabernet Sauvignon": 4, "Carmenère": 4, "Sauvignon Blanc": 3},
    ),
    "Argentina": (6, 0.6, -0.9, {"Mendoza": 7, "Salta": 1}, {"Malbec": 8, "Chardonnay": 2}),
    "Germany": (4, 0.9, 0.8, {"Mosel": 4, "Rheingau": 2}, {"Riesling": 8, "Pinot Noir": 1}),
    "New Zealand": (
        4,
        0.8,
        0.2,
        {"Marlborough": 5, "Central Otago": 2},
        {"Sauvignon Blanc": 6, "Pinot Noir": 3},
    ),
    "Australia": (5, 0.85, -0.2, {"Barossa Valley": 4, "Hunter Valley": 2}, {"Syrah": 6, "Chardonnay": 2}),
}
white = {"Pinot Grigio", "Chardonnay", "Riesling", "Albariño", "Sauvignon Blanc"}
T = [
    "Roger Voss",
    "Kerin O'Keefe",
    "Virginie Boone",
    "Paul Gregutt",
    "Michael Schachner",
    "Anna Lee Iijima",
    "Joe Czerwinski",
    "Lauren Buzzeo",
]
tw = [24, 19, 15, 12, 11, 8, 6, 3]
tb = [0.3, -0.1, 0.5, 0.2, -1.4, 0.6, -0.3, 0.1]
W1 = "Castello,Domaine,Chateau,Bodega,Tenuta,Quinta,Estate,Clos,Cantina,Ridge".split(",")
W2 = "Bellavista,Moreau,Stonegate,Valdoro,San Marco,Lumière,Fairhaven,del Sol,Montclair,Black Oak,Serrano,Alvarez,Silver Creek,Rocca".split(
    ","
)
win = {}
for k in C:
    win[k] = []
pool = [a + " " + b for a in W1 for b in W2]
r.shuffle(pool)
for k in C:
    for _ in range(max(4, C[k][0] // 2)):
        win[k].append(pool.pop())
mon = [0.8, 0.8, 0.9, 0.95, 1.05, 1, 0.85, 0.75, 1.1, 1.2, 1.5, 1.7]
rows = []
while len(rows) < 2600:
    d = date(2021, 1, 1) + timedelta(days=r.randint(0, 1094))
    if r.random() < mon[d.month - 1] / 1.7 * (0.7 + 0.1 * (d.year - 2021)):
        rows.append(d)
rows.sort()
f = open(os.path.join(out, "wine.csv"), "w", newline="", encoding="utf-8")
w = csv.writer(f, lineterminator="\n")
w.writerow(
    "review_id,review_date,winery,country,province,variety,color,vintage,points,price_usd,alcohol_pct,taster_name,bottles_sold,sales_channel,organic,closure".split(
        ","
    )
)
for i, d in enumerate(rows, 1):
    k = r.choices(list(C), [C[x][0] for x in C])[0]
    _, pl, ps, pr, va = C[k]
    p = r.choices(list(pr), list(pr.values()))[0]
    v = r.choices(list(va), list(va.values()))[0]
    col = "rosé" if v == "Rosé" else "white" if v in white else "red"
    if p == "Champagne":
        v, col = r.choices([("Champagne Blend", "sparkling"), ("Chardonnay", "sparkling")], [4, 1])[0]
    if p == "Veneto" and r.random() < 0.4:
        v, col = "Glera", "sparkling"
    q = r.gauss(0, 2.6)
    ti = r.choices(range(8), tw)[0]
    pts = int(round(min(100, max(80, 88.4 + ps + tb[ti] + q))))
    price = max(
        6,
        round(
            pl
            * 26
            * (2.718 ** (q * 0.16 + r.gauss(0, 0.42)))
            * (1.5 if p in ("Burgundy", "Champagne", "Piedmont") else 1)
        ),
    )
    if i == 1412:
        price = 1450
    sold = max(
        3, int(r.lognormvariate(4.6, 0.7) * (30 / price) ** 0.55 * (1.35 if d.month in (11, 12) else 1))
    )
    vt = d.year - r.choices([1, 2, 3, 4, 5, 6, 8, 10], [14, 28, 24, 14, 8, 6, 3, 2])[0]
    if col == "sparkling" and r.random() < 0.7:
        vt = ""
    cl = r.choices(
        ["cork", "screw cap", "synthetic"], [15, 70, 5] if k in ("New Zealand", "Australia") else [70, 20, 10]
    )[0]
    w.writerow(
        [
            i,
            d,
            r.choice(win[k]),
            k,
            p if r.random() > 0.02 else "",
            v,
            col,
            vt,
            pts,
            price if r.random() > 0.06 else "",
            "%.1f"
            % min(
                16,
                max(
                    8,
                    r.gauss(13.9 if col == "red" else 12.4 if col != "sparkling" else 11.9, 0.7)
                    - (2 if k == "Germany" and v == "Riesling" else 0),
                ),
            ),
            T[ti] if r.random() > 0.07 else "",
            sold,
            r.choices(["online", "retail", "restaurant", "wholesale"], [31, 38, 19, 12])[0],
            "yes" if r.random() < 0.17 else "no",
            cl,
        ]
    )
f.close()
