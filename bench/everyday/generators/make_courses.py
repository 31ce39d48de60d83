#!/usr/bin/env python3
"""courses.json: university course enrolments, a JSON array of objects."""

import sys, os, random, json
from datetime import date, timedelta

R = random.Random(4303)
out = sys.argv[1]
os.makedirs(out, exist_ok=True)
C = [
    ("CS101", "Introduction to Programming", "Computing", 15, "Dr. Hale", -2, 9, "Autumn"),
    ("CS205", "Databases", "Computing", 15, "Dr. Okafor", 1, 6, "Spring"),
    ("CS310", "Machine Learning", "Computing", 20, "Prof. Lindqvist", -1, 5, "Autumn"),
    ("CS220", "Computer Networks", "Computing", 10, "Dr. Hale", -4, 4, "Spring"),
    ("MA110", "Calculus I", "Mathematics", 20, "Dr. Petrov", -9, 8.5, "Autumn"),
    ("MA140", "Linear Algebra", "Mathematics", 15, "Prof. Adeyemi", -6, 5.5, "Spring"),
    ("ST150", "Statistics for Everyone", "Mathematics", 10, "Dr. Marchetti", -3, 8, "Spring"),
    ("EC101", "Principles of Economics", "Business", 15, "Dr. Novak", 2, 7, "Autumn"),
    ("BU210", "Marketing", "Business", 15, "Ms. Fairweather", 6, 6, "Spring"),
    ("BU330", "Corporate Finance", "Business", 20, "Prof. Brandt", -4, 4.2, "Autumn"),
    ("PS101", "Introduction to Psychology", "Psychology", 15, "Dr. Yilmaz", 4, 6.4, "Autumn"),
    ("PS230", "Cognitive Psychology", "Psychology", 15, "Dr. Yilmaz", 1, 4, "Spring"),
    ("HI120", "Modern European History", "Humanities", 15, "Prof. Castellano", 3, 3.4, "Autumn"),
    ("PH200", "Ethics", "Humanities", 10, "Dr. Whitlock", 5, 4.6, "Spring"),
    ("EN105", "Academic Writing", "Humanities", 10, "Ms. Doyle", 7, 7.4, "Autumn"),
    ("BI115", "Cell Biology", "Life Sciences", 20, "Prof. Nakamura", -2, 4.7, "Autumn"),
    ("BI240", "Genetics", "Life Sciences", 20, "Dr. Ferreira", -5, 3.7, "Spring"),
    ("CH110", "General Chemistry", "Life Sciences", 15, "Dr. Ferreira", -7, 3.2, "Spring"),
]
P = [
    ("BSc Computer Science", 27, "Computing", 3),
    ("BSc Mathematics", 10, "Mathematics", 4),
    ("BA Business Management", 24, "Business", -1),
    ("BSc Psychology", 16, "Psychology", 1),
    ("BA History", 8, "Humanities", 0),
    ("BSc Biology", 12, "Life Sciences", 0),
    ("MSc Data Science", 7, "Computing", 6),
]
F = "Aaron Abigail Ahmed Alice Amara Anders Anna Beatriz Ben Camille Carlos Chen Chloe Daniel Diego Dmitri Elena Ella Emeka Erik Fatima Felix Gabriel Giulia Grace Hana Hugo Ines Isaac Jamal Jana Jonas Julia Kaito Karim Katya Laura Leo Lin Lucas Maja Marco Maria Mei Milan Nadia Noor Olga Omar Paulo Priya Rafael Rosa Samir Sofia Tariq Tomas Vera Yara Zoe".split()
L = "Adams Ali Almeida Andersson Baker Bauer Bianchi Brown Campbell Cohen Costa Cruz Diaz Dubois Eriksen Fischer Fontaine Garcia Gruber Haddad Hansen Horvat Hughes Ivanov Jensen Kaya Keller Kim Kowalski Kumar Larsen Lopez Mensah Meyer Moreau Murphy Nguyen Novotny Okoye Olsen Park Pereira Petit Popov Rossi Sato Schmidt Silva Singh Sousa Tanaka Torres Weber Wong Zhang".split()
NAT = [
    ("UK", 44),
    ("Germany", 9),
    ("India", 9),
    ("China", 8),
    ("Nigeria", 6),
    ("Spain", 7),
    ("Italy", 6),
    ("France", 6),
    ("Brazil", 3),
]
TERMS = [
    ("Autumn 2021", date(2021, 9, 27)),
    ("Spring 2022", date(2022, 1, 31)),
    ("Autumn 2022", date(2022, 9, 26)),
    ("Spring 2023", date(2023, 1, 30)),
    ("Autumn 2023", date(2023, 9, 25)),
    ("Spring 2024", date(2024, 1, 29)),
]
seen = set()
S = []
for i in range(430):
    while True:
        n = R.choice(F) + " " + R.choice(L)
        if n not in seen:
            seen.add(n)
            break
    p = R.choices(P, [x[1] for x in P])[0]
    start = R.choices([0, 2, 4], [36, 34, 30])[0]
    end = min(5, start + (5 if not p[0].startswith("MSc") else 1))
    if R.random() < 0.09:
        end = max(start, end - R.randint(1, 3))
    S.append(
        dict(
            id="U%05d" % (21000 + i * 7),
            name=n,
            p=p,
            start=start,
            end=end,
            ab=R.gauss(0, 8.5),
            nat=R.choices([x[0] for x in NAT], [x[1] for x in NAT])[0],
            sch=R.random() < 0.13,
        )
    )
