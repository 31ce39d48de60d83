"""The organiser's desk of a conference behind MCP: `python3 events.py [--db FILE]`. The options for tests are listed by `--help`."""

import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

TRACKS = ["data", "design", "security", "leadership"]
TICKETS = ["full", "day", "student", "press"]
TABLES = [
    "CREATE TABLE rooms (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, seats INTEGER NOT NULL)",
    """CREATE TABLE speakers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, company TEXT NOT NULL DEFAULT '', email TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL DEFAULT 'invited')""",
    """CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, speaker INTEGER NOT NULL REFERENCES speakers,
        room INTEGER NOT NULL REFERENCES rooms, track TEXT NOT NULL DEFAULT '', date TEXT NOT NULL, start TEXT NOT NULL, minutes INTEGER NOT NULL DEFAULT 45,
        status TEXT NOT NULL DEFAULT 'scheduled')""",
    """CREATE TABLE attendees (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, company TEXT NOT NULL DEFAULT '', email TEXT NOT NULL DEFAULT '',
        ticket TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'registered', badge TEXT NOT NULL DEFAULT 'not_printed')""",
    "CREATE TABLE announcements (id INTEGER PRIMARY KEY AUTOINCREMENT, message TEXT NOT NULL, audience TEXT NOT NULL, posted TEXT NOT NULL)",
]
ROOMS = [
    (1, "Auditorium", 400),
    (2, "Harbour Hall", 180),
    (3, "Garden Hall", 120),
    (4, "Library", 60),
    (5, "Studio", 30),
]
SPEAKERS = [
    (1, "Ingrid Solberg", "Fjordline", "ingrid@fjordline.example", "confirmed"),
    (2, "Kwame Mensah", "Accra Data Lab", "kwame@accradata.example", "confirmed"),
    (3, "Rachel Stein", "Tallow Security", "rachel@tallow.example", "invited"),
    (4, "Julian Stein", "Papercut", "julian@papercut.example", "invited"),
    (5, "Leila Haddad", "Northwind Labs", "leila@northwind.example", "invited"),
    (6, "Marco Bianchi", "Openreef", "marco@openreef.example", "confirmed"),
    (7, "Aisha Rahman", "City University", "a.rahman@cityuni.example", "invited"),
    (8, "Tomas Novotny", "Pinewood Games", "tomas@pinewood.example", "declined"),
    (9, "Hannah Vogel", "Kestrel Bank", "hannah.vogel@kestrel.example", "confirmed"),
]
SESSIONS = [
    (201, "Opening keynote", 1, 1, "leadership", "2026-10-06", "09:00", 60, "scheduled"),
    (202, "Forecasting with small data", 2, 2, "data", "2026-10-06", "10:30", 45, "scheduled"),
    (203, "Passwords must die", 9, 3, "security", "2026-10-06", "10:30", 45, "scheduled"),
    (204, "Drawing for engineers", 4, 5, "design", "2026-10-06", "13:30", 90, "scheduled"),
    (205, "Threat modelling workshop", 3, 5, "security", "2026-10-07", "10:00", 120, "scheduled"),
    (206, "Data pipelines workshop", 5, 4, "data", "2026-10-07", "13:30", 90, "scheduled"),
    (207, "Accessible forms", 4, 4, "design", "2026-10-07", "11:00", 45, "scheduled"),
    (208, "Hiring without bias", 7, 3, "leadership", "2026-10-07", "15:00", 45, "scheduled"),
    (209, "Maps that lie", 6, 2, "data", "2026-10-08", "10:00", 45, "scheduled"),
    (210, "Closing keynote", 1, 1, "leadership", "2026-10-08", "16:00", 60, "scheduled"),
    (211, "Incident response live", 9, 2, "security", "2026-10-08", "13:00", 60, "scheduled"),
    (212, "Pixel art for beginners", 8, 5, "design", "2026-10-08", "11:00", 60, "cancelled"),
]
ATTENDEES = [
    (1001, "Emma Larsen", "Lumen Health", "emma.larsen@lumen.example", "full", "registered", "not_printed"),
    (1002, "Oliver Grant", "Lumen Health", "oliver.grant@lumen.example", "full", "checked_in", "printed"),
    (1003, "Sana Qureshi", "City University", "sana@cityuni.example", "student", "registered", "not_printed"),
    (1004, "Paul Becker", "Kestrel Bank", "paul.becker@kestrel.example", "full", "registered", "not_printed"),
    (1005, "Lucia Becker", "Daily Courier", "lucia@courier.example", "press", "registered", "not_printed"),
    (1006, "Dmitri Volkov", "Pinewood Games", "dmitri@pinewood.example", "day", "registered", "not_printed"),
    (
        1007,
        "Grace Okafor",
        "Brightwater Council",
        "grace.okafor@brightwater.example",
        "full",
        "registered",
        "printed",
    ),
    (1008, "Noah Feldman", "City University", "noah@cityuni.example", "student", "cancelled", "printed"),
    (1009, "Mei Tan", "Openreef", "mei@openreef.example", "day", "checked_in", "printed"),
    (
        1010,
        "Anna Kowalski",
        "Kestrel Bank",
        "anna.kowalski@kestrel.example",
        "full",
        "registered",
        "not_printed",
    ),
    (1011, "Anna Ferreira", "Daily Courier", "anna@courier.example", "press", "registered", "not_printed"),
]
app = App(
    "events",
    "The organiser's desk of a conference: the programme of sessions, speakers, rooms, attendees with their badges, announcements.",
    TABLES,
    [
        ("INSERT INTO rooms (id, name, seats) VALUES (?, ?, ?)", ROOMS),
        ("INSERT INTO speakers (id, name, company, email, status) VALUES (?, ?, ?, ?, ?)", SPEAKERS),
        (
            "INSERT INTO sessions (id, title, speaker, room, track, date, start, minutes, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            SESSIONS,
        ),
        (
            "INSERT INTO attendees (id, name, company, email, ticket, status, badge) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ATTENDEES,
        ),
    ],
)

