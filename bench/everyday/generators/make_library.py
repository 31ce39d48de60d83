import sys, os, sqlite3, random
from datetime import date, timedelta

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names import people

r = random.Random(5101)
out = sys.argv[1]
p = os.path.join(out, "library.sqlite")
if os.path.exists(p):
    os.remove(p)
c = sqlite3.connect(p)
c.executescript("""
CREATE TABLE branches(branch_id INTEGER PRIMARY KEY,branch_name TEXT NOT NULL,district TEXT,opened_year INTEGER,floor_area_sqm INTEGER,has_cafe INTEGER);
CREATE TABLE authors(author_id INTEGER PRIMARY KEY,author_name TEXT NOT NULL,country TEXT,birth_year INTEGER);
CREATE TABLE books(book_id INTEGER PRIMARY KEY,isbn TEXT,title TEXT NOT NULL,author_id INTEGER REFERENCES authors(author_id),genre TEXT,language TEXT,published_year INTEGER,pages INTEGER,replacement_cost REAL);
CREATE TABLE members(member_id INTEGER PRIMARY KEY,full_name TEXT NOT NULL,email TEXT,birth_date TEXT,membership_type TEXT,joined_on TEXT,home_branch_id INTEGER REFERENCES branches(branch_id),is_active INTEGER);
CREATE TABLE loans(loan_id INTEGER PRIMARY KEY,member_id INTEGER REFERENCES members(member_id),book_id INTEGER REFERENCES books(book_id),branch_id INTEGER REFERENCES branches(branch_id),loan_date TEXT,due_date TEXT,return_date TEXT,renewals INTEGER);
CREATE TABLE fines(fine_id INTEGER PRIMARY KEY,loan_id INTEGER REFERENCES loans(loan_id),reason TEXT,amount REAL,issued_on TEXT,paid INTEGER,paid_on TEXT);
""")
br = [
    ("Central Library", "Downtown", 1931, 4200, 1),
    ("Riverside", "Harbor", 1978, 1350, 1),
    ("Oak Hill", "Northgate", 1994, 980, 0),
    ("Maple Street", "Westside", 1966, 760, 0),
    ("Eastfield", "Eastfield", 2008, 1120, 1),
    ("Station Corner", "Southbank", 2016, 410, 0),
]
for i, b in enumerate(br, 1):
    c.execute("INSERT INTO branches VALUES(?,?,?,?,?,?)", (i,) + b)
bw = [34, 21, 15, 12, 11, 7]
an = people(r, 64)
ctry = [
    "United States",
    "United Kingdom",
    "Canada",
    "France",
    "Japan",
    "Nigeria",
    "India",
    "Ireland",
    "Sweden",
]
cw = [26, 18, 7, 7, 6, 5, 5, 4, 3]
for i, a in enumerate(an, 1):
    c.execute(
        "INSERT INTO authors VALUES(?,?,?,?)",
        (i, a, r.choices(ctry, cw)[0], r.randint(1899, 1990) if r.random() > 0.08 else None),
    )
adj = "Silent Hidden Last Broken Golden Distant Crimson Forgotten Winter Paper Glass Burning Little Secret Endless Hollow Wild Blue Stolen Quiet".split()
noun = "River Garden House Letter Kingdom Shore Orchard Mirror Forest Season Harbor Promise Machine Bridge Lighthouse Map Daughter Island Thief Year".split()
gen = {
    "Fiction": 26,
    "Mystery": 17,
    "Children": 16,
    "Science Fiction": 11,
    "Biography": 8,
    "History": 8,
    "Cooking": 5,
    "Romance": 9,
    "Poetry": 3,
}
titles = ["The %s %s" % (a, n) for a in adj for n in noun]
r.shuffle(titles)
books = []
for i in range(1, 281):
    g = r.choices(list(gen), list(gen.values()))[0]
    pg = (
        r.randint(24, 140)
        if g == "Children"
        else r.randint(60, 190)
        if g == "Poetry"
        else int(r.gauss(355, 95))
    )
    pg = max(pg, 24)
    if i == 77:
        pg = 1184
    cost = round(6 + pg * 0.05 + r.random() * 14, 2)
    c.execute(
        "INSERT INTO books VALUES(?,?,?,?,?,?,?,?,?)",
        (
            i,
            "978%010d" % r.randint(0, 10**10 - 1),
            titles[i],
            min(64, int(r.paretovariate(0.7))) if r.random() < 0.2 else r.randint(1, 60),
            g,
            r.choices(["English", "Spanish", "French", "Chinese"], [80, 12, 5, 3])[0],
            2024 - int(min(90, r.expovariate(1 / 16))),
            pg if r.random() > 0.03 else None,
            cost,
        ),
    )
    books.append((i, g, cost))
