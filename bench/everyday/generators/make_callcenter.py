import json, os, random, sys, datetime as dt


def main(out):
    R = random.Random(31337)
    agents = [
        ("Aisha Khan", 9, 0.86, 0.9),
        ("Ben Carter", 12, 0.71, 1.1),
        ("Chloe Martin", 10, 0.8, 1.0),
        ("Diego Ramos", 8, 0.77, 0.95),
        ("Emma Schulz", 11, 0.83, 0.85),
        ("Farid Nasser", 5, 0.69, 1.25),
        ("Grace Okafor", 13, 0.88, 0.92),
        ("Hugo Lind", 6, 0.74, 1.05),
        ("Ines Pereira", 7, 0.79, 1.12),
        ("Jack Doyle", 10, 0.66, 1.2),
        ("Katya Volkov", 4, 0.81, 0.97),
        ("Liam Byrne", 3, 0.73, 1.02),
        ("Mei Tanaka", 9, 0.9, 0.88),
        ("Noah Fuchs", 7, 0.72, 0.8),
    ]
    q = {
        "billing": (30, 95, 260, 0.80),
        "technical support": (34, 170, 520, 0.66),
        "sales": (15, 40, 310, 0.88),
        "returns": (13, 110, 200, 0.84),
        "general": (8, 60, 150, 0.9),
    }
    days = [dt.date(2023, 1, 2) + dt.timedelta(k) for k in range(728)]
    wd = [1.5, 1.2, 1.0, 1.02, 1.1, 0.45, 0]
    W = []
    for d in days:
        m = [1.35, 1.05, 1, 0.92, 0.9, 0.88, 0.85, 0.8, 0.98, 1.03, 1.2, 1.3][d.month - 1]
        W.append(wd[d.weekday()] * m * (1.15 if d.year == 2024 else 1))
    ds = R.choices(days, W, k=4200)
    hw = [7, 13, 16, 12, 9, 8, 10, 9, 6, 5, 3]
    st = sorted(
        dt.datetime(
            d.year, d.month, d.day, R.choices(range(8, 19), hw)[0], R.randint(0, 59), R.randint(0, 59)
        )
        for d in ds
    )
    rows = []
    for k, t in enumerate(st, 1):
        qu = R.choices(list(q), [v[0] for v in q.values()])[0]
        _, w, tk, rs = q[qu]
        busy = (
            (1.6 if t.weekday() == 0 else 1)
            * (1.5 if t.hour in (9, 10) else 1)
            * (0.85 if t.year == 2024 else 1)
        )
        wait = int(R.expovariate(1 / (w * busy))) + R.randint(1, 6)
        tier = R.choices(["basic", "plus", "premium"], [60, 28, 12])[0]
        if tier == "premium":
            wait = max(2, wait // 2)
        ab = R.random() < min(0.6, max(0, (wait - 60) / 1100))
        lang = R.choices(["en", "de", "fr", "es"], [60, 22, 10, 8])[0]
        r = {
            "call_id": f"C{k:05d}",
            "started_at": t.isoformat(),
            "agent": None,
            "queue": qu,
            "language": lang,
            "customer_tier": tier,
            "wait_sec": wait,
            "talk_sec": None,
            "abandoned": ab,
            "resolved": False,
            "transferred": False,
            "satisfaction": None,
        }
        if not ab:
            a = R.choices(agents, [x[1] for x in agents])[0]
            r["agent"] = a[0]
            talk = max(25, int(R.lognormvariate(0, 0.5) * tk * a[3]))
            r["talk_sec"] = talk
            r["resolved"] = R.random() < a[2] * rs / 0.8
            r["transferred"] = R.random() < (0.05 if r["resolved"] else 0.3)
            if R.random() < 0.46:
                s = 3.3 + (0.9 if r["resolved"] else -1.0) - wait / 420 + (a[2] - 0.77) * 4 + R.gauss(0, 0.8)
                r["satisfaction"] = max(1, min(5, round(s)))
        rows.append(r)
    with open(os.path.join(out, "callcenter.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


main(sys.argv[1])
