#!/usr/bin/env python3
"""chess_club.sqlite: a chess federation's clubs, players, tournaments, entries and games."""

import os, random, sqlite3, sys
from datetime import date, timedelta

import names

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
path = os.path.join(out, "chess_club.sqlite")
if os.path.exists(path):
    os.remove(path)
R = random.Random(7309)
con = sqlite3.connect(path)
con.executescript("""
CREATE TABLE club (club_id INTEGER PRIMARY KEY, club_name TEXT, city TEXT, founded INTEGER, annual_fee REAL);
CREATE TABLE player (player_id INTEGER PRIMARY KEY, name TEXT, club_id INTEGER REFERENCES club(club_id),
  title TEXT, sex TEXT, "YearOfBirth" INTEGER, "CurrentElo" INTEGER, joined TEXT);
CREATE TABLE tournament (trn_id INTEGER PRIMARY KEY, trn_name TEXT, venue_city TEXT, start_date TEXT,
  rounds INTEGER, time_control TEXT, entry_fee REAL, prize_fund REAL);
CREATE TABLE entry (entry_id INTEGER PRIMARY KEY, trn_id INTEGER REFERENCES tournament(trn_id),
  player_id INTEGER REFERENCES player(player_id), seed INTEGER, fee_paid REAL, prize REAL, withdrew INTEGER);
CREATE TABLE game (game_id INTEGER PRIMARY KEY, trn_id INTEGER REFERENCES tournament(trn_id), round INTEGER,
  white_id INTEGER REFERENCES player(player_id), black_id INTEGER REFERENCES player(player_id), result TEXT,
  moves INTEGER, eco TEXT, opening TEXT, minutes INTEGER);
""")
CLUBS = [
    ("Caissa Graz", "Graz", 1921, 95, 9),
    ("SK Danube", "Vienna", 1948, 140, 14),
    ("Rook & Pawn", "Vienna", 1987, 110, 10),
    ("Linz Knights", "Linz", 1963, 90, 8),
    ("SV Salzach", "Salzburg", 1955, 105, 7),
    ("Alpine Bishops", "Innsbruck", 1994, 85, 5),
    ("Young Masters", "Vienna", 2011, 60, 6),
    ("Lakeside Chess", "Bregenz", 2003, 70, 0),
]
for i, c in enumerate(CLUBS):
    con.execute("INSERT INTO club VALUES (?,?,?,?,?)", (i + 1,) + c[:4])
people = []
for i, n in enumerate(names.people(R, 140)):
    cl = R.choices(range(1, 9), [c[4] for c in CLUBS])[0] if R.random() > 0.07 else None
    yob = R.randint(2006, 2013) if cl == 7 else R.randint(1948, 2010)
    elo = int(max(1050, min(2590, R.gauss(1780 if cl != 7 else 1600, 290))))
    t = "GM" if elo > 2500 else "IM" if elo > 2380 else "FM" if elo > 2250 else "CM" if elo > 2180 else None
    sex = R.choices(["M", "F"], [80, 20])[0]
    j = date(max(1975, yob + 8), 1, 1) + timedelta(R.randint(0, 4000))
    j = min(j, date(2021, 12, 1))
    seen_elo = elo if R.random() > 0.04 else None
    con.execute("INSERT INTO player VALUES (?,?,?,?,?,?,?,?)", (i + 1, n, cl, t, sex, yob, seen_elo, str(j)))
    people.append((i + 1, elo, R.random() ** 2 if R.random() > 0.06 else 0))
OPEN = [
    ("B20", "Sicilian Defence", 22),
    ("C50", "Italian Game", 14),
    ("C60", "Ruy Lopez", 12),
    ("D30", "Queen's Gambit Declined", 15),
    ("C00", "French Defence", 10),
    ("B10", "Caro-Kann Defence", 10),
    ("E60", "King's Indian Defence", 9),
    ("A10", "English Opening", 8),
]
SERIES = ["Spring Open", "Summer Rapid", "City Blitz Night", "Autumn Classic", "Christmas Rapid"]
TC = {
    "Spring Open": ("Classical", 7, 45, 4, "Vienna"),
    "Summer Rapid": ("Rapid", 7, 20, 7, "Graz"),
    "City Blitz Night": ("Blitz", 9, 10, 9, "Vienna"),
    "Autumn Classic": ("Classical", 7, 50, 10, "Linz"),
    "Christmas Rapid": ("Rapid", 7, 20, 12, "Salzburg"),
}
LEN = {"Classical": 170, "Rapid": 44, "Blitz": 9}
tid = eid = gid = 0
for y in (2022, 2023, 2024):
    for s in SERIES:
        tc, rounds, fee, mon, city = TC[s]
        tid += 1
        st = date(y, mon, R.randint(2, 20))
        k = R.choice([30, 36, 40, 44, 48])
        fund = float(R.choice([600, 900, 1500, 2400, 3000]))
        fee += 5 * (y == 2024)
        con.execute(
            "INSERT INTO tournament VALUES (?,?,?,?,?,?,?,?)",
            (tid, f"{s} {y}", city, st.isoformat(), rounds, tc, fee, fund),
        )
        field = []
        pool = [p for p in people if p[2] > 0]
        while len(field) < k:
            p = R.choices(pool, [q[2] + 0.05 for q in pool])[0]
            if p not in field:
                field.append(p)
        field.sort(key=lambda p: -p[1])
        score = {p[0]: 0.0 for p in field}
        out_ = {p[0] for p in field if R.random() < 0.04}
        for rd in range(1, rounds + 1):
            order = sorted(field, key=lambda p: (-score[p[0]], R.random()))
            if rd > rounds // 2:
                order = [p for p in order if p[0] not in out_]
            for a, b in zip(order[::2], order[1::2]):
                if R.random() < 0.5:
                    a, b = b, a
                e = 1 / (1 + 10 ** ((b[1] - a[1] - 35) / 400))
                dr = 0.3 * (1 - abs(2 * e - 1)) + 0.08
                x = R.random()
                res = "1/2-1/2" if x < dr else "1-0" if x < dr + (1 - dr) * e else "0-1"
                forf = R.random() < 0.012
                score[a[0]] += {"1-0": 1, "0-1": 0}.get(res, 0.5)
                score[b[0]] += {"1-0": 0, "0-1": 1}.get(res, 0.5)
                op = R.choices(OPEN, [o[2] for o in OPEN])[0]
                gid += 1
                mv = int(max(9, R.gauss(39 if res != "1/2-1/2" else 44, 13)))
                mins = int(max(3, LEN[tc] * R.gauss(1, 0.3)))
                con.execute(
                    "INSERT INTO game VALUES (?,?,?,?,?,?,?,?,?,?)",
                    (gid, tid, rd, a[0], b[0], res)
                    + ((None, None, None, None) if forf else (mv, op[0], op[1], mins)),
                )
        rank = sorted(field, key=lambda p: (-score[p[0]], -p[1]))
        for i, p in enumerate(field):
            eid += 1
            pr = fund * {0: 0.5, 1: 0.3, 2: 0.2}.get(rank.index(p), 0)
            paid = 0.0 if p[1] > 2380 else float(fee)
            con.execute(
                "INSERT INTO entry VALUES (?,?,?,?,?,?,?)",
                (eid, tid, p[0], i + 1, paid, pr or None, int(p[0] in out_)),
            )
con.commit()
con.close()