mn = people(r, 430)
mem = []
for i, m in enumerate(mn, 1):
    t = r.choices(["Adult", "Student", "Child", "Senior"], [48, 22, 18, 12])[0]
    by = {
        "Adult": r.randint(1962, 1998),
        "Student": r.randint(1999, 2006),
        "Child": r.randint(2010, 2017),
        "Senior": r.randint(1936, 1957),
    }[t]
    j = date(2019, 1, 1) + timedelta(days=int(r.random() ** 0.8 * 1970))
    hb = r.choices(range(1, 7), bw)[0]
    c.execute(
        "INSERT INTO members VALUES(?,?,?,?,?,?,?,?)",
        (
            i,
            m,
            m.lower().replace(" ", ".") + "@" + r.choice(["gmail.com", "outlook.com", "mail.org"])
            if r.random() > 0.12
            else None,
            str(date(by, 1, 1) + timedelta(days=r.randint(0, 364))),
            t,
            str(j),
            hb,
            1 if r.random() < 0.83 else 0,
        ),
    )
    if r.random() > 0.07:
        mem.append((i, j, hb, t, r.paretovariate(1.3)))
bookw = [r.paretovariate(1.2) * (1.6 if g in ("Mystery", "Children") else 1) for _, g, _ in books]
mon = [1.1, 0.9, 0.95, 0.9, 0.85, 1.2, 1.5, 1.35, 0.9, 0.95, 0.9, 0.7]
wd = [1.1, 1, 1.05, 0.9, 1.15, 1.6, 0]
end = date(2024, 6, 30)
rows = []
mw = [min(m[4], 9) for m in mem]
while len(rows) < 4300:
    m = r.choices(mem, mw)[0]
    d = date(2021, 1, 4) + timedelta(days=r.randint(0, 1273))
    if d < m[1] or r.random() > mon[d.month - 1] / 1.5 * wd[d.weekday()] / 1.6 * (
        0.65 + 0.12 * (d.year - 2021)
    ):
        continue
    rows.append((d, m))
rows.sort(key=lambda x: (x[0], x[1][0]))
fid = 0
fines = []
for i, (d, m) in enumerate(rows, 1):
    b = r.choices(books, bookw)[0]
    ren = r.choices([0, 1, 2, 3], [72, 18, 7, 3])[0]
    due = d + timedelta(days=21 + 14 * ren)
    late = r.random() < (0.24 if m[3] == "Student" else 0.13 if m[3] != "Senior" else 0.05)
    ret = (
        due + timedelta(days=1 + int(r.expovariate(1 / 9)))
        if late
        else d + timedelta(days=r.randint(2, (due - d).days))
    )
    lost = r.random() < 0.012
    if ret > end or lost:
        rr = None
    else:
        rr = ret
    bid = m[2] if r.random() < 0.78 else r.choices(range(1, 7), bw)[0]
    c.execute(
        "INSERT INTO loans VALUES(?,?,?,?,?,?,?,?)",
        (i, m[0], b[0], bid, str(d), str(due), str(rr) if rr else None, ren),
    )
    if lost and due + timedelta(days=30) < end:
        fines.append((i, "lost", round(b[2] + 5, 2), due + timedelta(days=30)))
    elif rr and late and r.random() < 0.9:
        fines.append((i, "late", round(0.35 * (rr - due).days, 2), rr))
    if rr and r.random() < 0.015:
        fines.append((i, "damaged", round(b[2] * r.uniform(0.2, 0.6), 2), rr))
fines.sort(key=lambda x: (x[3], x[0]))
for k, (l, rs, a, dt) in enumerate(fines, 1):
    pd = r.random() < {"late": 0.8, "lost": 0.45, "damaged": 0.62}[rs]
    c.execute(
        "INSERT INTO fines VALUES(?,?,?,?,?,?,?)",
        (k, l, rs, a, str(dt), int(pd), str(dt + timedelta(days=int(r.expovariate(1 / 12)))) if pd else None),
    )
c.commit()
c.close()
