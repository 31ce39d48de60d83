"""Daily online marketing campaign results -> campaigns.csv"""

import csv, os, random, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
R = random.Random(4711)
CH = {  # weight, cpm, base ctr %, conversion rate, avg order value
    "Google Search": (11, 42, 4.6, 0.052, 74),
    "Facebook": (9, 9, 1.15, 0.026, 58),
    "Instagram": (7, 8, 0.85, 0.022, 54),
    "Email": (6, 7.5, 2.9, 0.061, 66),
    "YouTube": (5, 12, 0.55, 0.012, 70),
    "TikTok": (4, 6.5, 0.95, 0.013, 41),
    "LinkedIn": (3, 34, 0.62, 0.030, 128),
    "Display": (4, 3.1, 0.28, 0.009, 60),
}
CO = {
    "United States": (12, 1.9, "US"),
    "United Kingdom": (8, 1.2, "UK"),
    "Germany": (9, 1.35, "DE"),
    "France": (6, 0.95, "FR"),
    "Spain": (4, 0.7, "ES"),
    "Netherlands": (3, 0.6, "NL"),
}
THEMES = [
    ("Winter Clearance", 1),
    ("New Year Reset", 1),
    ("Valentines Gifts", 2),
    ("Spring Sale", 3),
    ("Easter Deals", 4),
    ("Summer Kickoff", 6),
    ("Holiday Essentials", 7),
    ("Back to School", 8),
    ("Autumn Arrivals", 9),
    ("Halloween Flash", 10),
    ("Black Friday", 11),
    ("Christmas Shop", 12),
    ("Brand Story", 2),
    ("App Launch", 5),
    ("Loyalty Club", 9),
]
SEAS = {
    1: 0.85,
    2: 0.8,
    3: 0.92,
    4: 0.97,
    5: 1.0,
    6: 0.95,
    7: 0.83,
    8: 0.88,
    9: 1.02,
    10: 1.1,
    11: 1.65,
    12: 1.5,
}
DOW = [1.04, 1.08, 1.05, 1.0, 0.93, 0.86, 0.98]
DEV = {"Mobile": (0.62, 0.95, 0.85), "Desktop": (0.31, 1.1, 1.3), "Tablet": (0.07, 0.9, 0.95)}
camps, names = [], set()
cid = 2001
for year in (2022, 2023, 2024):
    deck = THEMES * 2
    R.shuffle(deck)
    chs = list(CH)
    R.shuffle(chs)
    for k in range({2022: 16, 2023: 21, 2024: 25}[year]):
        while True:
            th, m = deck[k]
            ch = chs[k] if k < 8 else R.choices(list(CH), [v[0] for v in CH.values()])[0]
            co = R.choices(list(CO), [v[0] for v in CO.values()])[0]
            nm = f"{th} {year} {CO[co][2]} {ch}"
            if nm not in names:
                break
        names.add(nm)
        start = date(year, m, 1) + timedelta(days=R.randint(-12, 12))
        if k == 0 and year == 2022:
            start = date(2022, 1, 1)
        start = max(start, date(2022, 1, 1))
        end = min(start + timedelta(days=R.randint(28, 95)), date(2024, 12, 31))
        obj = (
            "Awareness"
            if th == "Brand Story" or (ch in ("YouTube", "Display") and R.random() < 0.5)
            else R.choices(["Sales", "Leads", "App Installs"], [7, 2, 1.2])[0]
        )
        camps.append(
            (
                cid,
                nm,
                ch,
                co,
                obj,
                start,
                end,
                R.random() < 0.3,
                R.uniform(0.5, 1.7) * {2022: 0.85, 2023: 1, 2024: 1.18}[year],
            )
        )
        cid += R.randint(1, 4)
rows = []
for cid, nm, ch, co, obj, s, e, ret, size in camps:
    w, cpm, ctr, cvr, aov = CH[ch]
    qs = R.choice([5, 6, 7, 7, 8, 9])
    devs = ["Mobile", "Desktop"] + (["Tablet"] if R.random() < 0.35 else [])
    if ch == "TikTok":
        devs = ["Mobile"]
    if ch in ("LinkedIn",):
        devs = ["Desktop", "Mobile"]
    budget = {
        d: round(
            size
            * CO[co][1]
            * {
                "Google Search": 330,
                "Facebook": 210,
                "Instagram": 160,
                "Email": 45,
                "YouTube": 190,
                "TikTok": 120,
                "LinkedIn": 230,
                "Display": 90,
            }[ch]
            * DEV[d][0]
            / 5
        )
        * 5
        + 5
        for d in devs
    }
    d = s
    while d <= e:
        for dv in devs:
            if R.random() < (0.03 if dv != "Tablet" else 0.3):
                continue
            spend = (
                budget[dv]
                * min(1.35, max(0.15, R.gauss(0.84, 0.13)))
                * DOW[d.weekday()]
                * SEAS[d.month] ** 0.35
            )
            imp = int(spend / cpm * 1000 * R.uniform(0.8, 1.25))
            c = ctr * DEV[dv][1] * (1.35 if ret else 1) * R.uniform(0.75, 1.3)
            clicks = max(0, int(imp * c / 100 + R.random()))
            rate = (
                cvr
                * DEV[dv][2]
                * SEAS[d.month] ** 0.6
                * (1.6 if ret else 1)
                * (0.25 if obj == "Awareness" else 1)
                * R.uniform(0.6, 1.4)
            )
            x = clicks * rate
            conv = int(x + R.random())
            rev = round(
                sum(max(8, R.gauss(aov, aov * 0.3)) for _ in range(conv))
                * (0.45 if obj in ("Leads", "App Installs") else 1),
                2,
            )
            note = ""
            if R.random() < 0.017:
                conv, rev, note = "", "", R.choice(["tracking outage", "tracking outage", "pixel missing"])
            elif R.random() < 0.03:
                note = R.choice(
                    [
                        "creative refresh",
                        "bid change",
                        "budget raised",
                        "new landing page",
                        "A/B test running",
                    ]
                )
            q = (
                ""
                if ch != "Google Search" or R.random() < 0.04
                else min(10, max(1, qs + R.choice([-1, 0, 0, 0, 1])))
            )
            rows.append(
                [
                    d.isoformat(),
                    cid,
                    nm,
                    ch,
                    co,
                    dv,
                    obj,
                    imp,
                    clicks,
                    round(100 * clicks / imp, 2) if imp else "",
                    f"{budget[dv]:.0f}",
                    f"{spend:.2f}",
                    conv,
                    rev if rev == "" else f"{rev:.2f}",
                    q,
                    "yes" if ret else "no",
                    note,
                ]
            )
        d += timedelta(days=1)
rows.sort(key=lambda r: (r[0], r[1], r[5]))
with open(os.path.join(out, "campaigns.csv"), "w", newline="", encoding="utf-8") as f:
    w = csv.writer(f)
    w.writerow(
        [
            "Date",
            "Campaign ID",
            "Campaign Name",
            "Channel",
            "Country",
            "Device",
            "Objective",
            "Impressions",
            "Clicks",
            "CTR (%)",
            "Daily Budget (USD)",
            "Spend (USD)",
            "Conversions",
            "Revenue (USD)",
            "Quality Score",
            "Retargeting",
            "Notes",
        ]
    )
    w.writerows(rows)
