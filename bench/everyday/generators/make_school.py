import sys, os, random, sqlite3
from datetime import date, timedelta

p = os.path.join(sys.argv[1], "school.sqlite")
r = random.Random(6202)
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE teachers(teacher_id INTEGER PRIMARY KEY, name TEXT, hire_date TEXT, weekly_hours INTEGER, salary REAL, phone TEXT);
CREATE TABLE subjects(subject_id INTEGER PRIMARY KEY, subject_name TEXT, department TEXT, lessons_per_week INTEGER);
CREATE TABLE classes(class_id INTEGER PRIMARY KEY, class_name TEXT, grade_level INTEGER, room TEXT, form_teacher_id INTEGER REFERENCES teachers(teacher_id));
CREATE TABLE pupils(pupil_id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT, gender TEXT, birth_date TEXT, town TEXT, bus_pass INTEGER, enrolled_on TEXT, class_id INTEGER REFERENCES classes(class_id));
CREATE TABLE marks(mark_id INTEGER PRIMARY KEY, pupil_id INTEGER REFERENCES pupils(pupil_id), subject_id INTEGER REFERENCES subjects(subject_id), teacher_id INTEGER REFERENCES teachers(teacher_id), exam_date TEXT, exam_type TEXT, score INTEGER);
CREATE TABLE absences(absence_id INTEGER PRIMARY KEY, pupil_id INTEGER REFERENCES pupils(pupil_id), absence_date TEXT, lessons_missed INTEGER, excused INTEGER, reason TEXT);
""")
TN = "Helen Archer|Martin Bloom|Priya Chandra|Oliver Dunne|Grace Eastwood|Tomasz Filipek|Ruth Goldman|Samir Haddad|Isla Ingram|Peter Jansen|Kavita Kapoor|Leon Lambert|Moira MacKay|Nadia Novak|Colm O'Brien|Fiona Prescott|Yusuf Qureshi|Diane Rowley|Stefan Schulz|Amara Taiwo|Ursula Vance|William Xu".split(
    "|"
)
SUB = [
    ("Mathematics", "Science", 5, 61),
    ("English", "Languages", 5, 68),
    ("German", "Languages", 3, 65),
    ("French", "Languages", 3, 63),
    ("Physics", "Science", 2, 58),
    ("Biology", "Science", 2, 70),
    ("Chemistry", "Science", 2, 60),
    ("History", "Humanities", 2, 69),
    ("Geography", "Humanities", 2, 72),
    ("Art", "Creative", 2, 80),
    ("Music", "Creative", 1, 78),
    ("Physical Education", "Sports", 3, 83),
]
for i, n in enumerate(TN, 1):
    y = r.randint(1994, 2023)
    h = r.choice([12, 16, 20, 22, 24, 26, 26, 26])
    c.execute(
        "INSERT INTO teachers VALUES(?,?,?,?,?,?)",
        (
            i,
            n,
            date(y, r.choice([1, 8, 9]), r.randint(1, 28)).isoformat(),
            h,
            round((31000 + (2024 - y) * 870 + r.randint(0, 3000)) * h / 26, 2),
            f"0{r.randint(150, 179)}-{r.randint(1000000, 9999999)}" if r.random() < 0.85 else None,
        ),
    )
for i, s in enumerate(SUB, 1):
    c.execute("INSERT INTO subjects VALUES(?,?,?,?)", (i, *s[:3]))
cl = []
forms = r.sample(range(1, 23), 14)
k = 0
for g in range(5, 11):
    for s in "ABC" if g in (5, 6) else "AB":
        cl.append(
            (k + 1, f"{g}{s}", g, f"{r.choice('EWN')}{r.randint(1, 3)}{r.randint(0, 19):02d}", forms[k])
        )
        k += 1
c.executemany("INSERT INTO classes VALUES(?,?,?,?,?)", cl)
F = "Emma Mia Sofia Lina Olivia Ava Zoe Clara Maya Ella Nora Ida Leila Amira Ruby Freya Chloe Hannah Alice Eva".split()
M = "Noah Ben Leo Finn Paul Luca Omar Jack Elias Theo Max Oscar Adam Felix Ryan Arjun Hugo Liam Samuel David".split()
L = "Ahmed Baker Bauer Carter Costa Davies Evans Fischer Foster Garcia Green Harris Hill Hoffmann Hughes Ito Jackson Jones Keller Khan King Kowalski Lee Lopez Martin Meyer Mitchell Moore Murphy Nguyen Okafor Patel Petrov Reed Richter Rossi Schmidt Shah Singh Stewart Taylor Turner Walker Weber Wilson Wood Young Zimmer".split()
used = set()
pup = []
pid = 1000
for x in cl:
    for _ in range(r.randint(19, 28)):
        while 1:
            g = r.choice("FM")
            n = (r.choice(F if g == "F" else M), r.choice(L))
            if n not in used:
                used.add(n)
                break
        pid += 1
        b = date(2024 - x[2] - 6, 1, 1) + timedelta(r.randint(0, 500) - 150)
        town = r.choices(["Ashford", "Brookfield", "Castleton", "Dunmore", "Elmswood"], [46, 24, 15, 9, 6])[0]
        bus = int(r.random() < (0.15 if town == "Ashford" else 0.68))
        en = date(2024 - (x[2] - 5) if r.random() < 0.85 else 2024 - r.randint(0, max(0, x[2] - 5)), 9, 2)
        if r.random() < 0.12:
            en += timedelta(r.randint(20, 200))
        c.execute(
            "INSERT INTO pupils VALUES(?,?,?,?,?,?,?,?,?)",
            (pid, *n, g, b.isoformat(), town if r.random() < 0.97 else None, bus, en.isoformat(), x[0]),
        )
        pup.append((pid, x, r.gauss(0, 10), r.lognormvariate(0, 0.9), bus))
# who teaches what in which class
spec = {}
for i in range(1, 23):
    spec.setdefault((i - 1) % 12 + 1, []).append(i)
T = {(x[0], s): r.choice(spec[s]) for x in cl for s in range(1, 13)}
# exams 2022-09 .. 2024-12 per pupil
mk = []
for pid, x, ab, _, _ in pup:
    for _ in range(r.randint(12, 24)):
        s = r.choices(range(1, 13), [q[2] for q in SUB])[0]
        while 1:
            d = date(2022, 9, 5) + timedelta(r.randint(0, 830))
            if d.weekday() < 5 and d.month not in (7, 8):
                break
        et = r.choices(["written", "oral", "quiz", "project"], [44, 15, 30, 11])[0]
        sc = int(
            max(
                3,
                min(
                    100,
                    r.gauss(
                        SUB[s - 1][3]
                        + ab
                        + {"written": -3, "oral": 4, "quiz": 0, "project": 8}[et]
                        - (x[2] - 7) * 0.9,
                        11,
                    ),
                ),
            )
        )
        mk.append((d.isoformat(), pid, s, T[x[0], s], et, None if r.random() < 0.025 else sc))
mk.sort()
for i, m in enumerate(mk, 1):
    c.execute("INSERT INTO marks VALUES(?,?,?,?,?,?,?)", (i, m[1], m[2], m[3], m[0], m[4], m[5]))
al = []
wd = [1.25, 0.9, 0.85, 0.95, 1.4]
mo = {1: 1.6, 2: 1.7, 3: 1.1, 4: 0.8, 5: 0.7, 6: 0.8, 9: 0.6, 10: 0.9, 11: 1.3, 12: 1.45}
absent = [q for q in pup if r.random() > 0.06]
D = [date(2022, 9, 5) + timedelta(i) for i in range(830)]
D = [d for d in D if d.weekday() < 5 and d.month in mo]
for _ in range(1650):
    q = r.choices(absent, [z[3] * (1.25 if z[1][2] >= 9 else 1) for z in absent])[0]
    d = r.choices(D, [wd[z.weekday()] * mo[z.month] for z in D])[0]
    ex = int(r.random() < (0.84 - 0.05 * (q[1][2] - 5)))
    rs = (
        r.choices(["illness", "doctor appointment", "family", "transport", "other"], [58, 17, 11, 8, 6])[0]
        if ex or r.random() < 0.3
        else None
    )
    al.append((d.isoformat(), q[0], r.choices([1, 2, 3, 4, 5, 6, 7], [10, 14, 9, 6, 9, 32, 20])[0], ex, rs))
al.sort()
for i, a in enumerate(al, 1):
    c.execute("INSERT INTO absences VALUES(?,?,?,?,?,?)", (i, a[1], a[0], *a[2:]))
c.commit()
c.close()
