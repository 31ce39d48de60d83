import csv, os, random, sys, datetime as dt


def main(out):
    R = random.Random(8080)
    ms = [
        ("CM-01", "Berlin HQ", 1, "Aroma 300", 92, 0.03),
        ("CM-02", "Berlin HQ", 2, "Aroma 300", 74, 0.035),
        ("CM-03", "Berlin HQ", 4, "BaristaPro X", 118, 0.02),
        ("CM-04", "Munich", 1, "BaristaPro X", 81, 0.025),
        ("CM-05", "Munich", 3, "Aroma 300", 55, 0.05),
        ("CM-06", "Vienna", 2, "QuickBrew 2", 47, 0.10),
        ("CM-07", "Zurich", 1, "BaristaPro X", 66, 0.015),
        ("CM-08", "Zurich", 2, "QuickBrew 2", 39, 0.08),
        ("CM-09", "Hamburg", 1, "QuickBrew 2", 61, 0.12),
        ("CM-10", "Hamburg", 5, "Aroma 300", 43, 0.04),
    ]
    d0 = dt.date(2022, 7, 1)
    d1 = dt.date(2024, 6, 30)
    rows = []
    last = {m[0]: d0 - dt.timedelta(R.randint(5, 80)) for m in ms}
    codes = ["E01 no water", "E04 grinder blocked", "E07 drip tray full", "E12 heater fault", "E15 brew unit"]
    d = d0
    start = {"CM-10": dt.date(2023, 2, 1)}
    while d <= d1:
        if (
            d.weekday() < 5
            and not (d.month == 12 and d.day in (24, 25, 26, 31))
            and not (d.month == 1 and d.day == 1)
        ):
            for mid, of, fl, mo, b, er in ms:
                if d < start.get(mid, d0):
                    continue
                if R.random() < 0.012:
                    continue
                if (d - last[mid]).days > R.randint(75, 130):
                    last[mid] = d
                    serv = "yes"
                else:
                    serv = "no"
                sea = [1.15, 1.12, 1.05, 0.98, 0.95, 0.88, 0.80, 0.74, 0.98, 1.06, 1.14, 0.97][d.month - 1]
                wd = [1.05, 1.12, 1.08, 1.02, 0.66][d.weekday()]
                cups = max(0, round(b * sea * wd * (1 + 0.04 * ((d - d0).days / 365)) * R.gauss(1, 0.13)))
                age = (d - last[mid]).days
                n = 0
                code = ""
                if R.random() < er * (0.5 + age / 70):
                    n = R.choices([1, 2, 3, 5], [60, 24, 11, 5])[0]
                    code = R.choices(codes, [30, 14, 34, 9, 13])[0]
                if code.startswith("E12"):
                    cups = round(cups * 0.35)
                temp = (
                    R.gauss({"Aroma 300": 91.6, "BaristaPro X": 93.1, "QuickBrew 2": 89.4}[mo], 0.9)
                    - age * 0.012
                    - (8 if code.startswith("E12") else 0)
                )
                pres = R.gauss({"Aroma 300": 9.1, "BaristaPro X": 9.4, "QuickBrew 2": 8.3}[mo], 0.25)
                kwh = 1.1 + cups * 0.031 * R.uniform(0.93, 1.07) + (0.4 if mo == "QuickBrew 2" else 0)
                beans = round(cups * R.uniform(8.6, 9.9))
                milk = cups * R.uniform(0.05, 0.07) * (1.3 if mo == "BaristaPro X" else 0.9)
                f = lambda x, k: (f"{x:.{k}f}").replace(".", ",")
                rows.append(
                    [
                        d.isoformat(),
                        mid,
                        of,
                        fl,
                        mo,
                        cups,
                        f(temp, 1) if R.random() > 0.02 else "",
                        f(pres, 2),
                        f(kwh, 2),
                        beans,
                        f(milk, 2) if mo != "QuickBrew 2" else "",
                        n,
                        code,
                        serv,
                        last[mid].isoformat(),
                    ]
                )
        d += dt.timedelta(1)
    with open(os.path.join(out, "sensors.csv"), "w", newline="", encoding="utf-8") as fh:
        w = csv.writer(fh, delimiter=";")
        w.writerow(
            [
                "ReadingDate",
                "MachineID",
                "Office",
                "Floor",
                "Model",
                "Cups",
                "WaterTemp_C",
                "Pressure_bar",
                "Energy_kWh",
                "Beans_g",
                "Milk_l",
                "ErrorCount",
                "ErrorCode",
                "Serviced",
                "LastServiceDate",
            ]
        )
        w.writerows(rows)


main(sys.argv[1])
