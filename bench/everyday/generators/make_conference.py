import os, sys, random, sqlite3, datetime as dt

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
p = os.path.join(out, "conference.sqlite")
if os.path.exists(p):
    os.remove(p)
r = random.Random(4505)
db = sqlite3.connect(p)
db.executescript("""
CREATE TABLE editions(edition_id INTEGER PRIMARY KEY, edition_name TEXT, city TEXT, start_date TEXT, end_date TEXT);
CREATE TABLE rooms(room_id INTEGER PRIMARY KEY, room_name TEXT, capacity INTEGER, floor INTEGER, has_recording INTEGER);
CREATE TABLE speakers(speaker_id INTEGER PRIMARY KEY, speaker_name TEXT, company TEXT, country TEXT, first_time_speaker INTEGER);
CREATE TABLE talks(talk_id INTEGER PRIMARY KEY, edition_id INTEGER REFERENCES editions(edition_id), room_id INTEGER REFERENCES rooms(room_id), speaker_id INTEGER REFERENCES speakers(speaker_id), title TEXT, track TEXT, level TEXT, talk_date TEXT, start_time TEXT, duration_min INTEGER, cancelled INTEGER);
CREATE TABLE attendees(attendee_id INTEGER PRIMARY KEY, full_name TEXT, email TEXT, country TEXT, job_role TEXT, newsletter INTEGER);
CREATE TABLE registrations(reg_id INTEGER PRIMARY KEY, attendee_id INTEGER REFERENCES attendees(attendee_id), edition_id INTEGER REFERENCES editions(edition_id), registered_on TEXT, ticket_type TEXT, price_paid REAL, promo_code TEXT, checked_in INTEGER);
CREATE TABLE ratings(rating_id INTEGER PRIMARY KEY, talk_id INTEGER REFERENCES talks(talk_id), attendee_id INTEGER REFERENCES attendees(attendee_id), score INTEGER, comment TEXT, rated_on TEXT);
""")
ed = [
    (1, "DataDays 2022", "Lisbon", dt.date(2022, 10, 5)),
    (2, "DataDays 2023", "Vienna", dt.date(2023, 9, 20)),
    (3, "DataDays 2024", "Vienna", dt.date(2024, 9, 18)),
    (4, "DataDays 2025", "Dublin", dt.date(2025, 5, 14)),
]
for e in ed:
    db.execute(
        "INSERT INTO editions VALUES(?,?,?,?,?)", (e[0], e[1], e[2], str(e[3]), str(e[3] + dt.timedelta(2)))
    )
rooms = [
    ("Main Hall", 900, 0, 1),
    ("Ada", 320, 1, 1),
    ("Turing", 280, 1, 1),
    ("Hopper", 180, 2, 0),
    ("Curie", 140, 2, 1),
    ("Noether", 80, 3, 0),
    ("Workshop Lab", 45, 3, 0),
    ("Garden Tent", 120, 0, 0),
]
for i, x in enumerate(rooms, 1):
    db.execute("INSERT INTO rooms VALUES(?,?,?,?,?)", (i,) + x)
fn = "Alice Bruno Carla Diego Elena Farid Greta Hiro Ines Jakub Kira Liam Mona Nils Olga Pavel Quinn Rosa Samir Tara Uwe Vera Wendy Xavier Yara Zoe Arjun Bea Cem Dana Emil Fiona".split()
sn = "Alvarez Becker Costa Duarte Eriksen Fontana Gruber Haddad Ivanov Jensen Kaya Lopez Moreau Novak Okafor Pereira Quist Rao Silva Tanaka Ueda Vogel Watson Yilmaz Zimmer Nguyen Patel Brandt".split()
co = [
    "Germany",
    "Austria",
    "Portugal",
    "United Kingdom",
    "Ireland",
    "France",
    "Spain",
    "Netherlands",
    "Poland",
    "USA",
    "India",
]
cw = [22, 14, 12, 12, 7, 8, 7, 6, 5, 4, 3]
used = set()


