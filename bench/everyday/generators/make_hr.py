"""hr.sqlite: employees, departments, offices, salaries (history), absences, trainings, training_participation."""

import os, random, sqlite3, sys
from datetime import date, timedelta

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
fn = os.path.join(out, "hr.sqlite")
if os.path.exists(fn):
    os.remove(fn)
R = random.Random(90125)
db = sqlite3.connect(fn)
db.executescript("""
CREATE TABLE offices (OfficeID INTEGER PRIMARY KEY, City TEXT, Country TEXT, Capacity INTEGER, OpenedOn DATE);
CREATE TABLE departments (DeptID INTEGER PRIMARY KEY, DeptName TEXT, CostCenter TEXT, AnnualBudgetUSD INTEGER);
CREATE TABLE employees (EmpID INTEGER PRIMARY KEY, FirstName TEXT, LastName TEXT, Gender TEXT, BirthDate DATE, HireDate DATE, TerminationDate DATE, TerminationReason TEXT,
  DeptID INTEGER REFERENCES departments(DeptID), OfficeID INTEGER REFERENCES offices(OfficeID), ManagerID INTEGER REFERENCES employees(EmpID), JobTitle TEXT, EmploymentType TEXT,
  IsRemote INTEGER, PerfScore REAL);
CREATE TABLE salaries (SalaryID INTEGER PRIMARY KEY, EmpID INTEGER REFERENCES employees(EmpID), ValidFrom DATE, ValidTo DATE, AnnualSalaryUSD INTEGER);
CREATE TABLE absences (AbsenceID INTEGER PRIMARY KEY, EmpID INTEGER REFERENCES employees(EmpID), AbsenceType TEXT, StartDate DATE, EndDate DATE, Days INTEGER);
CREATE TABLE trainings (TrainingID INTEGER PRIMARY KEY, Title TEXT, Provider TEXT, Hours REAL, CostPerSeatUSD REAL, Mandatory TEXT);
CREATE TABLE training_participation (ParticipationID INTEGER PRIMARY KEY, TrainingID INTEGER REFERENCES trainings(TrainingID), EmpID INTEGER REFERENCES employees(EmpID), CompletedOn DATE, Score INTEGER, Passed INTEGER);
""")
OFF = [
    (1, "Berlin", "Germany", 90, "2014-03-01"),
    (2, "London", "United Kingdom", 70, "2015-09-15"),
    (3, "Boston", "USA", 60, "2016-05-02"),
    (4, "Lisbon", "Portugal", 45, "2019-10-01"),
    (5, "Toronto", "Canada", 30, "2020-02-17"),
    (6, "Singapore", "Singapore", 24, "2021-06-07"),
]
db.executemany("INSERT INTO offices VALUES (?,?,?,?,?)", OFF)
DEP = {  # name: n, head title, women share, attrition, titles (title, weight, base)
    "Engineering": (
        78,
        "VP Engineering",
        178000,
        0.30,
        0.22,
        [
            ("Junior Developer", 18, 62000),
            ("Software Engineer", 34, 88000),
            ("Senior Software Engineer", 20, 116000),
            ("QA Engineer", 10, 71000),
        ],
    ),
    "Sales": (
        52,
        "VP Sales",
        165000,
        0.45,
        0.36,
        [("Sales Representative", 34, 56000), ("Account Manager", 16, 74000), ("Sales Analyst", 6, 66000)],
    ),
    "Customer Support": (
        44,
        "Head of Support",
        112000,
        0.58,
        0.41,
        [("Support Agent", 34, 43000), ("Support Team Lead", 6, 61000), ("Technical Writer", 4, 58000)],
    ),
    "Marketing": (
        27,
        "Head of Marketing",
        128000,
        0.63,
        0.27,
        [("Marketing Specialist", 16, 59000), ("Content Designer", 8, 63000), ("Brand Manager", 5, 83000)],
    ),
    "Finance": (
        21,
        "CFO",
        192000,
        0.52,
        0.18,
        [("Accountant", 12, 64000), ("Financial Analyst", 8, 77000), ("Payroll Specialist", 3, 55000)],
    ),
    "Operations": (
        30,
        "Head of Operations",
        121000,
        0.40,
        0.29,
        [
            ("Operations Specialist", 18, 54000),
            ("Logistics Coordinator", 8, 51000),
            ("Facility Manager", 3, 60000),
        ],
    ),
    "Human Resources": (
        13,
        "Head of HR",
        117000,
        0.74,
        0.16,
        [("HR Business Partner", 6, 72000), ("Recruiter", 6, 59000)],
    ),
    "Legal": (
        7,
        "General Counsel",
        171000,
        0.55,
        0.12,
        [("Legal Counsel", 5, 109000), ("Paralegal", 2, 61000)],
    ),
}
F = "Olivia Emma Amelia Sophie Hannah Priya Mei Chloe Zara Ines Beatriz Marta Fatima Leila Nora Clara Ruth Agnes Yuki Grace Elif Ana Vera Joana".split()
M = "Liam Noah Oliver Ethan Paul Jan Tiago Rui Ravi Wei Daniel Omar Karim David Samuel Leon Finn Hugo Kenji Peter Mateo Andre Ivan Colin".split()
L = "Schneider Weber Fischer Koch Richter Smith Jones Taylor Brown Evans Walker Wright Johnson Miller Davis Clark Silva Santos Ferreira Costa Tan Lim Wong Singh Patel Khan Nguyen Tremblay Gagnon Roy Novak Kowalski Rossi Haas Berg".split()
seen = set()


