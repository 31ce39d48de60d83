import os, random, sys, sqlite3, datetime as dt


def main(out):
    R = random.Random(2718)
    p = os.path.join(out, "exams.sqlite")
    if os.path.exists(p):
        os.remove(p)
    c = sqlite3.connect(p)
    c.executescript("""
    CREATE TABLE Teachers(TeacherID INTEGER PRIMARY KEY, TeacherName TEXT, HireDate TEXT, FullTime INTEGER);
    CREATE TABLE Subjects(SubjectID INTEGER PRIMARY KEY, SubjectName TEXT, Department TEXT, WeeklyHours INTEGER);
    CREATE TABLE Classes(ClassID INTEGER PRIMARY KEY, ClassName TEXT, GradeLevel INTEGER, Room TEXT);
    CREATE TABLE Students(StudentID INTEGER PRIMARY KEY, FirstName TEXT, LastName TEXT, Gender TEXT, BirthDate TEXT, ClassID INTEGER REFERENCES Classes(ClassID), Town TEXT, Scholarship INTEGER, GuardianEmail TEXT);
    CREATE TABLE Exams(ExamID INTEGER PRIMARY KEY, SubjectID INTEGER REFERENCES Subjects(SubjectID), TeacherID INTEGER REFERENCES Teachers(TeacherID), ExamDate TEXT, ExamType TEXT, DurationMin INTEGER);
    CREATE TABLE Results(ResultID INTEGER PRIMARY KEY, ExamID INTEGER REFERENCES Exams(ExamID), StudentID INTEGER REFERENCES Students(StudentID), Score REAL, Passed INTEGER);
    CREATE TABLE Absences(AbsenceID INTEGER PRIMARY KEY, StudentID INTEGER REFERENCES Students(StudentID), AbsenceDate TEXT, LessonsMissed INTEGER, Excused INTEGER, Reason TEXT);
    """)
    subs = [
        ("Mathematics", "Science", 5, 61),
        ("Physics", "Science", 3, 63),
        ("Biology", "Science", 3, 70),
        ("English", "Languages", 4, 69),
        ("French", "Languages", 3, 65),
        ("History", "Humanities", 2, 72),
        ("Geography", "Humanities", 2, 71),
        ("Art", "Arts", 2, 81),
    ]
    for i, s in enumerate(subs, 1):
        c.execute("INSERT INTO Subjects VALUES(?,?,?,?)", (i, *s[:3]))
    T = [
        "Margaret Hill",
        "Oliver Stone",
        "Priya Nair",
        "George Whitfield",
        "Hannah Berg",
        "Samuel Osei",
        "Claire Fontaine",
        "Luc Bernard",
        "Daniel Frost",
        "Rosa Medina",
        "Peter Vance",
        "Irene Kostas",
        "Yusuf Demir",
    ]
    tsub = [1, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 3, None]
    tb = [2, -3, 0, 1, 0, 2, -1, 1.5, 0, 0, 1, -1, 0]
    for i, n in enumerate(T, 1):
        c.execute(
            "INSERT INTO Teachers VALUES(?,?,?,?)",
            (
                i,
                n,
                (dt.date(2001, 8, 1) + dt.timedelta(R.randint(0, 22) * 365 + R.randint(0, 40))).isoformat(),
                int(R.random() < 0.7),
            ),
        )
    cl = [
        ("9A", 9, "101", 25),
        ("9B", 9, "102", 23),
        ("10A", 10, "201", 26),
        ("10B", 10, "202", 21),
        ("11A", 11, "301", 24),
        ("11B", 11, "302", 19),
        ("12A", 12, "L1", 18),
        ("12B", 12, "L2", 15),
    ]
    ceff = [1, -2, 3, -1, 0, -4, 5, 2]
    for i, x in enumerate(cl, 1):
        c.execute("INSERT INTO Classes VALUES(?,?,?,?)", (i, *x[:3]))
    F = "Emily Olivia Ava Sophie Mia Lily Grace Zoe Ella Ruby Nora Hana Leila Maya Clara Alice".split()
    M = "Jack Harry Oscar Leo Arthur Noah Theo Max Adam Finn Omar Ryan Lucas Ethan Ivan Hugo".split()
    L = "Smith Jones Taylor Brown Wilson Davies Evans Thomas Roberts Walker Wright Hughes Green Edwards Wood Harris Clarke Patel Khan Lewis Murphy Singh Ali Novak Costa Meyer Rossi Silva Kim Nguyen Larsen Petrov".split()
    towns = ["Ashford", "Millbrook", "Stonebridge", "Oakley", "Riverton"]
    tw = [38, 25, 18, 12, 7]
    studs = []
    used = set()
    sid = 1000
    for ci, x in enumerate(cl, 1):
        for _ in range(x[3]):
            while True:
                g = R.choice("FM")
                fn = R.choice(F if g == "F" else M)
                ln = R.choice(L)
                if (fn, ln) not in used:
                    used.add((fn, ln))
                    break
            sid += 1
            bd = dt.date(2024 - x[1] - 6, 9, 1) + dt.timedelta(R.randint(0, 364))
            sch = int(R.random() < 0.14)
            ab = R.gauss(0, 9) + ceff[ci - 1] + (5 if sch else 0) + (1.5 if g == "F" else 0)
            ar = R.lognormvariate(0.9, 0.8) * (1.0 - ab / 40)
            studs.append((sid, ci, ab, ar))
            c.execute(
                "INSERT INTO Students VALUES(?,?,?,?,?,?,?,?,?)",
                (
                    sid,
                    fn,
                    ln,
                    g,
                    bd.isoformat(),
                    ci,
                    R.choices(towns, tw)[0],
                    sch,
                    f"{ln.lower()}.family{sid}@mail.example" if R.random() > 0.12 else None,
                ),
            )
    # exams: per grade group, subject, 2 midterms/finals per school year + quizzes
    ex = 0
    res = 0
    for start in (2022, 2023):
        for mm, typ, dur, adj in ((10, "quiz", 30, 3), (1, "midterm", 60, 0), (6, "final", 120, -3)):
            for si, s in enumerate(subs, 1):
                tt = [i for i, z in enumerate(tsub, 1) if z == si]
                for grp, t in enumerate(tt):
                    if typ == "quiz" and si in (6, 7, 8):
                        continue
                    ex += 1
                    y = start + (0 if mm > 8 else 1)
                    d = dt.date(y, mm, R.randint(3, 24))
                    while d.weekday() > 4:
                        d += dt.timedelta(1)
                    c.execute("INSERT INTO Exams VALUES(?,?,?,?,?,?)", (ex, si, t, d.isoformat(), typ, dur))
                    for st, ci, ab, ar in studs:
                        if len(tt) == 2 and (ci % 2) != grp:
                            continue
                        if R.random() < 0.01:
                            continue
                        res += 1
                        if R.random() < 0.035:
                            sc = None
                        else:
                            sc = max(
                                4,
                                min(
                                    100,
                                    round(
                                        (
                                            s[3]
                                            + ab * (1.25 if si < 3 else 0.8)
                                            - ar * 0.6
                                            + tb[t - 1]
                                            + adj
                                            + (1.3 if start == 2023 else 0)
                                            + R.gauss(0, 9)
                                        )
                                        * 2
                                    )
                                    / 2,
                                ),
                            )
                        c.execute(
                            "INSERT INTO Results VALUES(?,?,?,?,?)",
                            (res, ex, st, sc, None if sc is None else int(sc >= 50)),
                        )
    sd = [dt.date(2022, 9, 5) + dt.timedelta(k) for k in range(665)]
    sd = [d for d in sd if d.weekday() < 5 and d.month not in (7, 8) and not (d.month == 12 and d.day > 20)]
    W = [
        [1.3, 0.9, 0.85, 1.0, 1.45][d.weekday()]
        * {1: 1.5, 2: 1.6, 12: 1.3, 11: 1.2, 6: 0.7, 5: 0.8}.get(d.month, 1)
        for d in sd
    ]
    ev = []
    for st, ci, ab, ar in studs:
        n = int(ar * 3.2 * R.uniform(0.6, 1.4)) if ar > 0.75 else 0
        for d in set(R.choices(sd, W, k=n)) if n else []:
            ev.append((d, st))
    ev.sort()
    for k, (d, st) in enumerate(ev, 1):
        rs = R.choices(["illness", "medical appointment", "family", "late bus", None], [55, 14, 10, 9, 12])[0]
        exq = int(
            R.random()
            < {"illness": 0.93, "medical appointment": 0.97, "family": 0.7, "late bus": 0.4, None: 0.1}[rs]
        )
        les = (
            R.choice([6, 6, 7, 5])
            if rs == "illness"
            else R.choice([1, 1, 2])
            if rs == "late bus"
            else R.choice([2, 3, 4, 6])
        )
        c.execute("INSERT INTO Absences VALUES(?,?,?,?,?,?)", (k, st, d.isoformat(), les, exq, rs))
    c.commit()
    c.close()


main(sys.argv[1])