def name():
    while True:
        n = r.choice(fn) + " " + r.choice(sn)
        if n in used:
            n = n.split()[0] + " " + r.choice("ABCDEFGHKLMNPRST") + ". " + n.split()[-1]
        if n not in used:
            used.add(n)
            return n


comp = [
    "Nimbus Analytics",
    "OpenGrid",
    "Bluefin Bank",
    "TU Wien",
    "Helios Health",
    "Quantica",
    "CityMaps",
    "Freelance",
    "DataForge",
    "University of Porto",
]
ns = 96
skill = {}
for i in range(1, ns + 1):
    c = r.choices(comp, [18, 12, 9, 10, 8, 7, 5, 14, 11, 6])[0]
    skill[i] = r.gauss(0, 0.45)
    db.execute(
        "INSERT INTO speakers VALUES(?,?,?,?,?)",
        (i, name(), None if r.random() < 0.06 else c, r.choices(co, cw)[0], 1 if r.random() < 0.38 else 0),
    )
tr = {
    "Machine Learning": 30,
    "Data Engineering": 26,
    "Visualization": 14,
    "Databases": 17,
    "Ethics & Privacy": 8,
    "Career": 6,
}
tb = {
    "Machine Learning": 0.0,
    "Data Engineering": 0.1,
    "Visualization": 0.32,
    "Databases": 0.18,
    "Ethics & Privacy": -0.1,
    "Career": -0.28,
}
subj = {
    "Machine Learning": [
        "Gradient Boosting",
        "Transformers",
        "Feature Stores",
        "Forecasting",
        "Recommender Systems",
        "Model Monitoring",
        "Small Language Models",
    ],
    "Data Engineering": [
        "Streaming Pipelines",
        "Data Contracts",
        "Orchestration",
        "Lakehouse Design",
        "Change Data Capture",
        "Data Quality",
    ],
    "Visualization": ["Maps", "Dashboards", "Color", "Interactive Charts", "Storytelling"],
    "Databases": ["Query Planners", "Indexes", "Columnar Storage", "Graph Databases", "SQL Window Functions"],
    "Ethics & Privacy": ["GDPR", "Fairness", "Differential Privacy"],
    "Career": ["Mentoring", "Freelancing", "Hiring Data Teams"],
}
pat = [
    "{} in Practice",
    "Lessons from {}",
    "{} at Scale",
    "An Introduction to {}",
    "{} Without Tears",
    "The Future of {}",
    "Debugging {}",
    "{}: What Nobody Tells You",
    "Five Years of {}",
    "Rethinking {}",
]
talks = []
tset = set()
tid = 0
for e, cnt in ((1, 54), (2, 68), (3, 80), (4, 92)):
    slots = {}
    for k in range(cnt):
        while True:
            t = r.choices(list(tr), list(tr.values()))[0]
            title = r.choice(pat).format(r.choice(subj[t]))
            if title not in tset:
                tset.add(title)
                break
            if r.random() < 0.05:
                title += " (Part 2)"
            if title not in tset:
                tset.add(title)
                break
        rm = r.choices(range(1, 9), [16, 20, 18, 15, 12, 8, 6, 5])[0]
        day = r.randrange(3)
        while True:
            h = r.choice(["09:00", "10:00", "11:00", "13:00", "14:00", "15:00", "16:00"])
            if (day, rm, h) not in slots:
                slots[day, rm, h] = 1
                break
            day = r.randrange(3)
            rm = r.choices(range(1, 9), [16, 20, 18, 15, 12, 8, 6, 5])[0]
        sp = int(ns * r.random() ** 1.25 * 0.93) + 1
        dur = 90 if rm == 7 else r.choices([20, 30, 45, 50], [18, 40, 32, 10])[0]
        tid += 1
        canc = 1 if r.random() < 0.05 else 0
        lv = r.choices(["Beginner", "Intermediate", "Advanced"], [34, 46, 20])[0]
        talks.append((tid, e, rm, sp, title, t, lv, ed[e - 1][3] + dt.timedelta(day), h, dur, canc))
        db.execute(
            "INSERT INTO talks VALUES(?,?,?,?,?,?,?,?,?,?,?)",
            talks[-1][:7] + (str(talks[-1][7]),) + talks[-1][8:],
        )
