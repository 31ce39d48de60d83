#!/usr/bin/env python3
"""weather.csv: daily weather of 8 Austrian stations, semicolon-separated, decimal commas, dates dd.mm.yyyy."""

import sys, os, random, math
from datetime import date, timedelta

R = random.Random(4202)
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
ST = [
    ("Wien Hohe Warte", "Wien", 198, 11.4, 10.4, 0.30, 5.2, 15, 5.6, None, None),
    ("Graz", "Steiermark", 366, 10.3, 10.6, 0.32, 6.4, 10, 5.7, None, None),
    ("Salzburg", "Salzburg", 430, 9.9, 10.1, 0.46, 7.6, 12, 4.9, None, None),
    ("Innsbruck", "Tirol", 578, 9.6, 10.4, 0.42, 5.6, 13, 5.3, None, None),
    ("Bregenz", "Vorarlberg", 424, 10.7, 9.5, 0.47, 9.2, 11, 4.8, None, date(2023, 2, 28)),
    ("Klagenfurt", "Kärnten", 450, 9.1, 12.0, 0.31, 7.4, 8, 5.5, None, None),
    ("Zell am See", "Salzburg", 766, 7.9, 10.5, 0.45, 6.5, 9, 4.7, date(2022, 4, 1), None),
    ("Sonnblick", "Salzburg", 3109, -4.3, 8.2, 0.58, 8.4, 25, 4.6, None, None),
]


def f(x, n=1):
    if x is None:
        return ""
    return (("%." + str(n) + "f") % x).replace(".", ",")


rows = []
d = date(2021, 1, 1)
reg = 0.0
an = 0.0
warm = {2021: -0.35, 2022: 0.55, 2023: 0.95}
while d <= date(2023, 12, 31):
    doy = d.timetuple().tm_yday
    an = 0.78 * an + R.gauss(0, 2.0)
    wet = R.gauss(0, 1)
    for s in ST:
        if s[9] and d < s[9] or s[10] and d > s[10]:
            continue
        e = R.random()
        if e < 0.004:
            continue
        season = -math.cos(2 * math.pi * (doy - 18) / 365.25)
        tm = s[3] + s[4] * season + warm[d.year] + an + R.gauss(0, 1.0)
        p = s[5] * (1 + 0.22 * season) + 0.13 * wet
        rain = 0.0
        if R.random() < p:
            rain = R.expovariate(1 / (s[6] * (1 + 0.45 * season)))
        rain = round(rain, 1)
        sun = max(
            0, (s[8] + 3.1 * season) * (1.25 if rain == 0 else 0.35 if rain > 5 else 0.65) + R.gauss(0, 1.6)
        )
        sun = min(sun, 15.4)
        if rain > 22:
            sun = 0.0
        amp = 3.2 + 0.45 * sun
        tmin = tm - amp * R.uniform(0.8, 1.15)
        tmax = tm + amp * R.uniform(0.8, 1.15)
        wind = max(4, R.lognormvariate(math.log(s[7] * 1.9), 0.42) + (6 if rain > 8 else 0))
        snow = 0.0
        if tm < 1.5 and rain > 0:
            snow = rain * R.uniform(0.6, 1.05)
        if tm < 0 and s[0] == "Sonnblick":
            snow *= 1.2
        fog = (
            "ja"
            if R.random()
            < (
                {"Klagenfurt": 0.27, "Graz": 0.16, "Wien Hohe Warte": 0.1, "Sonnblick": 0.33}.get(s[0], 0.07)
                * (1.8 if d.month in (10, 11, 12, 1) else 0.45)
            )
            else "nein"
        )
        fog = {"ja": "yes", "nein": "no"}[fog]
        wd = R.choices(
            ["N", "NE", "E", "SE", "S", "SW", "W", "NW"],
            {
                "Wien Hohe Warte": [6, 3, 5, 14, 6, 5, 30, 22],
                "Innsbruck": [4, 6, 15, 4, 9, 8, 26, 5],
                "Sonnblick": [22, 6, 3, 3, 9, 18, 20, 10],
            }.get(s[0], [8, 7, 9, 7, 9, 14, 19, 12]),
        )[0]
        a = s[0]
        sunv = (
            None
            if (a == "Zell am See" and date(2023, 6, 3) <= d <= date(2023, 6, 21)) or R.random() < 0.012
            else sun
        )
        windv = None if R.random() < (0.05 if a == "Sonnblick" else 0.008) else wind
        rem = ""
        if rain > 35:
            rem = "heavy rain warning"
        elif windv and windv > 85:
            rem = "storm"
        elif tmax > 34:
            rem = "heat day"
        elif R.random() < 0.01:
            rem = R.choice(["sensor cleaned", "manual reading", "observer absent", "thunderstorm"])
        rows.append(
            [
                a,
                s[1],
                str(s[2]),
                d.strftime("%d.%m.%Y"),
                f(tmin),
                f(tmax),
                f((tmin + tmax) / 2),
                f(rain),
                f(snow),
                f(sunv),
                f(windv),
                wd,
                str(int(max(28, min(100, R.gauss(72 + (9 if rain else -5) - 7 * season, 8))))),
                fog,
                rem,
            ]
        )
    d += timedelta(days=1)
with open(os.path.join(out, "weather.csv"), "w", encoding="utf-8", newline="") as fo:
    fo.write(
        "Station;Region;Altitude (m);Date;Temp Min (°C);Temp Max (°C);Temp Mean (°C);Rain (mm);New Snow (cm);Sunshine (h);Wind Max (km/h);Wind Dir;Humidity (%);Fog;Remarks\n"
    )
    for r in rows:
        fo.write(";".join(r) + "\n")