def name(g):
    while True:
        n = (R.choice(F if g == "F" else M), R.choice(L))
        if n not in seen:
            seen.add(n)
            return n


rd = lambda a, b: a + timedelta(days=R.randint(0, (b - a).days))
emps = []
eid = 1000


def add(dep, did, title, base, mgr, hire, p_left, wshare, head=False):
    global eid
    eid += 1
    g = "F" if R.random() < wshare else "M"
    n = name(g)
    off = R.choices(range(1, 7), [34, 24, 18, 12, 7, 5])[0]
    while date.fromisoformat(OFF[off - 1][4]) > hire:
        off = R.choices(range(1, 4), [34, 24, 18])[0]
    term = None
    if R.random() < p_left and hire < date(2024, 3, 1):
        term = rd(max(hire + timedelta(days=120), date(2021, 3, 1)), date(2024, 12, 20))
    e = dict(
        id=eid,
        n=n,
        g=g,
        b=rd(date(1962, 1, 1), date(1980, 12, 31))
        if head
        else rd(date(1966, 1, 1), min(date(2001, 12, 31), hire - timedelta(days=21 * 365))),
        hire=hire,
        term=term,
        dep=dep,
        did=did,
        off=off,
        mgr=mgr,
        title=title,
        base=base,
        et=("Full-time" if head else R.choices(["Full-time", "Part-time", "Contractor"], [80, 13, 7])[0]),
        rem=int(R.random() < {"Engineering": 0.48, "Marketing": 0.4, "Customer Support": 0.3}.get(dep, 0.15)),
        perf=None
        if hire > date(2024, 7, 1) or R.random() < 0.04
        else round(min(5, max(1, R.gauss(3.55 + (0.25 if head else 0), 0.62))), 1),
    )
    emps.append(e)
    return e