roles = ["Data Scientist", "Data Engineer", "Analyst", "Student", "Manager", "Researcher", "Developer"]
na = 1150
att = {}
for i in range(1, na + 1):
    n = name()
    ro = None if r.random() < 0.04 else r.choices(roles, [24, 20, 17, 13, 9, 8, 11])[0]
    att[i] = ro
    db.execute(
        "INSERT INTO attendees VALUES(?,?,?,?,?,?)",
        (
            i,
            n,
            n.lower().replace(" ", ".").replace("..", ".")
            + "@"
            + r.choice(["gmail.com", "outlook.com", "proton.me", "company.example"]),
            r.choices(co, cw)[0],
            ro,
            1 if r.random() < 0.43 else 0,
        ),
    )
price = {"Early Bird": 290, "Regular": 420, "Student": 95, "VIP": 890, "Online": 120}
k = 0
present = {}
regs = []
for e, n in ((1, 340), (2, 430), (3, 520), (4, 610)):
    for a in r.sample(range(1, na - 60), n):
        d = ed[e - 1][3] - dt.timedelta(min(240, int(r.expovariate(1 / 60.0)) + 1))
        days = (ed[e - 1][3] - d).days
        t = (
            "Student"
            if att[a] == "Student" and r.random() < 0.85
            else r.choices(
                ["Early Bird", "Regular", "VIP", "Online"], [60 if days > 75 else 0, 50, 7, 14 + 3 * e]
            )[0]
        )
        pc = (
            r.choice(["FRIEND10", "SPEAKER", "MEETUP20", "FRIEND10", "MEETUP20", "FRIEND10"])
            if r.random() < 0.17
            else None
        )
        pr = price[t] * (1 + 0.06 * (e - 1)) * {None: 1, "FRIEND10": 0.9, "MEETUP20": 0.8, "SPEAKER": 0}[pc]
        regs.append(
            (d, a, e, t, round(pr, 2), pc, 1 if r.random() < (0.55 if t == "Online" else 0.91) else 0)
        )
regs.sort(key=lambda x: (x[0], x[1]))
for i, x in enumerate(regs, 1):
    db.execute(
        "INSERT INTO registrations VALUES(?,?,?,?,?,?,?,?)",
        (i, x[1], x[2], str(x[0]), x[3], x[4], x[5], x[6]),
    )
    if x[6]:
        present.setdefault(x[2], []).append(x[1])
cm = [
    "great",
    "too fast",
    "loved the demo",
    "slides unreadable",
    "would watch again",
    "too basic",
    "room was too hot",
    "very clear",
]
k = 0
for t in talks:
    if t[10] or t[0] in (17, 88, 143, 201, 260, 277):
        continue
    n = max(4, int(rooms[t[2] - 1][1] ** 0.5 * r.uniform(0.7, 1.5) * (0.75 + 0.1 * t[1])))
    base = 3.75 + skill[t[3]] + tb[t[5]]
    for a in r.sample(present[t[1]], n):
        s = max(1, min(5, round(r.gauss(base, 0.85))))
        k += 1
        db.execute(
            "INSERT INTO ratings VALUES(?,?,?,?,?,?)",
            (
                k,
                t[0],
                a,
                s,
                r.choice(cm) if r.random() < 0.3 else None,
                str(t[7] + dt.timedelta(r.choice([0, 0, 0, 1, 2, 5]))),
            ),
        )
db.commit()
db.close()