TRACK = text("The track (theme) of the programme", enum=TRACKS)
HELD = text("Whether the session is scheduled or has been cancelled", enum=["scheduled", "cancelled"])
REPLY = text(
    "The speaker's answer: invited while there is none yet, confirmed, or declined",
    enum=["invited", "confirmed", "declined"],
)
TICKET = text(
    "The kind of ticket: full for all days, day for one day, student, or press for journalists", enum=TICKETS
)
PRESENCE = text(
    "Where the registration stands: registered until the attendee arrives, then checked_in; or cancelled",
    enum=["registered", "checked_in", "cancelled"],
)
BADGE = text("Whether the name badge has been printed", enum=["not_printed", "printed"])
AUDIENCE = text("Who gets the announcement", enum=["everyone", "attendees", "speakers", "press"])
ROOM = record(
    id=number("The room's number", "integer"),
    name=text("What the room is called"),
    seats=number("How many people it holds", "integer"),
)
SPEAKER = record(
    id=number("The speaker's number", "integer"),
    name=text("The speaker's name"),
    company=text("Where the speaker works, or nothing"),
    email=text("The e-mail address, or nothing"),
    status=REPLY,
)
SESSION = record(
    id=number("The session's number", "integer"),
    title=text("What the session is called"),
    speaker=text("Who gives it"),
    room=text("The room it is in"),
    track=text("The track, or nothing"),
    date=text("The day (YYYY-MM-DD)"),
    start=text("When it starts (HH:MM)"),
    minutes=number("How long it lasts, in minutes", "integer"),
    status=HELD,
)
ATTENDEE = record(
    id=number("The registration number", "integer"),
    name=text("The attendee's name"),
    company=text("Where the attendee comes from, or nothing"),
    email=text("The e-mail address, or nothing"),
    ticket=TICKET,
    status=PRESENCE,
    badge=BADGE,
)
ANNOUNCEMENT = record(
    id=number("The announcement's number", "integer"),
    message=text("What is announced"),
    audience=AUDIENCE,
    posted=text("When it was posted (YYYY-MM-DD)"),
)
WHICH_SESSION = {
    "id": number("The session's number", "integer", minimum=1),
    "title": text(
        "The session's title or words from it; the speaker's name does as well when the speaker has one session only"
    ),
}
WHICH_SPEAKER = {
    "id": number("The speaker's number", "integer", minimum=1),
    "name": text("The speaker's name, or a part of it"),
}
WHICH_ATTENDEE = {
    "id": number("The registration number", "integer", minimum=1),
    "name": text("The attendee's name, or a part of it"),
}
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
ALL_ROOMS = "SELECT * FROM rooms ORDER BY id"
ALL_SPEAKERS = "SELECT * FROM speakers ORDER BY id"
ALL_SESSIONS = """SELECT s.id, s.title, p.name AS speaker, r.name AS room, s.track, s.date, s.start, s.minutes, s.status
    FROM sessions s JOIN speakers p ON p.id = s.speaker JOIN rooms r ON r.id = s.room ORDER BY s.date, s.start, s.id"""