ceo = add("Operations", 6, "CEO", 245000, None, date(2014, 3, 1), 0, 0.5, True)
for did, (dep, (n, ht, hb, ws, att, titles)) in enumerate(DEP.items(), 1):
    db.execute(
        "INSERT INTO departments VALUES (?,?,?,?)",
        (did, dep, f"CC-{did * 110 + 400}", int(n * 95000 * R.uniform(0.9, 1.25) // 1000 * 1000)),
    )
    h = add(dep, did, ht, hb, ceo["id"], rd(date(2014, 4, 1), date(2018, 12, 1)), 0, ws, True)
    for _ in range(n - 1):
        t, w, b = R.choices(titles, [x[1] for x in titles])[0]
        y = R.choices(range(2015, 2025), [3, 4, 6, 8, 11, 8, 15, 18, 13, 12])[0]
        hire = rd(date(y, 1, 2), date(y, 12, 15))
        add(dep, did, t, b, h["id"], hire, att * (1.15 if y < 2022 else 0.9), ws)
for e in emps:
    why = (
        R.choices(
            ["Better offer", "Relocation", "Retirement", "Dismissed", "Contract ended", "Personal reasons"],
            [40, 11, 6, 13, 9, 17],
        )[0]
        if e["term"]
        else None
    )
    db.execute(
        "INSERT INTO employees VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            e["id"],
            *e["n"],
            e["g"],
            e["b"].isoformat(),
            e["hire"].isoformat(),
            e["term"] and e["term"].isoformat(),
            why,
            e["did"],
            e["off"],
            e["mgr"],
            e["title"],
            e["et"],
            e["rem"],
            e["perf"],
        ),
    )
sid = 0
LOC = {1: 1.0, 2: 1.08, 3: 1.22, 4: 0.8, 5: 1.02, 6: 1.05}
star = set(
    x["id"]
    for x in R.sample([e for e in emps if e["title"] == "Senior Software Engineer" and not e["term"]], 3)
) | set(x["id"] for x in R.sample([e for e in emps if e["title"] == "Account Manager" and not e["term"]], 1))
for e in emps:
    s = (
        e["base"]
        * LOC[e["off"]]
        * R.lognormvariate(0, 0.09)
        * (0.985 if e["g"] == "F" else 1.0)
        * (1 - 0.018 * max(0, 2024 - e["hire"].year))
    )
    if e["et"] == "Part-time":
        s *= 0.6
    if e["id"] in star:
        s *= 1.75
    s = int(round(s, -1)) + R.randint(0, 9)
    cur = e["hire"]
    hist = []
    for y in range(cur.year + 1, 2025):
        d = date(y, 4, 1)
        if d <= e["hire"] + timedelta(days=180) or (e["term"] and d >= e["term"]):
            continue
        if R.random() < {2022: 0.62, 2023: 0.7}.get(y, 0.5):
            hist.append((cur, d - timedelta(days=1), s))
            cur = d
            up = R.gauss({2022: 0.042, 2023: 0.058, 2024: 0.036}.get(y, 0.03), 0.012)
            if R.random() < 0.05:
                up += 0.09
            s = int(s * (1 + max(0.008, up)))
    hist.append((cur, e["term"], s))
    for a, b, v in hist:
        sid += 1
        db.execute(
            "INSERT INTO salaries VALUES (?,?,?,?,?)", (sid, e["id"], a.isoformat(), b and b.isoformat(), v)
        )
ab = []
for e in emps:
    prone = R.gammavariate(2, 0.5) * (
        1.35 if e["dep"] == "Customer Support" else 0.75 if e["dep"] == "Legal" else 1
    )
    for y in (2022, 2023, 2024):
        lo, hi = max(e["hire"], date(y, 1, 3)), min(e["term"] or date(y, 12, 18), date(y, 12, 18))
        if lo + timedelta(days=20) > hi:
            continue
        fr = (hi - lo).days / 350
        for typ, lam in (
            ("Vacation", 3.1),
            ("Sick leave", 1.7 * prone * {2022: 1.15, 2023: 1, 2024: 0.95}[y]),
            ("Unpaid leave", 0.06),
            ("Parental leave", 0.05),
            ("Training leave", 0.12),
        ):
            k = sum(R.random() < lam * fr / 8 for _ in range(8))
            for _ in range(k):
                st = rd(lo, hi)
                if typ == "Vacation" and R.random() < 0.45:
                    st = min(max(date(y, R.choice([7, 8, 8, 12]), R.randint(1, 18)), lo), hi)
                if typ == "Sick leave" and R.random() < 0.35:
                    st = min(max(date(y, R.choice([1, 2, 2, 11]), R.randint(3, 26)), lo), hi)
                while st.weekday() > 4:
                    st += timedelta(days=1)
                n = {
                    "Vacation": R.choice([1, 2, 3, 5, 5, 8, 10]),
                    "Sick leave": R.choices([1, 2, 3, 4, 5, 9, 18], [28, 24, 18, 10, 9, 4, 1])[0],
                    "Unpaid leave": R.randint(3, 15),
                    "Parental leave": R.randint(20, 60),
                    "Training leave": R.randint(1, 4),
                }[typ]
                en = st
                w = 1
                while (
                    w < n
                    and en + timedelta(days=1) <= date(y, 12, 31)
                    and (not e["term"] or en + timedelta(days=1) <= e["term"])
                ):
                    en += timedelta(days=1)
                    if en.weekday() < 5:
                        w += 1
                while en.weekday() > 4:
                    en -= timedelta(days=1)
                ab.append((st, e["id"], typ, en, w))
for i, (st, em, typ, en, n) in enumerate(sorted(ab), 1):
    db.execute("INSERT INTO absences VALUES (?,?,?,?,?,?)", (i, em, typ, st.isoformat(), en.isoformat(), n))
TR = [
    ("Security Awareness", "In-house", 1.5, 12, "yes", 0),
    ("GDPR Basics", "In-house", 2, 15, "yes", 0),
    ("First Aid", "Red Cross", 8, 95, "no", 0.07),
    ("Leadership Essentials", "SkillForge", 16, 640, "no", 0.06),
    ("Advanced Excel", "LearnHub", 6, 120, "no", 0.12),
    ("Python for Analysts", "LearnHub", 20, 380, "no", 0.08),
    ("Negotiation Skills", "SkillForge", 12, 520, "no", 0.06),
    ("Presentation Skills", "SkillForge", 8, 290, "no", 0.09),
    ("Cloud Architecture", "CloudAcademy", 24, 890, "no", 0.05),
    ("Conflict Resolution", "SkillForge", 6, 240, "no", 0.04),
    ("Kubernetes in Practice", "CloudAcademy", 18, 760, "no", 0.04),
]
db.executemany("INSERT INTO trainings VALUES (?,?,?,?,?,?)", [(i, *t[:5]) for i, t in enumerate(TR, 1)])
pt = []
for e in emps:
    lo, hi = max(e["hire"], date(2022, 1, 10)), e["term"] or date(2024, 12, 13)
    if lo + timedelta(days=30) > hi:
        continue
    for i, t in enumerate(TR, 1):
        p = (
            (0.72 if i == 1 else 0.6)
            if t[5] == 0
            else t[5]
            * (
                (4 if e["dep"] == "Engineering" else 0.15)
                if t[1] == "CloudAcademy"
                else (3 if e["dep"] == "Sales" else 1)
                if t[0] == "Negotiation Skills"
                else (2.5 if e["dep"] in ("Finance", "Operations") else 1)
                if t[1] == "LearnHub"
                else 1
            )
        )
        if R.random() < p:
            sc = int(min(100, max(31, R.gauss(79 - t[2] * 0.35 + 4 * ((e["perf"] or 3.5) - 3.5), 11))))
            pt.append((rd(lo + timedelta(days=5), hi), i, e["id"], None if R.random() < 0.05 else sc))
for i, (d, t, em, sc) in enumerate(sorted(pt, key=lambda x: x[:3]), 1):
    db.execute(
        "INSERT INTO training_participation VALUES (?,?,?,?,?,?)",
        (i, t, em, d.isoformat(), sc, None if sc is None else int(sc >= 60)),
    )
db.commit()
db.close()