rows = []
for s in S:
    done = {}
    for t in range(s["start"], s["end"] + 1):
        season = TERMS[t][0].split()[0]
        cs = [c for c in C if c[7] == season and done.get(c[0], 0) != 1]
        k = R.choices([1, 2, 3], [25, 50, 25])[0]
        for _ in range(k):
            if not cs:
                break
            c = R.choices(cs, [x[6] * (3.6 if x[2] == s["p"][2] else 1) for x in cs])[0]
            cs.remove(c)
            resit = c[0] in done
            mode = R.choices(["On campus", "Hybrid", "Online"], [58, 24, 18] if t > 1 else [34, 28, 38])[0]
            att = max(8, min(100, R.gauss(79 + s["ab"] * 0.7 - (7 if mode == "Online" else 0), 12)))
            wd = R.random() < (0.035 + (0.07 if att < 55 else 0))
            g = (
                59
                + c[5]
                + s["ab"]
                + s["p"][3]
                + (att - 78) * 0.33
                + (2 if c[2] == s["p"][2] else -1)
                + (-4 if resit else 0)
                + R.gauss(0, 8.5)
            )
            g = max(3, min(99, g))
            g = round(g, 1)
            en = (
                TERMS[t][1] - timedelta(days=R.randint(2, 45))
                if R.random() < 0.93
                else TERMS[t][1] + timedelta(days=R.randint(0, 12))
            )
            ex = TERMS[t][1] + timedelta(days=105 + R.randint(0, 11))
            passed = (not wd) and g >= 40
            done[c[0]] = 1 if passed else 2
            fb = (
                None
                if R.random() < 0.34 or wd
                else max(1, min(5, round(R.gauss(3.7 + c[5] * 0.05 + (g - 58) * 0.012, 0.85))))
            )
            rows.append(
                (
                    en,
                    dict(
                        studentId=s["id"],
                        studentName=s["name"],
                        nationality=s["nat"],
                        programme=s["p"][0],
                        scholarship="Y" if s["sch"] else "N",
                        courseCode=c[0],
                        courseTitle=c[1],
                        department=c[2],
                        lecturer=c[4],
                        credits=c[3],
                        term=TERMS[t][0],
                        enrolledOn=en.isoformat(),
                        examDate=None if wd else ex.isoformat(),
                        deliveryMode=mode,
                        status="withdrawn" if wd else "completed",
                        attendancePct=round(att, 1) if R.random() > 0.025 else None,
                        grade=None if wd else g,
                        passed=passed,
                        resit=resit,
                        feedbackScore=fb,
                    ),
                )
            )
rows.sort(key=lambda r: (r[0], r[1]["studentId"], r[1]["courseCode"]))
o = [dict(enrolmentId=100001 + i, **r[1]) for i, r in enumerate(rows)]
with open(os.path.join(out, "courses.json"), "w", encoding="utf-8") as f:
    f.write("[\n" + ",\n".join(json.dumps(x, ensure_ascii=False) for x in o) + "\n]\n")