ALL_ATTENDEES = "SELECT * FROM attendees ORDER BY id"


def which_session(id=None, title=None):
    """By number, by title, or by words that are in the title or in the speaker's name."""
    rows = app.rows(ALL_SESSIONS)
    if id is None and not title:
        raise ToolError("field_required", "id or title")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        said = title.casefold()
        found = [row for row in rows if row["title"].casefold() == said]
        found = found or [
            row
            for row in rows
            if all(word in f"{row['title']} {row['speaker']}".casefold() for word in said.split())
        ]
    named = id if id is not None else json.dumps(title, ensure_ascii=False)
    if not found:
        raise ToolError("not_found", f"session {named}")
    if len(found) > 1:
        raise ToolError(
            "ambiguous",
            f"session {named} may be "
            + ", ".join(f'{row["id"]} "{row["title"]}" by {row["speaker"]}' for row in found),
        )
    return found[0]


def which_speaker(id=None, name=None):
    return app.one("speaker", ALL_SPEAKERS, "name", id, name)


def which_attendee(id=None, name=None):
    return app.one("attendee", ALL_ATTENDEES, "name", id, name)


def room_said(room):
    """The room that a text means: its number or its name."""
    return (
        app.one("room", ALL_ROOMS, "name", int(room), None)
        if room.isdecimal()
        else app.one("room", ALL_ROOMS, "name", None, room)
    )


def several(name, rows):
    return {name: rows, "count": len(rows)}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def clock(time):
    """Minutes since midnight."""
    hours, colon, minutes = time.partition(":")
    if (
        len(time) != 5
        or not colon
        or not (hours + minutes).isdecimal()
        or int(hours) > 23
        or int(minutes) > 59
    ):
        raise ToolError("field_invalid", "the time must be like 14:30")
    return int(hours) * 60 + int(minutes)


def at_that_time(date, start, minutes, but=None):
    """The sessions that take place then."""
    first = clock(start)
    return [
        row
        for row in app.rows(ALL_SESSIONS)
        if row["status"] == "scheduled"
        and row["id"] != but
        and row["date"] == date
        and clock(row["start"]) < first + minutes
        and first < clock(row["start"]) + row["minutes"]
    ]


def fits(room, speaker, date, start, minutes, but=None):
    """Says so when the room or the speaker has another session then."""
    for row in at_that_time(date, start, minutes, but):
        if row["room"] == room or row["speaker"] == speaker:
            raise ToolError(
                "not_free",
                f'{room if row["room"] == room else speaker} on {date} at {start} has session {row["id"]} "{row["title"]}"',
            )


@app.tool(
    "read",
    "Lists the sessions (talks, workshops) of the programme in the order of time, optionally of one day, track, room or speaker.",
    {
        "date": day("Only sessions on this day, as YYYY-MM-DD"),
        "track": TRACK,
        "room": text("Only sessions in this room: its name or a part of it"),
        "speaker": text("Only sessions of this speaker: the name or a part of it"),
        "status": HELD,
    },
    many("sessions", SESSION),
)
def list_sessions(date=None, track=None, room=None, speaker=None, status=None):
    asked = {"date": date, "track": track, "status": status}
    return several(
        "sessions",
        [
            row
            for row in app.rows(ALL_SESSIONS)
            if all(value in (None, row[name]) for name, value in asked.items())
            and has(room, row["room"])
            and has(speaker, row["speaker"])
        ],
    )


