"""The front desk of a small gym behind MCP: `python3 gym.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

PLANS = ["student", "off_peak", "standard", "premium"]
STATUSES = ["active", "frozen", "ended"]
TRAINERS = ["Dana", "Marco", "Ife", "Rasmus"]
STATES = ["confirmed", "waiting", "attended", "no_show", "withdrawn"]
OPEN = ("confirmed", "waiting")
TABLES = [
    """CREATE TABLE members (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, plan TEXT NOT NULL, phone TEXT NOT NULL DEFAULT '',
        start TEXT NOT NULL, frozen_from TEXT NOT NULL DEFAULT '', frozen_until TEXT NOT NULL DEFAULT '', ended INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE classes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, trainer TEXT NOT NULL, date TEXT NOT NULL, time TEXT NOT NULL,
        places INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'scheduled')""",
    """CREATE TABLE signups (id INTEGER PRIMARY KEY AUTOINCREMENT, member INTEGER NOT NULL REFERENCES members, class INTEGER NOT NULL REFERENCES classes,
        state TEXT NOT NULL)""",
]
MEMBERS = [
    (2001, "Jonas Feld", "standard", "555-0201", "2024-03-01", "", "", 0),
    (2002, "Amira Haddad", "premium", "555-0202", "2023-09-15", "", "", 0),
    (2003, "Lena Vogt", "student", "555-0203", "2026-04-01", "", "", 0),
    (2004, "Callum Reid", "standard", "555-0204", "2025-01-10", "2026-10-01", "2026-12-01", 0),
    (2005, "Fiona Reid", "premium", "555-0205", "2025-01-10", "", "", 0),
    (2006, "Omar Siddiqui", "off_peak", "555-0206", "2025-06-01", "", "", 0),
    (2007, "Beatriz Lopes", "standard", "555-0207", "2024-11-20", "", "", 0),
    (2008, "Hugo Lindgren", "student", "555-0208", "2026-02-01", "2026-10-20", "", 0),
    (2009, "Mei Tran", "premium", "555-0209", "2022-05-05", "", "", 0),
    (2010, "Stefan Kovac", "off_peak", "555-0210", "2025-08-01", "", "", 0),
    (2011, "Ruth Abernathy", "off_peak", "555-0211", "2021-01-04", "", "", 1),
    (2012, "Grace Obi", "standard", "555-0212", "2026-07-01", "", "", 0),
    (2013, "Anna Kowalski", "student", "555-0213", "2026-09-01", "", "", 0),
    (2014, "Anna Bergman", "standard", "555-0214", "2025-12-01", "", "", 0),
]
CLASSES = [
    (701, "Sunrise Barre", "Dana", "2026-11-05", "07:00", 6, "scheduled"),
    (702, "Spinning", "Marco", "2026-11-05", "18:00", 3, "scheduled"),
    (703, "Boxing Basics", "Ife", "2026-11-05", "19:30", 10, "scheduled"),
    (704, "Lunchtime Pilates", "Dana", "2026-11-06", "12:15", 2, "scheduled"),
    (705, "Kettlebell Circuit", "Rasmus", "2026-11-06", "17:30", 8, "scheduled"),
    (706, "Aqua Fit", "Ife", "2026-11-07", "10:00", 12, "scheduled"),
    (707, "Evening Yoga", "Dana", "2026-11-09", "19:00", 6, "scheduled"),
    (708, "Spinning", "Marco", "2026-11-10", "18:00", 3, "scheduled"),
    (709, "Zumba", "Rasmus", "2026-11-09", "18:00", 15, "scheduled"),
    (710, "Stretch and Relax", "Dana", "2026-11-04", "20:00", 8, "scheduled"),
    (711, "Bootcamp", "Rasmus", "2026-11-08", "09:00", 10, "cancelled"),
    (712, "Gentle Yoga", "Ife", "2026-11-11", "10:00", 6, "scheduled"),
    (713, "Back Care", "Dana", "2026-11-06", "16:00", 8, "scheduled"),
]
SIGNUPS = [
    (41, 2002, 701, "confirmed"),
    (42, 2003, 701, "confirmed"),
    (43, 2010, 701, "confirmed"),
    (44, 2001, 702, "confirmed"),
    (45, 2005, 702, "confirmed"),
    (46, 2012, 702, "confirmed"),
    (47, 2006, 702, "waiting"),
    (48, 2009, 703, "confirmed"),
    (49, 2013, 703, "confirmed"),
    (50, 2007, 704, "confirmed"),
    (51, 2002, 704, "confirmed"),
    (52, 2005, 704, "waiting"),
    (53, 2001, 705, "confirmed"),
    (54, 2014, 703, "confirmed"),
    (55, 2009, 710, "attended"),
    (56, 2006, 710, "no_show"),
    (57, 2005, 706, "confirmed"),
]
app = App(
    "gym",
    "The front desk of a small gym: members and their memberships, classes with trainers and places, sign-ups, waiting lists and attendance.",
    TABLES,
    [
        (
            "INSERT INTO members (id, name, plan, phone, start, frozen_from, frozen_until, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            MEMBERS,
        ),
        (
            "INSERT INTO classes (id, title, trainer, date, time, places, state) VALUES (?, ?, ?, ?, ?, ?, ?)",
            CLASSES,
        ),
        ("INSERT INTO signups (id, member, class, state) VALUES (?, ?, ?, ?)", SIGNUPS),
    ],
)

PLAN = text("The membership plan", enum=PLANS)
STATUS = text("Whether the membership is active, frozen (paused, on hold) or ended", enum=STATUSES)
TRAINER = text("The trainer who teaches the class", enum=TRAINERS)
TAKES_PLACE = text("Whether the class takes place or was cancelled", enum=["scheduled", "cancelled"])
STATE = text(
    "How far the sign-up is: confirmed has a place, waiting is on the waiting list, attended came, no_show stayed away, withdrawn gave the place up",
    enum=STATES,
)
MEMBER = record(
    id=number("The member's number", "integer"),
    name=text("The member's name"),
    plan=PLAN,
    phone=text("The member's phone number, or nothing"),
    status=STATUS,
    start=text("When the membership began (YYYY-MM-DD)"),
    frozen_from=text("The first day of the freeze (YYYY-MM-DD), or nothing"),
    frozen_until=text("The last day of the freeze (YYYY-MM-DD), or nothing when it has no end"),
)
CLASS = record(
    id=number("The class's number", "integer"),
    title=text("What the class is called"),
    trainer=TRAINER,
    date=text("The day (YYYY-MM-DD)"),
    time=text("When it starts (HH:MM)"),
    places=number("How many can take part", "integer"),
    free=number("How many places are left", "integer"),
    waiting=number("How many are on the waiting list", "integer"),
    state=TAKES_PLACE,
)
SIGNUP = record(
    **{
        "id": number("The sign-up's number", "integer"),
        "member": text("The member's name"),
        "class": text("What the class is called"),
        "date": text("The day of the class (YYYY-MM-DD)"),
        "time": text("When the class starts (HH:MM)"),
        "state": STATE,
    }
)
WHICH_MEMBER = {
    "id": number("The member's number", "integer", minimum=1),
    "name": text("The member's name, or a part of it"),
}
WHICH_CLASS = {
    "id": number("The class's number", "integer", minimum=1),
    "title": text("What the class is called, or words from it"),
}
WHICH_SIGNUP = {
    "id": number("The sign-up's number", "integer", minimum=1),
    "member": text(
        "The name of the member who signed up, together with the class when the member has several sign-ups"
    ),
}
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
ALL_CLASSES = """SELECT c.id, c.title, c.trainer, c.date, c.time, c.places,
    MAX(0, c.places - (SELECT COUNT(*) FROM signups s WHERE s.class = c.id AND s.state IN ('confirmed', 'attended', 'no_show'))) AS free,
    (SELECT COUNT(*) FROM signups s WHERE s.class = c.id AND s.state = 'waiting') AS waiting, c.state
    FROM classes c ORDER BY c.date, c.time, c.id"""
ALL_SIGNUPS = """SELECT s.id, m.name AS member, c.title AS class, c.date, c.time, s.state
    FROM signups s JOIN members m ON m.id = s.member JOIN classes c ON c.id = s.class ORDER BY c.date, c.time, s.id"""


def all_members():
    """Every member, with the status that the membership has today."""
    today = str(app.today())
    return app.rows(
        """SELECT id, name, plan, phone, CASE WHEN ended THEN 'ended' WHEN frozen_from != '' AND frozen_from <= ? AND (frozen_until = '' OR frozen_until >= ?)
            THEN 'frozen' ELSE 'active' END AS status, start, frozen_from, frozen_until FROM members ORDER BY id""",
        today,
        today,
    )


def one(kind, rows, label, about, id=None, words=None, more=()):
    """The row that an id or words mean. Words that equal the label win over words that are found in it or in what else tells it apart."""
    if id is None and not words:
        raise ToolError("field_required", f"id or {label}")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        said = words.casefold()
        found = [row for row in rows if row[label].casefold() == said]
        found = found or [
            row
            for row in rows
            if all(
                word in " ".join([row[label], *(row[name] for name in more)]).casefold()
                for word in said.split()
            )
        ]
    if not found:
        raise ToolError(
            "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
        )
    if len(found) > 1:
        raise ToolError(
            "ambiguous",
            f"{kind} {json.dumps(words, ensure_ascii=False)} may be "
            + ", ".join(f'{row["id"]} "{about(row)}"' for row in found),
        )
    return found[0]


def first_of(kind, rows, current, label, about, id, words, more=()):
    """By its number any row; by words one that still counts, if there is one."""
    if id is None and words:
        try:
            return one(kind, [row for row in rows if current(row)], label, about, None, words, more)
        except ToolError as error:
            if not str(error).startswith("not_found"):
                raise
    return one(kind, rows, label, about, id, words, more)


def which_member(id=None, name=None):
    return one(
        "member",
        all_members(),
        "name",
        lambda row: f"{row['name']}, {row['plan']}, {row['status']}",
        id,
        name,
    )


def which_class(id=None, title=None):
    return first_of(
        "class",
        app.rows(ALL_CLASSES),
        lambda row: row["state"] == "scheduled",
        "title",
        lambda row: f"{row['title']}, {row['date']} {row['time']}, {row['trainer']}",
        id,
        title,
    )


def which_signup(id=None, member=None):
    return first_of(
        "sign-up",
        app.rows(ALL_SIGNUPS),
        lambda row: row["state"] in OPEN,
        "member",
        lambda row: f"{row['member']}, {row['class']}, {row['date']} {row['time']}, {row['state']}",
        id,
        member,
        ["class"],
    )


def said(which, words):
    """What a text means: a number, or words from a name."""
    return which(int(words), None) if words.isdecimal() else which(None, words)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def on_the_clock(time):
    try:
        if datetime.time.fromisoformat(time).strftime("%H:%M") != time:
            raise ValueError(time)
    except ValueError:
        raise ToolError("field_invalid", "time must be like 18:30") from None


def trainer_is_free(trainer, date, time, but=None):
    if app.rows(
        "SELECT id FROM classes WHERE trainer = ? AND date = ? AND time = ? AND state = 'scheduled' AND id IS NOT ?",
        trainer,
        date,
        time,
        but,
    ):
        raise ToolError("not_free", f"{trainer} on {date} at {time}")


def takes_place(lesson):
    if lesson["state"] != "scheduled":
        raise ToolError("wrong_state", f"class {lesson['id']} is {lesson['state']}")


@app.tool(
    "read",
    "Lists the members of the gym, optionally only those on one plan, with one membership status, or with a name.",
    {"name": text("Only members with this name, or a part of it"), "plan": PLAN, "status": STATUS},
    many("members", MEMBER),
)
def list_members(name=None, plan=None, status=None):
    return several(
        "members",
        [
            row
            for row in all_members()
            if has(name, row["name"]) and plan in (None, row["plan"]) and status in (None, row["status"])
        ],
    )


@app.tool(
    "read",
    "Shows one member: plan, phone number, and whether the membership is active, frozen or ended.",
    WHICH_MEMBER,
    MEMBER,
)
def get_member(id=None, name=None):
    return which_member(id, name)


@app.tool(
    "add",
    "Enrolls a new member who joins the gym, with a membership plan.",
    {
        "name!": text("The new member's full name"),
        "plan!": PLAN,
        "phone": text("The new member's phone number"),
        "start": day("When the membership begins, as YYYY-MM-DD; today when nothing is said"),
    },
    MEMBER,
)
def enroll_member(name, plan, phone="", start=None):
    if any(row["name"].casefold() == name.casefold() and row["status"] != "ended" for row in all_members()):
        raise ToolError("already_exists", f"member {json.dumps(name, ensure_ascii=False)}")
    return which_member(
        app.db.execute(
            "INSERT INTO members (name, plan, phone, start) VALUES (?, ?, ?, ?)",
            (name, plan, phone, start or str(app.today())),
        ).lastrowid
    )


@app.tool(
    "set",
    "Freezes a membership: pauses it (puts it on hold) while the member is ill, injured or away. Without a last day the freeze has no end.",
    {
        **WHICH_MEMBER,
        "start": day("The first day of the freeze, as YYYY-MM-DD; today when nothing is said"),
        "until": day("The last day of the freeze, as YYYY-MM-DD"),
    },
    MEMBER,
)
def freeze_membership(id=None, name=None, start=None, until=None):
    member = which_member(id, name)
    if member["status"] == "ended":
        raise ToolError("wrong_state", f"the membership of member {member['id']} is ended")
    start = start or (member["frozen_from"] if member["status"] == "frozen" else str(app.today()))
    if until and until < start:
        raise ToolError("field_invalid", "until must not be before start")
    app.change("members", member["id"], frozen_from=start, frozen_until=until or "")
    return which_member(member["id"])


@app.tool(
    "set",
    "Unfreezes a membership: lifts the freeze (the hold) of a member who comes back, so that it is active again.",
    WHICH_MEMBER,
    MEMBER,
)
def unfreeze_membership(id=None, name=None):
    member = which_member(id, name)
    if member["status"] != "frozen" and not (
        member["status"] == "active" and member["frozen_from"] > str(app.today())
    ):
        raise ToolError("wrong_state", f"the membership of member {member['id']} is {member['status']}")
    app.change("members", member["id"], frozen_from="", frozen_until="")
    return which_member(member["id"])


@app.tool(
    "read",
    "Finds classes on the timetable, optionally on one day, with one trainer, with words in the title, only those with free places, or only cancelled ones.",
    {
        "title": text("Only classes with these words in the title, such as yoga"),
        "date": day("Only classes on this day, as YYYY-MM-DD"),
        "trainer": TRAINER,
        "has_places": {"type": "boolean", "description": "Only classes that still have free places"},
        "state": TAKES_PLACE,
    },
    many("classes", CLASS),
)
def find_classes(title=None, date=None, trainer=None, has_places=None, state=None):
    asked = {"date": date, "trainer": trainer, "state": state}
    return several(
        "classes",
        [
            row
            for row in app.rows(ALL_CLASSES)
            if all(value in (None, row[name]) for name, value in asked.items())
            and has(title, row["title"])
            and has_places in (None, row["free"] > 0 and row["state"] == "scheduled")
        ],
    )


@app.tool(
    "read",
    "Shows one class: trainer, day, time, how many places are left and how many people wait, by its number or by its title.",
    WHICH_CLASS,
    CLASS,
)
def get_class(id=None, title=None):
    return which_class(id, title)


@app.tool(
    "add",
    "Schedules a new class: puts it on the timetable with a trainer, a day and a time.",
    {
        "title!": text("What the class is called"),
        "trainer!": TRAINER,
        "date!": day("The day, as YYYY-MM-DD"),
        "time!": text("When it starts, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "places": number("How many can take part; 12 when nothing is said", "integer", minimum=1),
    },
    CLASS,
)
def schedule_class(title, trainer, date, time, places=12):
    on_the_clock(time)
    trainer_is_free(trainer, date, time)
    return which_class(
        app.db.execute(
            "INSERT INTO classes (title, trainer, date, time, places) VALUES (?, ?, ?, ?, ?)",
            (title, trainer, date, time, places),
        ).lastrowid
    )


@app.tool(
    "set",
    "Substitutes the trainer of a class: another trainer takes it over, for instance when somebody is ill.",
    {**WHICH_CLASS, "trainer!": text("The trainer who takes the class over", enum=TRAINERS)},
    CLASS,
)
def substitute_trainer(trainer, id=None, title=None):
    lesson = which_class(id, title)
    takes_place(lesson)
    trainer_is_free(trainer, lesson["date"], lesson["time"], lesson["id"])
    app.change("classes", lesson["id"], trainer=trainer)
    return which_class(lesson["id"])


@app.tool(
    "delete",
    "Cancels a class that does not take place, and withdraws everybody who signed up for it.",
    WHICH_CLASS,
    record(cancelled=CLASS, withdrawn=number("How many sign-ups were withdrawn", "integer")),
)
def cancel_class(id=None, title=None):
    lesson = which_class(id, title)
    app.change("classes", lesson["id"], state="cancelled")
    gone = app.db.execute(
        "UPDATE signups SET state = 'withdrawn' WHERE class = ? AND state IN ('confirmed', 'waiting')",
        (lesson["id"],),
    ).rowcount
    return {"cancelled": which_class(lesson["id"]), "withdrawn": gone}


@app.tool(
    "read",
    "Lists sign-ups: who takes part in a class, who is on its waiting list, who attended, who was a no-show, or what one member has signed up for.",
    {
        "class": text("Only sign-ups for this class: its number or its title"),
        "member": text("Only sign-ups of this member: the name or a part of it"),
        "state": STATE,
    },
    many("signups", SIGNUP),
)
def list_signups(member=None, state=None, **more):
    wanted, rows = more.get("class"), app.rows(ALL_SIGNUPS)
    if wanted and wanted.isdecimal():
        inside = {
            row["id"]
            for row in app.rows("SELECT id FROM signups WHERE class = ?", which_class(int(wanted))["id"])
        }
        rows, wanted = [row for row in rows if row["id"] in inside], None
    return several(
        "signups",
        [
            row
            for row in rows
            if has(wanted, row["class"]) and has(member, row["member"]) and state in (None, row["state"])
        ],
    )


@app.tool(
    "add",
    "Signs a member up for a class. When the class is full, the member goes on its waiting list.",
    {
        "member!": text("The member: the number or the name"),
        "class!": text("The class: its number or its title"),
    },
    SIGNUP,
)
def sign_up_member(member, **more):
    person, lesson = said(which_member, member), said(which_class, more["class"])
    takes_place(lesson)
    date, until = lesson["date"], person["frozen_until"]
    if person["status"] == "ended" or (
        person["frozen_from"] and person["frozen_from"] <= date and (not until or until >= date)
    ):
        raise ToolError(
            "wrong_state",
            f"the membership of member {person['id']} is {'ended' if person['status'] == 'ended' else 'frozen'} on {date}",
        )
    if app.rows(
        "SELECT id FROM signups WHERE member = ? AND class = ? AND state != 'withdrawn'",
        person["id"],
        lesson["id"],
    ):
        raise ToolError("already_exists", f"a sign-up of {person['name']} for class {lesson['id']}")
    state = "confirmed" if lesson["free"] and not lesson["waiting"] else "waiting"
    return which_signup(
        app.db.execute(
            "INSERT INTO signups (member, class, state) VALUES (?, ?, ?)", (person["id"], lesson["id"], state)
        ).lastrowid
    )


@app.tool(
    "delete",
    "Withdraws a sign-up of a member who will not come to a class or who leaves its waiting list. A place that gets free goes to the first who waits.",
    WHICH_SIGNUP,
    record(withdrawn=SIGNUP, moved_up=text("The member who got the place, or nothing")),
)
def withdraw_signup(id=None, member=None):
    signup = which_signup(id, member)
    if signup["state"] not in (*OPEN, "withdrawn"):
        raise ToolError("wrong_state", f"sign-up {signup['id']} is {signup['state']}")
    app.change("signups", signup["id"], state="withdrawn")
    next_up = signup["state"] == "confirmed" and app.rows(
        "SELECT id FROM signups WHERE class = (SELECT class FROM signups WHERE id = ?) AND state = 'waiting' ORDER BY id LIMIT 1",
        signup["id"],
    )
    if next_up:
        app.change("signups", next_up[0]["id"], state="confirmed")
    return {
        "withdrawn": which_signup(signup["id"]),
        "moved_up": which_signup(next_up[0]["id"])["member"] if next_up else "",
    }


@app.tool(
    "set",
    "Marks the attendance of a member who has a place in a class: attended when the member came (is here), no-show when the member did not turn up.",
    {**WHICH_SIGNUP, "attendance!": text("Whether the member came", enum=["attended", "no_show"])},
    SIGNUP,
)
def mark_attendance(attendance, id=None, member=None):
    signup = which_signup(id, member)
    if signup["state"] not in ("confirmed", "attended", "no_show"):
        raise ToolError("wrong_state", f"sign-up {signup['id']} is {signup['state']}")
    app.change("signups", signup["id"], state=attendance)
    return which_signup(signup["id"])


if __name__ == "__main__":
    app.serve()
