#!/usr/bin/env python3
"""bird_counts.csv: sightings of a bird club, one row for a species at a visit."""

import csv, os, random, sys
from datetime import date, timedelta

import names

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(7304)
SITES = [
    # code, name, habitat, lat, lon, visits, birds
    ("MR", "Mill Reservoir", "Wetland", 51.42, -2.31, 26, 1.5),
    ("SH", "Saltby Harbour", "Coast", 51.20, -2.98, 18, 1.8),
    ("OW", "Oldfield Wood", "Woodland", 51.38, -2.44, 22, 0.8),
    ("TC", "Town Common", "Park", 51.45, -2.58, 25, 0.9),
    ("BH", "Beacon Hill", "Heath", 51.31, -2.63, 12, 0.6),
    ("RM", "Rushy Meadow", "Wetland", 51.36, -2.75, 15, 1.2),
    ("CG", "Castle Gardens", "Park", 51.46, -2.61, 9, 0.7),
]
SPEC = [
    # code, name, family, usual count, habitats, months
    ("MALLA", "Mallard", "Ducks & geese", 14, "Wetland Coast Park", range(1, 13)),
    ("CANGO", "Canada Goose", "Ducks & geese", 22, "Wetland Park", range(1, 13)),
    ("TEAL.", "Eurasian Teal", "Ducks & geese", 17, "Wetland Coast", (9, 10, 11, 12, 1, 2, 3)),
    ("LAPWI", "Northern Lapwing", "Waders", 25, "Wetland Coast Heath", (9, 10, 11, 12, 1, 2, 3, 4)),
    ("CURLE", "Eurasian Curlew", "Waders", 9, "Coast Wetland", (8, 9, 10, 11, 12, 1, 2, 3)),
    ("DUNLI", "Dunlin", "Waders", 38, "Coast", (9, 10, 11, 12, 1, 2, 3)),
    ("HERGU", "Herring Gull", "Gulls", 30, "Coast Park Wetland", range(1, 13)),
    ("BHGUL", "Black-headed Gull", "Gulls", 27, "Coast Wetland Park", range(1, 13)),
    ("ROBIN", "European Robin", "Songbirds", 3, "Woodland Park Heath", range(1, 13)),
    ("BLUTI", "Blue Tit", "Songbirds", 5, "Woodland Park", range(1, 13)),
    ("CHIFF", "Common Chiffchaff", "Songbirds", 3, "Woodland Wetland Heath", (3, 4, 5, 6, 7, 8, 9)),
    ("SWALL", "Barn Swallow", "Songbirds", 8, "Wetland Heath Park", (4, 5, 6, 7, 8, 9)),
    ("SKYLA", "Eurasian Skylark", "Songbirds", 4, "Heath", range(2, 11)),
    ("KINGF", "Common Kingfisher", "Other", 1, "Wetland", range(1, 13)),
    ("BUZZA", "Common Buzzard", "Raptors", 2, "Woodland Heath Wetland", range(1, 13)),
    ("KESTR", "Common Kestrel", "Raptors", 1, "Heath Coast Park", range(1, 13)),
    ("PEREG", "Peregrine Falcon", "Raptors", 1, "Coast Park", range(1, 13)),
    ("GSWOO", "Great Spotted Woodpecker", "Other", 1, "Woodland Park", range(1, 13)),
]
obs = [(n, R.paretovariate(1.4)) for n in names.people(R, 23)]
days = [date(2021, 1, 1) + timedelta(i) for i in range(365 * 4 + 1)]
wd = [(3 if d.weekday() > 4 else 1) * (1.5 if d.month in (4, 5, 9, 10) else 1) for d in days]
rows = []
for v, d in enumerate(sorted(R.choices(days, wd, k=760))):
    s = R.choices(SITES, [x[5] for x in SITES])[0]
    o = R.choices(obs, [min(x[1], 7) for x in obs])[0][0]
    h, mi = R.choice([6, 7, 7, 8, 8, 9, 10, 14, 16]), R.choice([0, 10, 15, 30, 45])
    dur = R.choice([30, 45, 60, 60, 75, 90, 120, 150])
    wea = R.choices(["Sunny", "Cloudy", "Overcast", "Rain", "Fog", ""], [26, 30, 20, 13, 5, 6])[0]
    temp = round(R.gauss({12: 5, 1: 4, 2: 5, 6: 16, 7: 18, 8: 18}.get(d.month, 10.5), 2.8), 1)
    temp = "" if R.random() < 0.08 else temp
    for p in SPEC:
        if s[2] not in p[4].split() or d.month not in p[5] or R.random() > (0.62 if p[3] > 2 else 0.33):
            continue
        trend = 1 - 0.08 * (d.year - 2021) if p[1] in ("Eurasian Curlew", "Northern Lapwing") else 1
        n = max(1, int(R.lognormvariate(0, 0.6) * p[3] * s[6] * trend * (dur / 75) ** 0.4))
        rows.append(
            [
                f"V{v + 1:04d}",
                d.isoformat(),
                f"{h:02d}:{mi:02d}",
                dur,
                s[0],
                s[1],
                s[2],
                p[0],
                p[1],
                p[2],
                n if R.random() > 0.03 else "",
                R.choices(["seen", "heard", "seen & heard"], [70, 10, 20])[0],
                o,
                wea,
                temp,
                "Y" if p[0] in ("KINGF", "PEREG", "CURLE") else "N",
            ]
        )
head = (
    "visit_id;Obs Date;Start;Duration (min);SiteCode;Site;Habitat;Sp. Code;Species;Group;Count;Detection"
    ";Observer;Weather;Temp (C);Protected"
)
with open(os.path.join(out, "bird_counts.csv"), "w", newline="", encoding="utf-8") as fh:
    w = csv.writer(fh)
    w.writerow(head.split(";"))
    w.writerows(rows)