@app.tool(
    "read",
    "Shows one session (talk, workshop): who gives it, in which room, on which day, when it starts and how long it lasts.",
    WHICH_SESSION,
    SESSION,
)
def get_session(id=None, title=None):
    return which_session(id, title)


@app.tool(
    "add",
    "Schedules a new session (talk, workshop) in the programme. A speaker who is not known yet is added as invited.",
    {
        "title!": text("What the session is called"),
        "speaker!": text("The name of the speaker who gives it"),
        "room!": text("The room: its name or its number"),
        "date!": day("The day, as YYYY-MM-DD"),
        "start!": text("When it starts, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "track": TRACK,
        "minutes": number("How long it lasts in minutes; 45 when nothing is said", "integer", minimum=5),
    },
    SESSION,
)
def schedule_session(title, speaker, room, date, start, track="", minutes=45):
    place = room_said(room)
    try:
        who = which_speaker(None, speaker)
    except ToolError as error:
        if not str(error).startswith("not_found"):
            raise
        who = which_speaker(app.db.execute("INSERT INTO speakers (name) VALUES (?)", (speaker,)).lastrowid)
    fits(place["name"], who["name"], date, start, minutes)
    return which_session(
        app.db.execute(
            "INSERT INTO sessions (title, speaker, room, track, date, start, minutes) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (title, who["id"], place["id"], track, date, start, minutes),
        ).lastrowid
    )


@app.tool(
    "set",
    "Moves a session to another room, to another day or to another time.",
    {
        **WHICH_SESSION,
        "room": text("The room it moves to: its name or its number"),
        "date": day("The new day, as YYYY-MM-DD"),
        "start": text("When it starts now, as HH:MM, from 00:00 to 23:59", **CLOCK),
    },
    SESSION,
)
def move_session(id=None, title=None, room=None, date=None, start=None):
    session = which_session(id, title)
    if session["status"] != "scheduled":
        raise ToolError("wrong_state", f"session {session['id']} is {session['status']}")
    place = room_said(room) if room else None
    fits(
        place["name"] if place else session["room"],
        session["speaker"],
        date or session["date"],
        start or session["start"],
        session["minutes"],
        session["id"],
    )
    app.change("sessions", session["id"], room=place["id"] if place else None, date=date, start=start)
    return which_session(session["id"])


@app.tool(
    "delete",
    "Cancels a session that will not take place and frees its room. It stays in the programme as cancelled.",
    WHICH_SESSION,
    record(cancelled=SESSION),
)
def cancel_session(id=None, title=None):
    session = which_session(id, title)
    app.change("sessions", session["id"], status="cancelled")
    return {"cancelled": which_session(session["id"])}


@app.tool(
    "read",
    "Lists the speakers with company, e-mail address and whether they have confirmed, optionally by name, company or answer.",
    {
        "name": text("Only speakers with this name, or a part of it"),
        "company": text("Only speakers from this company, or a part of its name"),
        "status": REPLY,
    },
    many("speakers", SPEAKER),
)
def list_speakers(name=None, company=None, status=None):
    return several(
        "speakers",
        [
            row
            for row in app.rows(ALL_SPEAKERS)
            if status in (None, row["status"]) and has(name, row["name"]) and has(company, row["company"])
        ],
    )


@app.tool("set", "Confirms a speaker who has accepted the invitation to speak.", WHICH_SPEAKER, SPEAKER)
def confirm_speaker(id=None, name=None):
    speaker = which_speaker(id, name)
    app.change("speakers", speaker["id"], status="confirmed")
    return which_speaker(speaker["id"])


@app.tool(
    "read",
    "Finds rooms of the venue, with how many people they hold: by name, by the seats that are needed, or only those that are free then.",
    {
        "name": text("Only rooms with this name, or a part of it"),
        "min_seats": number("Only rooms that hold at least so many people", "integer", minimum=1),
        "free_on": day("Only rooms that are free on this day, as YYYY-MM-DD; today when only a time is said"),
        "free_at": text(
            "Only rooms that are free at this time of the day, as HH:MM; the whole day when only a day is said",
            **CLOCK,
        ),
    },
    many("rooms", ROOM),
)
def find_rooms(name=None, min_seats=None, free_on=None, free_at=None):
    taken = []
    if free_on or free_at:
        then = (free_at, 1) if free_at else ("00:00", 24 * 60)
        taken = [row["room"] for row in at_that_time(free_on or str(app.today()), *then)]
    return several(
        "rooms",
        [
            row
            for row in app.rows(ALL_ROOMS)
            if has(name, row["name"]) and row["seats"] >= (min_seats or 0) and row["name"] not in taken
        ],
    )


@app.tool(
    "read",
    "Lists the attendees (participants) with ticket, arrival and badge, optionally by name, company, ticket, or where they stand.",
    {
        "name": text("Only attendees with this name, or a part of it"),
        "company": text("Only attendees from this company, or a part of its name"),
        "ticket": TICKET,
        "status": PRESENCE,
        "badge": BADGE,
    },
    many("attendees", ATTENDEE),
)
def list_attendees(name=None, company=None, ticket=None, status=None, badge=None):
    asked = {"ticket": ticket, "status": status, "badge": badge}
    return several(
        "attendees",
        [
            row
            for row in app.rows(ALL_ATTENDEES)
            if all(value in (None, row[field]) for field, value in asked.items())
            and has(name, row["name"])
            and has(company, row["company"])
        ],
    )


@app.tool(
    "add",
    "Registers a new attendee (participant) for the conference with a ticket.",
    {
        "name!": text("The attendee's full name"),
        "ticket!": TICKET,
        "company": text("The company or organisation the attendee comes from"),
        "email": text("The e-mail address"),
    },
    ATTENDEE,
)
def register_attendee(name, ticket, company="", email=""):
    if any(
        row["name"].casefold() == name.casefold() and row["status"] != "cancelled"
        for row in app.rows(ALL_ATTENDEES)
    ):
        raise ToolError("exists", f"attendee {json.dumps(name, ensure_ascii=False)}")
    return which_attendee(
        app.db.execute(
            "INSERT INTO attendees (name, ticket, company, email) VALUES (?, ?, ?, ?)",
            (name, ticket, company, email),
        ).lastrowid
    )


@app.tool(
    "set",
    "Checks in an attendee who has arrived at the conference, by the registration number or by name.",
    WHICH_ATTENDEE,
    ATTENDEE,
)
def check_in_attendee(id=None, name=None):
    attendee = which_attendee(id, name)
    if attendee["status"] == "cancelled":
        raise ToolError("wrong_state", f"registration {attendee['id']} is cancelled")
    app.change("attendees", attendee["id"], status="checked_in")
    return which_attendee(attendee["id"])


@app.tool(
    "set",
    "Prints the name badge of an attendee, unless it has been printed already.",
    WHICH_ATTENDEE,
    ATTENDEE,
)
def print_badge(id=None, name=None):
    attendee = which_attendee(id, name)
    if attendee["status"] == "cancelled":
        raise ToolError("wrong_state", f"registration {attendee['id']} is cancelled")
    app.change("attendees", attendee["id"], badge="printed")
    return which_attendee(attendee["id"])


@app.tool(
    "delete",
    "Cancels (withdraws) the registration of an attendee who will not come, by the registration number or by name.",
    WHICH_ATTENDEE,
    record(cancelled=ATTENDEE),
)
def cancel_registration(id=None, name=None):
    attendee = which_attendee(id, name)
    if attendee["status"] == "checked_in":
        raise ToolError("wrong_state", f"attendee {attendee['id']} is here already")
    app.change("attendees", attendee["id"], status="cancelled")
    return {"cancelled": which_attendee(attendee["id"])}


@app.tool(
    "add",
    "Posts an announcement to the conference app of everyone, or only of the attendees, the speakers or the press.",
    {
        "message!": text("What is announced"),
        "audience": {**AUDIENCE, "description": "Who gets it; everyone when nothing is said"},
    },
    ANNOUNCEMENT,
)
def post_announcement(message, audience="everyone"):
    made = app.db.execute(
        "INSERT INTO announcements (message, audience, posted) VALUES (?, ?, ?)",
        (message, audience, str(app.today())),
    ).lastrowid
    return app.rows("SELECT * FROM announcements WHERE id = ?", made)[0]


if __name__ == "__main__":
    app.serve()
