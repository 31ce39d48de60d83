"""The office of an evening school behind MCP: `python3 school.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

SUBJECTS = ["languages", "computing", "business", "arts", "health"]
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"]
STATUSES = ["upcoming", "running", "finished", "cancelled"]
GRADES = ["distinction", "merit", "pass", "fail"]
TABLES = [
    "CREATE TABLE teachers (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, phone TEXT NOT NULL)",
    "CREATE TABLE rooms (id INTEGER PRIMARY KEY, name TEXT NOT NULL, seats INTEGER NOT NULL, equipment TEXT NOT NULL DEFAULT '')",
    """CREATE TABLE courses (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, subject TEXT NOT NULL, teacher INTEGER NOT NULL REFERENCES teachers,
        room INTEGER NOT NULL REFERENCES rooms, weekday TEXT NOT NULL, starts TEXT NOT NULL, begins TEXT NOT NULL, fee REAL NOT NULL,
        places INTEGER NOT NULL, status TEXT NOT NULL)""",
    """CREATE TABLE students (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, phone TEXT NOT NULL DEFAULT '', email TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE enrolments (student INTEGER NOT NULL REFERENCES students, course INTEGER NOT NULL REFERENCES courses,
        grade TEXT NOT NULL DEFAULT '', PRIMARY KEY (student, course))""",
    """CREATE TABLE absences (id INTEGER PRIMARY KEY AUTOINCREMENT, student INTEGER NOT NULL REFERENCES students, course INTEGER NOT NULL REFERENCES courses,
        date TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', excused INTEGER NOT NULL DEFAULT 0)""",
]
TEACHERS = [
    (1, "Elena Ruiz", "555-0301"),
    (2, "Marco Bellini", "555-0302"),
    (3, "Judith Crane", "555-0303"),
    (4, "Arun Mehta", "555-0304"),
    (5, "Wilma Postma", "555-0305"),
    (6, "Claire Dumont", "555-0306"),
    (7, "Harold Finch", "555-0307"),
    (8, "Sven Aaltonen", "555-0308"),
]
ROOMS = [
    (11, "Language lab", 14, "headphones, whiteboard"),
    (12, "Computer room", 12, "computers, projector"),
    (21, "Art studio", 10, "easels, kiln"),
    (22, "Gym", 20, "mats, mirrors"),
    (31, "North seminar room", 16, "whiteboard, projector"),
    (32, "South seminar room", 16, "whiteboard"),
    (40, "Lecture hall", 60, "projector, microphone"),
]
COURSES = [
    (401, "Spanish A1", "languages", 1, 11, "monday", "18:00", "2026-09-14", 145, 12, "running"),
    (402, "Spanish A2", "languages", 1, 11, "wednesday", "18:00", "2026-09-16", 145, 12, "running"),
    (403, "Italian A1", "languages", 2, 11, "thursday", "18:30", "2026-09-17", 145, 12, "running"),
    (404, "Bookkeeping", "business", 3, 31, "tuesday", "19:00", "2026-09-15", 190, 14, "running"),
    (405, "Python programming", "computing", 4, 12, "thursday", "19:00", "2026-09-17", 210, 12, "running"),
    (406, "Web design", "computing", 4, 12, "monday", "19:00", "2026-11-02", 180, 12, "upcoming"),
    (407, "Watercolour painting", "arts", 5, 21, "tuesday", "18:30", "2026-09-15", 120, 8, "running"),
    (408, "Pottery", "arts", 5, 21, "thursday", "18:00", "2026-09-17", 160, 3, "running"),
    (409, "Yoga", "health", 6, 22, "wednesday", "20:00", "2026-09-16", 95, 18, "running"),
    (410, "Digital photography", "arts", 8, 32, "friday", "18:00", "2026-11-06", 130, 10, "upcoming"),
    (411, "Business English", "languages", 7, 40, "tuesday", "18:00", "2026-03-03", 165, 20, "finished"),
    (412, "Creative writing", "arts", 7, 32, "wednesday", "19:00", "2026-10-14", 110, 12, "cancelled"),
]
STUDENTS = [
    (1001, "Alice Barker", "555-0401", "alice.barker@example.org"),
    (1002, "Tom Barker", "555-0402", "tom.barker@example.org"),
    (1003, "Emma Lindgren", "555-0403", "emma.lindgren@example.org"),
    (1004, "Emma Sato", "555-0404", "emma.sato@example.org"),
    (1005, "Nadia Haddad", "555-0405", "nadia.haddad@example.org"),
    (1006, "Victor Olsen", "555-0406", "victor.olsen@example.org"),
    (1007, "Grace Mbeki", "555-0407", "grace.mbeki@example.org"),
    (1008, "Leo Fischer", "555-0408", "leo.fischer@example.org"),
    (1009, "Rosa Jimenez", "555-0409", "rosa.jimenez@example.org"),
    (1010, "Dmitri Volkov", "555-0410", "dmitri.volkov@example.org"),
    (1011, "Hannah Weiss", "555-0411", "hannah.weiss@example.org"),
    (1012, "Paul Okafor", "555-0412", "paul.okafor@example.org"),
]
ENROLMENTS = [
    (1001, 401, ""),
    (1001, 408, ""),
    (1002, 404, ""),
    (1002, 411, "fail"),
    (1003, 402, ""),
    (1003, 409, ""),
    (1004, 405, ""),
    (1005, 405, ""),
    (1005, 407, ""),
    (1006, 403, ""),
    (1007, 401, ""),
    (1007, 404, ""),
    (1008, 408, ""),
    (1008, 409, ""),
    (1009, 403, ""),
    (1009, 411, "merit"),
    (1010, 404, ""),
    (1011, 408, ""),
    (1012, 411, "distinction"),
]
ABSENCES = [
    (501, 1002, 404, "2026-10-06", "", 0),
    (502, 1007, 404, "2026-10-06", "", 0),
    (503, 1007, 401, "2026-10-05", "", 0),
    (504, 1008, 409, "2026-10-07", "ill", 1),
    (505, 1006, 403, "2026-10-01", "", 0),
    (506, 1003, 409, "2026-10-07", "", 0),
    (507, 1005, 407, "2026-10-06", "business trip", 1),
    (508, 1011, 408, "2026-10-01", "", 0),
]
app = App(
    "school",
    "The office of an evening school: courses and their teachers and rooms, students, enrolments, absences and grades.",
    TABLES,
    [
        ("INSERT INTO teachers (id, name, phone) VALUES (?, ?, ?)", TEACHERS),
        ("INSERT INTO rooms (id, name, seats, equipment) VALUES (?, ?, ?, ?)", ROOMS),
        (
            "INSERT INTO courses (id, title, subject, teacher, room, weekday, starts, begins, fee, places, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            COURSES,
        ),
        ("INSERT INTO students (id, name, phone, email) VALUES (?, ?, ?, ?)", STUDENTS),
        ("INSERT INTO enrolments (student, course, grade) VALUES (?, ?, ?)", ENROLMENTS),
        (
            "INSERT INTO absences (id, student, course, date, reason, excused) VALUES (?, ?, ?, ?, ?, ?)",
            ABSENCES,
        ),
    ],
)

SUBJECT = text("The field that the course belongs to", enum=SUBJECTS)
WEEKDAY = text("The weekday on which the course meets", enum=WEEKDAYS)
STATUS = text("Whether the course is still to begin, is running, is finished or was cancelled", enum=STATUSES)
GRADE = text("The grade (mark) for the course", enum=GRADES)
COURSE = record(
    id=number("The course's number", "integer"),
    title=text("What the course is called"),
    subject=SUBJECT,
    teacher=text("Who teaches it"),
    teacher_phone=text("The teacher's phone number"),
    room=text("The room it meets in"),
    weekday=WEEKDAY,
    starts=text("When the lesson starts (HH:MM)"),
    begins=text("The first evening (YYYY-MM-DD)"),
    fee=number("What the course costs"),
    places=number("How many can take part", "integer"),
    enrolled=number("How many are enrolled", "integer"),
    status=STATUS,
)
ROOM = record(
    id=number("The room's number", "integer"),
    name=text("What the room is called"),
    seats=number("How many people can sit in it", "integer"),
    equipment=text("What there is in it"),
)
STUDENT = record(
    id=number("The student's number", "integer"),
    name=text("The student's full name"),
    phone=text("The phone number, or nothing"),
    email=text("The email address, or nothing"),
    enrolments={
        "type": "array",
        "description": "The courses that the student is enrolled in",
        "items": record(
            course=text("The course's title"), grade=text("The grade, or nothing as long as there is none")
        ),
    },
)
ABSENCE = record(
    id=number("The absence's number", "integer"),
    student=text("Who was absent"),
    course=text("The course that was missed"),
    date=text("The evening (YYYY-MM-DD)"),
    reason=text("Why, or nothing"),
    excused={"type": "boolean", "description": "Whether it is excused"},
)
WHICH_COURSE = {
    "id": number("The course's number", "integer", minimum=1),
    "title": text("The course's title, or words from it"),
}
WHICH_STUDENT = {
    "id": number("The student's number", "integer", minimum=1),
    "name": text("The student's name, or a part of it"),
}
WHICH_ABSENCE = {
    "id": number("The absence's number", "integer", minimum=1),
    "student": text("The name of the student who was absent, or a part of it"),
}
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
ALL_ROOMS = "SELECT * FROM rooms ORDER BY id"
ALL_TEACHERS = "SELECT * FROM teachers ORDER BY id"
ALL_COURSES = """SELECT c.id, c.title, c.subject, t.name AS teacher, t.phone AS teacher_phone, r.name AS room, c.weekday, c.starts, c.begins, c.fee, c.places,
    (SELECT count(*) FROM enrolments e WHERE e.course = c.id) AS enrolled, c.status
    FROM courses c JOIN teachers t ON t.id = c.teacher JOIN rooms r ON r.id = c.room ORDER BY c.id"""
ALL_STUDENTS = "SELECT * FROM students ORDER BY id"
ALL_ABSENCES = """SELECT a.id, s.name AS student, c.title AS course, a.date, a.reason, a.excused
    FROM absences a JOIN students s ON s.id = a.student JOIN courses c ON c.id = a.course ORDER BY a.date, a.id"""


def which_course(id=None, title=None):
    return app.one("course", ALL_COURSES, "title", id, title)


def course_said(course):
    """The course that a text means: its number or its title."""
    return which_course(int(course), None) if course.isdecimal() else which_course(None, course)


def room_said(room):
    """The room that a text means: its number or its name."""
    return (
        app.one("room", ALL_ROOMS, "name", int(room), None)
        if room.isdecimal()
        else app.one("room", ALL_ROOMS, "name", None, room)
    )


def with_enrolments(student):
    taken = "SELECT c.title AS course, e.grade FROM enrolments e JOIN courses c ON c.id = e.course WHERE e.student = ? ORDER BY c.id"
    return {**student, "enrolments": app.rows(taken, student["id"])}


def which_student(id=None, name=None):
    return with_enrolments(app.one("student", ALL_STUDENTS, "name", id, name))


def all_absences():
    return [{**row, "excused": bool(row["excused"])} for row in app.rows(ALL_ABSENCES)]


def which_absence(id=None, student=None):
    """By its number any absence; by the student's name one that is not excused yet, if there is one."""
    if id is None and not student:
        raise ToolError("field_required", "id or student")
    if id is not None:
        found = [row for row in all_absences() if row["id"] == id]
    else:
        found = [row for row in all_absences() if has(student, row["student"])]
        found = [row for row in found if not row["excused"]] or found
    if not found:
        raise ToolError(
            "not_found", f"absence {id if id is not None else json.dumps(student, ensure_ascii=False)}"
        )
    if len(found) > 1:
        names = ", ".join(f'{row["id"]} "{row["student"]}, {row["course"]}, {row["date"]}"' for row in found)
        raise ToolError("ambiguous", f"absence {json.dumps(student, ensure_ascii=False)} may be {names}")
    return found[0]


def is_enrolled(student, course):
    return bool(
        app.rows("SELECT 1 FROM enrolments WHERE student = ? AND course = ?", student["id"], course["id"])
    )


def must_be_enrolled(student, course):
    if not is_enrolled(student, course):
        raise ToolError("not_enrolled", f"{student['name']} in {course['title']}")


def must_go_on(course):
    if course["status"] not in ("upcoming", "running"):
        raise ToolError("wrong_state", f"course {course['id']} is {course['status']}")


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def several(name, rows):
    return {name: rows, "count": len(rows)}


@app.tool(
    "read",
    "Lists the courses of the evening school, optionally of one subject, teacher, room, weekday or status, or only those with free places.",
    {
        "subject": SUBJECT,
        "teacher": text("Only courses of this teacher: the name or a part of it"),
        "room": text("Only courses in this room: its number or its name"),
        "weekday": WEEKDAY,
        "status": STATUS,
        "free_places": {
            "type": "boolean",
            "description": "Only courses that one can still enrol in, because they are not full",
        },
    },
    many("courses", COURSE),
)
def list_courses(subject=None, teacher=None, room=None, weekday=None, status=None, free_places=None):
    asked = {
        "subject": subject,
        "room": room_said(room)["name"] if room else None,
        "weekday": weekday,
        "status": status,
    }

    def free(row):
        return row["status"] in ("upcoming", "running") and row["enrolled"] < row["places"]

    return several(
        "courses",
        [
            row
            for row in app.rows(ALL_COURSES)
            if all(value in (None, row[name]) for name, value in asked.items())
            and has(teacher, row["teacher"])
            and free_places in (None, free(row))
        ],
    )


@app.tool(
    "read",
    "Shows one course: who teaches it, in which room, weekday and time, first evening, fee, and how many are enrolled.",
    WHICH_COURSE,
    COURSE,
)
def get_course(id=None, title=None):
    return which_course(id, title)


@app.tool(
    "set",
    "Changes a course: gives it another teacher, or moves it to another room, another weekday or another starting time.",
    {
        **WHICH_COURSE,
        "teacher": text("Who teaches it from now on: the name or a part of it"),
        "room": text("The room it moves to: its number or its name"),
        "weekday": text("The weekday it moves to", enum=WEEKDAYS),
        "starts": text("The new starting time, as HH:MM", **CLOCK),
    },
    COURSE,
)
def change_course(id=None, title=None, teacher=None, room=None, weekday=None, starts=None):
    course = which_course(id, title)
    must_go_on(course)
    if starts:
        try:
            if datetime.time.fromisoformat(starts).strftime("%H:%M") != starts:
                raise ValueError(starts)
        except ValueError:
            raise ToolError("field_invalid", "starts must be like 18:30") from None
    who = app.one("teacher", ALL_TEACHERS, "name", None, teacher or course["teacher"])
    place = room_said(room or course["room"])
    evening = weekday or course["weekday"]
    if place["seats"] < course["enrolled"]:
        raise ToolError("too_small", f"{place['name']} has {place['seats']} seats")
    for other in app.rows(ALL_COURSES):  # a room and a teacher have one course an evening
        if (
            other["id"] != course["id"]
            and other["weekday"] == evening
            and other["status"] in ("upcoming", "running")
        ):
            if other["room"] == place["name"] or other["teacher"] == who["name"]:
                raise ToolError(
                    "not_free",
                    f"{place['name'] if other['room'] == place['name'] else who['name']} on {evening}, because of {other['title']}",
                )
    begins = None
    if weekday and course["status"] == "upcoming":
        shift = WEEKDAYS.index(weekday) - WEEKDAYS.index(course["weekday"])
        begins = str(datetime.date.fromisoformat(course["begins"]) + datetime.timedelta(days=shift))
    app.change(
        "courses",
        course["id"],
        teacher=who["id"] if teacher else None,
        room=place["id"] if room else None,
        weekday=weekday,
        starts=starts,
        begins=begins,
    )
    return which_course(course["id"])


@app.tool(
    "delete",
    "Cancels a course that will not take place or not go on, by its number or by its title.",
    WHICH_COURSE,
    record(cancelled=COURSE),
)
def cancel_course(id=None, title=None):
    course = which_course(id, title)
    if course["status"] == "finished":
        raise ToolError("wrong_state", f"course {course['id']} is finished")
    app.change("courses", course["id"], status="cancelled")
    return {"cancelled": which_course(course["id"])}


@app.tool(
    "read",
    "Lists the rooms with seats and equipment, optionally only those that are free on a weekday, large enough, or equipped with something.",
    {
        "name": text("Only this room: its number or words from its name"),
        "free_on": text("Only rooms in which no course meets on this weekday", enum=WEEKDAYS),
        "min_seats": number("Only rooms with at least this many seats", "integer", minimum=1),
        "equipment": text("Only rooms that have this, such as projector"),
    },
    many("rooms", ROOM),
)
def list_rooms(name=None, free_on=None, min_seats=None, equipment=None):
    taken = [
        row["room"]
        for row in app.rows(ALL_COURSES)
        if row["weekday"] == free_on and row["status"] in ("upcoming", "running")
    ]
    return several(
        "rooms",
        [
            row
            for row in app.rows(ALL_ROOMS)
            if (has(name, row["name"]) or name == str(row["id"]))
            and row["name"] not in taken
            and row["seats"] >= (min_seats or 0)
            and has(equipment, row["equipment"])
        ],
    )


@app.tool(
    "read",
    "Lists students with what they are enrolled in, optionally by name, only the participants of one course, or those with a certain grade.",
    {
        "name": text("Only students with this name or a part of it"),
        "course": text("Only participants of this course: its number or its title"),
        "grade": GRADE,
    },
    many("students", STUDENT),
)
def list_students(name=None, course=None, grade=None):
    title = course_said(course)["title"] if course else None
    rows = [with_enrolments(row) for row in app.rows(ALL_STUDENTS) if has(name, row["name"])]
    if title or grade:
        rows = [
            row
            for row in rows
            if any(
                title in (None, taken["course"]) and grade in (None, taken["grade"])
                for taken in row["enrolments"]
            )
        ]
    return several("students", rows)


@app.tool(
    "read",
    "Shows one student's file: phone number, email address, the courses the student is enrolled in and the grades.",
    WHICH_STUDENT,
    STUDENT,
)
def get_student(id=None, name=None):
    return which_student(id, name)


@app.tool(
    "add",
    "Registers a new student of the school, who can then be enrolled in courses.",
    {
        "name!": text("The student's full name"),
        "phone": text("The phone number"),
        "email": text("The email address"),
    },
    STUDENT,
)
def register_student(name, phone="", email=""):
    if any(row["name"].casefold() == name.casefold() for row in app.rows(ALL_STUDENTS)):
        raise ToolError("already_exists", f"student {name!r}")
    return which_student(
        app.db.execute(
            "INSERT INTO students (name, phone, email) VALUES (?, ?, ?)", (name, phone, email)
        ).lastrowid
    )


@app.tool(
    "add",
    "Enrols a student in a course (signs the student up for it), as long as it has a free place.",
    {**WHICH_STUDENT, "course!": text("The course: its number or its title")},
    STUDENT,
)
def enrol_student(course, id=None, name=None):
    student, joined = which_student(id, name), course_said(course)
    must_go_on(joined)
    if is_enrolled(student, joined):
        raise ToolError("already_exists", f"{student['name']} is enrolled in {joined['title']}")
    if joined["enrolled"] >= joined["places"]:
        raise ToolError("full", f"{joined['title']} has {joined['places']} places")
    app.db.execute("INSERT INTO enrolments (student, course) VALUES (?, ?)", (student["id"], joined["id"]))
    return which_student(student["id"])


@app.tool(
    "delete",
    "Withdraws a student from a course: takes someone who drops out or leaves the course off its list.",
    {**WHICH_STUDENT, "course!": text("The course that the student leaves: its number or its title")},
    record(withdrawn=STUDENT),
)
def withdraw_student(course, id=None, name=None):
    student, left = which_student(id, name), course_said(course)
    must_be_enrolled(student, left)
    app.db.execute("DELETE FROM enrolments WHERE student = ? AND course = ?", (student["id"], left["id"]))
    return {"withdrawn": which_student(student["id"])}


@app.tool(
    "add",
    "Records that a student is or was absent (missing, did not come) on an evening of a course.",
    {
        **WHICH_STUDENT,
        "course": text(
            "The course that is missed: its number or its title; the one the student has on that weekday when nothing is said"
        ),
        "date": day("The evening, as YYYY-MM-DD; today when nothing is said"),
        "reason": text("Why the student is absent, such as ill"),
    },
    ABSENCE,
)
def record_absence(id=None, name=None, course=None, date=None, reason=""):
    student, date = which_student(id, name), date or str(app.today())
    evening = datetime.date.fromisoformat(date).strftime("%A").lower()
    if course:
        missed = course_said(course)
        must_be_enrolled(student, missed)
        if missed["weekday"] != evening:
            raise ToolError(
                "field_invalid", f"{missed['title']} meets on {missed['weekday']}, and {date} is a {evening}"
            )
    else:
        found = [
            row
            for row in app.rows(ALL_COURSES)
            if row["weekday"] == evening and row["status"] == "running" and is_enrolled(student, row)
        ]
        if len(found) != 1:
            raise ToolError(
                "field_required", f"course: {student['name']} has {len(found)} on {date}, a {evening}"
            )
        missed = found[0]
    if app.rows(
        "SELECT 1 FROM absences WHERE student = ? AND course = ? AND date = ?",
        student["id"],
        missed["id"],
        date,
    ):
        raise ToolError("already_exists", f"absence of {student['name']} in {missed['title']} on {date}")
    return which_absence(
        app.db.execute(
            "INSERT INTO absences (student, course, date, reason) VALUES (?, ?, ?, ?)",
            (student["id"], missed["id"], date, reason),
        ).lastrowid
    )


@app.tool(
    "read",
    "Lists absences, optionally of one student, in one course, on one evening or since a day, or only excused or unexcused ones.",
    {
        "student": text("Only absences of this student: the name or a part of it"),
        "course": text("Only absences in this course: its number or its title"),
        "date": day("Only absences on this evening, as YYYY-MM-DD"),
        "since": day("Only absences on this day or later, as YYYY-MM-DD"),
        "excused": {
            "type": "boolean",
            "description": "True for excused absences only, false for unexcused ones only",
        },
    },
    many("absences", ABSENCE),
)
def list_absences(student=None, course=None, date=None, since=None, excused=None):
    title = course_said(course)["title"] if course else None
    return several(
        "absences",
        [
            row
            for row in all_absences()
            if has(student, row["student"])
            and title in (None, row["course"])
            and date in (None, row["date"])
            and row["date"] >= (since or "")
            and excused in (None, row["excused"])
        ],
    )


@app.tool(
    "set",
    "Excuses an absence, by its number or by the student's name, optionally with the reason that was given.",
    {**WHICH_ABSENCE, "reason": text("Why the student was absent, such as ill")},
    ABSENCE,
)
def excuse_absence(id=None, student=None, reason=None):
    absence = which_absence(id, student)
    app.change("absences", absence["id"], excused=1, reason=reason)
    return which_absence(absence["id"])


@app.tool(
    "set",
    "Awards a student the grade (mark) for a course: distinction, merit, pass or fail.",
    {**WHICH_STUDENT, "course!": text("The course that is graded: its number or its title"), "grade!": GRADE},
    STUDENT,
)
def award_grade(course, grade, id=None, name=None):
    student, graded = which_student(id, name), course_said(course)
    must_be_enrolled(student, graded)
    app.db.execute(
        "UPDATE enrolments SET grade = ? WHERE student = ? AND course = ?",
        (grade, student["id"], graded["id"]),
    )
    return which_student(student["id"])


if __name__ == "__main__":
    app.serve()
