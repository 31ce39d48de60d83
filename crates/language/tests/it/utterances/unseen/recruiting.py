"""The desk of a small recruiting team behind MCP: `python3 recruiting.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

DEPARTMENTS = ["engineering", "product", "sales", "finance", "operations"]
JOB_STATUSES = ["open", "on_hold", "filled"]
SOURCES = ["referral", "linkedin", "job_board", "career_site", "agency"]
PIPELINE = ["new", "screening", "interview", "final_round"]
STAGES = [*PIPELINE, "offer", "hired", "rejected", "declined"]
REASONS = ["not_qualified", "salary_too_high", "no_show", "position_filled"]
FORMATS = ["phone", "video", "onsite"]
INTERVIEW_STATUSES = ["scheduled", "feedback_due", "completed", "cancelled"]
RECOMMENDATIONS = ["strong_yes", "yes", "no", "strong_no"]
OFFER_STATUSES = ["pending", "accepted", "declined"]
TABLES = [
    """CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, department TEXT NOT NULL, location TEXT NOT NULL,
        hiring_manager TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open')""",
    """CREATE TABLE candidates (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL DEFAULT '', phone TEXT NOT NULL DEFAULT '',
        city TEXT NOT NULL DEFAULT '', source TEXT NOT NULL DEFAULT '', skills TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE applications (id INTEGER PRIMARY KEY AUTOINCREMENT, candidate INTEGER NOT NULL REFERENCES candidates, job INTEGER NOT NULL REFERENCES jobs,
        stage TEXT NOT NULL DEFAULT 'new', applied_on TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE interviews (id INTEGER PRIMARY KEY AUTOINCREMENT, candidate INTEGER NOT NULL REFERENCES candidates, date TEXT NOT NULL, time TEXT NOT NULL,
        interviewer TEXT NOT NULL, format TEXT NOT NULL DEFAULT 'video', status TEXT NOT NULL DEFAULT 'scheduled', recommendation TEXT NOT NULL DEFAULT '',
        notes TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE offers (id INTEGER PRIMARY KEY AUTOINCREMENT, application INTEGER NOT NULL REFERENCES applications, salary REAL NOT NULL,
        start_date TEXT NOT NULL DEFAULT '', answer_by TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'pending')""",
]
JOBS = [
    (11, "Backend Engineer", "engineering", "Berlin", "Jonas Weber", "open"),
    (12, "Frontend Engineer", "engineering", "Lisbon", "Jonas Weber", "open"),
    (13, "Data Analyst", "finance", "Berlin", "Amara Diallo", "open"),
    (14, "Account Executive", "sales", "London", "Rachel Stone", "open"),
    (15, "Product Designer", "product", "Lisbon", "Mei Tan", "open"),
    (16, "Office Manager", "operations", "Berlin", "Amara Diallo", "on_hold"),
    (17, "Sales Development Rep", "sales", "London", "Rachel Stone", "filled"),
]
CANDIDATES = [
    (1, "Priya Raman", "priya.raman@mail.example", "555-0141", "Berlin", "referral", "Python, PostgreSQL"),
    (2, "Tomasz Wolski", "t.wolski@mail.example", "555-0142", "Warsaw", "linkedin", "Java, Kotlin"),
    (
        3,
        "Grace Okafor",
        "grace.okafor@mail.example",
        "555-0143",
        "London",
        "agency",
        "enterprise sales, Salesforce",
    ),
    (4, "Daniel Meyer", "daniel.meyer@mail.example", "555-0144", "Berlin", "job_board", "SQL, Excel"),
    (5, "Laura Meyer", "laura.meyer@mail.example", "555-0145", "Lisbon", "career_site", "React, TypeScript"),
    (6, "Hiroshi Sato", "h.sato@mail.example", "555-0146", "Lisbon", "linkedin", "Figma, user research"),
    (7, "Camille Laurent", "camille@mail.example", "555-0147", "Paris", "referral", "React, Vue"),
    (8, "Ben Carter", "ben.carter@mail.example", "555-0148", "London", "job_board", "cold calling, HubSpot"),
    (
        9,
        "Elena Petrova",
        "elena.petrova@mail.example",
        "555-0149",
        "Berlin",
        "linkedin",
        "SQL, Python, Tableau",
    ),
    (
        10,
        "Marcus Bell",
        "marcus.bell@mail.example",
        "555-0150",
        "London",
        "referral",
        "negotiation, Salesforce",
    ),
    (
        11,
        "Sofia Almeida",
        "sofia.almeida@mail.example",
        "555-0151",
        "Lisbon",
        "career_site",
        "Figma, illustration",
    ),
    (12, "Yusuf Demir", "yusuf.demir@mail.example", "555-0152", "Berlin", "agency", "Go, Kubernetes"),
    (
        13,
        "Anna Lindholm",
        "anna.lindholm@mail.example",
        "555-0153",
        "Stockholm",
        "linkedin",
        "office administration",
    ),
    (14, "Nadia Haddad", "nadia.haddad@mail.example", "555-0154", "Paris", "job_board", "Python, Django"),
    (
        15,
        "Victor Hansen",
        "victor.hansen@mail.example",
        "555-0155",
        "Copenhagen",
        "career_site",
        "React, CSS",
    ),
    (16, "Samuel Okafor", "samuel.okafor@mail.example", "555-0156", "Berlin", "job_board", "SQL, Power BI"),
]
APPLICATIONS = [
    (201, 1, 11, "interview", "2026-10-12", ""),
    (202, 2, 11, "screening", "2026-10-20", ""),
    (203, 3, 14, "offer", "2026-10-02", ""),
    (204, 4, 13, "interview", "2026-10-15", ""),
    (205, 5, 12, "screening", "2026-10-26", ""),
    (206, 6, 15, "final_round", "2026-10-05", ""),
    (207, 7, 12, "interview", "2026-10-19", ""),
    (208, 8, 14, "new", "2026-10-29", ""),
    (209, 9, 13, "new", "2026-11-02", ""),
    (210, 9, 11, "new", "2026-11-03", ""),
    (211, 10, 17, "hired", "2026-08-24", ""),
    (212, 11, 15, "offer", "2026-10-01", ""),
    (213, 12, 11, "final_round", "2026-10-08", ""),
    (214, 13, 16, "rejected", "2026-09-14", "not_qualified"),
    (215, 14, 11, "new", "2026-11-04", ""),
    (216, 15, 12, "declined", "2026-09-07", ""),
    (217, 16, 13, "offer", "2026-10-06", ""),
]
INTERVIEWS = [
    (501, 1, "2026-11-05", "10:00", "Jonas Weber", "video", "scheduled", "", ""),
    (502, 4, "2026-11-05", "14:00", "Amara Diallo", "onsite", "scheduled", "", ""),
    (503, 5, "2026-11-06", "09:30", "Jonas Weber", "phone", "scheduled", "", ""),
    (504, 6, "2026-11-04", "15:00", "Mei Tan", "onsite", "feedback_due", "", ""),
    (505, 7, "2026-11-06", "11:00", "Jonas Weber", "video", "scheduled", "", ""),
    (506, 12, "2026-11-03", "13:00", "Jonas Weber", "onsite", "feedback_due", "", ""),
    (507, 2, "2026-11-09", "10:00", "Jonas Weber", "phone", "scheduled", "", ""),
    (508, 2, "2026-11-11", "15:00", "Amara Diallo", "video", "scheduled", "", ""),
    (509, 3, "2026-10-28", "11:00", "Rachel Stone", "onsite", "completed", "strong_yes", "closes big deals"),
    (510, 8, "2026-11-02", "16:30", "Rachel Stone", "phone", "cancelled", "", ""),
    (511, 11, "2026-10-27", "09:00", "Mei Tan", "onsite", "completed", "yes", "lovely portfolio"),
]
OFFERS = [
    (71, 203, 68000, "2027-01-04", "2026-11-09", "pending"),
    (72, 212, 52000, "2026-12-01", "2026-11-06", "pending"),
    (73, 211, 45000, "2026-10-01", "2026-09-18", "accepted"),
    (74, 216, 55000, "2026-11-02", "2026-10-09", "declined"),
    (75, 217, 48000, "2027-01-04", "2026-11-13", "pending"),
]
app = App(
    "recruiting",
    "The desk of a recruiting team: job openings, candidates, their applications and stages, interviews with feedback, offers.",
    TABLES,
    [
        (
            "INSERT INTO jobs (id, title, department, location, hiring_manager, status) VALUES (?, ?, ?, ?, ?, ?)",
            JOBS,
        ),
        (
            "INSERT INTO candidates (id, name, email, phone, city, source, skills) VALUES (?, ?, ?, ?, ?, ?, ?)",
            CANDIDATES,
        ),
        (
            "INSERT INTO applications (id, candidate, job, stage, applied_on, reason) VALUES (?, ?, ?, ?, ?, ?)",
            APPLICATIONS,
        ),
        (
            "INSERT INTO interviews (id, candidate, date, time, interviewer, format, status, recommendation, notes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            INTERVIEWS,
        ),
        (
            "INSERT INTO offers (id, application, salary, start_date, answer_by, status) VALUES (?, ?, ?, ?, ?, ?)",
            OFFERS,
        ),
    ],
)

DEPARTMENT = text("The department that hires", enum=DEPARTMENTS)
JOB_STATUS = text("Whether we are hiring for the job, it is on hold, or it is filled", enum=JOB_STATUSES)
SOURCE = text("How the candidate came to us", enum=SOURCES)
STAGE = text("How far the application has come", enum=STAGES)
FORMAT = text("Whether the interview is by phone, by video or onsite", enum=FORMATS)
INTERVIEW_STATUS = text(
    "Whether the interview is still to come, was held and waits for feedback, is completed, or was cancelled",
    enum=INTERVIEW_STATUSES,
)
RECOMMENDATION = text("What the interviewer recommends: whether to hire the candidate", enum=RECOMMENDATIONS)
OFFER_STATUS = text(
    "Whether the offer is pending (not answered yet), accepted or declined", enum=OFFER_STATUSES
)
JOB = record(
    id=number("The job's number", "integer"),
    title=text("The job title"),
    department=DEPARTMENT,
    location=text("The city where the job is"),
    hiring_manager=text("The hiring manager's name"),
    status=JOB_STATUS,
)
CANDIDATE = record(
    id=number("The candidate's number", "integer"),
    name=text("The candidate's name"),
    email=text("The email address, or nothing"),
    phone=text("The phone number, or nothing"),
    city=text("Where the candidate lives, or nothing"),
    source=text("How the candidate came to us, or nothing"),
    skills=text("What the candidate can do, or nothing"),
)
APPLICATION = record(
    id=number("The application's number", "integer"),
    candidate=text("The candidate's name"),
    job=text("The title of the job applied for"),
    stage=STAGE,
    applied_on=text("When it came in (YYYY-MM-DD)"),
    reason=text("Why it was rejected, or nothing"),
)
INTERVIEW = record(
    id=number("The interview's number", "integer"),
    candidate=text("The candidate's name"),
    date=text("The day (YYYY-MM-DD)"),
    time=text("The time (HH:MM)"),
    interviewer=text("Who interviews the candidate"),
    format=FORMAT,
    status=INTERVIEW_STATUS,
    recommendation=text("What the interviewer recommends, or nothing yet"),
    notes=text("What the interviewer noted, or nothing"),
)
OFFER = record(
    id=number("The offer's number", "integer"),
    candidate=text("The candidate's name"),
    job=text("The job title"),
    salary=number("The yearly salary in euros"),
    start_date=text("The first day of work (YYYY-MM-DD), or nothing"),
    answer_by=text("Until when the candidate has to answer (YYYY-MM-DD), or nothing"),
    status=OFFER_STATUS,
)
WHICH_CANDIDATE = {
    "id": number("The candidate's number", "integer", minimum=1),
    "name": text("The candidate's name, or a part of it"),
}
WHICH_APPLICATION = {
    "id": number("The application's number", "integer", minimum=1),
    "candidate": text(
        "The name of the candidate who applied, together with the job title when there are several applications"
    ),
}
WHICH_INTERVIEW = {
    "id": number("The interview's number", "integer", minimum=1),
    "candidate": text("The name of the candidate who is interviewed, or a part of it"),
}
WHICH_OFFER = {
    "id": number("The offer's number", "integer", minimum=1),
    "candidate": text("The name of the candidate who got the offer, or a part of it"),
}
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
ALL_JOBS = "SELECT * FROM jobs ORDER BY id"
ALL_CANDIDATES = "SELECT * FROM candidates ORDER BY id"
ALL_APPLICATIONS = """SELECT a.id, c.name AS candidate, j.title AS job, a.stage, a.applied_on, a.reason
    FROM applications a JOIN candidates c ON c.id = a.candidate JOIN jobs j ON j.id = a.job ORDER BY a.id"""
ALL_INTERVIEWS = """SELECT i.id, c.name AS candidate, i.date, i.time, i.interviewer, i.format, i.status, i.recommendation, i.notes
    FROM interviews i JOIN candidates c ON c.id = i.candidate ORDER BY i.date, i.time, i.id"""
ALL_OFFERS = """SELECT o.id, c.name AS candidate, j.title AS job, o.salary, o.start_date, o.answer_by, o.status
    FROM offers o JOIN applications a ON a.id = o.application JOIN candidates c ON c.id = a.candidate JOIN jobs j ON j.id = a.job ORDER BY o.id"""


def one(kind, rows, about, id=None, words=None):
    """The row that an id or words mean. The candidate's whole name wins over words that are found in the name or in the job title."""
    if id is None and not words:
        raise ToolError("field_required", "id or candidate")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        said = words.casefold()
        found = [row for row in rows if row["candidate"].casefold() == said]
        found = found or [
            row
            for row in rows
            if all(word in f"{row['candidate']} {row.get('job', '')}".casefold() for word in said.split())
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


def one_live(kind, rows, live, about, id, words):
    """By its number any row; by the candidate's name one that is still live, if there is one."""
    if id is None and words:
        try:
            return one(kind, [row for row in rows if live(row)], about, None, words)
        except ToolError as error:
            if not str(error).startswith("not_found"):
                raise
    return one(kind, rows, about, id, words)


def which_job(id=None, title=None):
    return app.one("job", ALL_JOBS, "title", id, title)


def which_candidate(id=None, name=None):
    return app.one("candidate", ALL_CANDIDATES, "name", id, name)


def which_application(id=None, candidate=None):
    return one_live(
        "application",
        app.rows(ALL_APPLICATIONS),
        lambda row: row["stage"] in (*PIPELINE, "offer"),
        lambda row: f"{row['candidate']}, {row['job']}, {row['stage']}",
        id,
        candidate,
    )


def which_interview(id=None, candidate=None):
    return one_live(
        "interview",
        app.rows(ALL_INTERVIEWS),
        lambda row: row["status"] in ("scheduled", "feedback_due"),
        lambda row: f"{row['candidate']} with {row['interviewer']}, {row['date']} {row['time']}",
        id,
        candidate,
    )


def which_offer(id=None, candidate=None):
    return one_live(
        "offer",
        app.rows(ALL_OFFERS),
        lambda row: row["status"] == "pending",
        lambda row: f"{row['candidate']}, {row['job']}, {row['status']}",
        id,
        candidate,
    )


def said(which, words):
    """What a text means: a number or a name."""
    return which(int(words), None) if words.isdecimal() else which(None, words)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def in_pipeline(application):
    if application["stage"] not in PIPELINE:
        raise ToolError("wrong_state", f"application {application['id']} is {application['stage']}")


@app.tool(
    "read",
    "Lists the jobs (openings, positions, roles) that we recruit for, optionally by title, of one department, in one location or of one status.",
    {
        "title": text("Only jobs with these words in the title"),
        "department": DEPARTMENT,
        "location": text("Only jobs in this city"),
        "status": JOB_STATUS,
    },
    many("jobs", JOB),
)
def list_jobs(title=None, department=None, location=None, status=None):
    return several(
        "jobs",
        [
            row
            for row in app.rows(ALL_JOBS)
            if has(title, row["title"])
            and has(location, row["location"])
            and department in (None, row["department"])
            and status in (None, row["status"])
        ],
    )


@app.tool(
    "read",
    "Searches the candidates in the talent pool by name, skill, city or source; all of them when nothing is said.",
    {
        "name": text("Only candidates with this name, or a part of it"),
        "skill": text("Only candidates who can do this, such as Python"),
        "city": text("Only candidates who live in this city"),
        "source": SOURCE,
    },
    many("candidates", CANDIDATE),
)
def search_candidates(name=None, skill=None, city=None, source=None):
    return several(
        "candidates",
        [
            row
            for row in app.rows(ALL_CANDIDATES)
            if has(name, row["name"])
            and has(skill, row["skills"])
            and has(city, row["city"])
            and source in (None, row["source"])
        ],
    )


@app.tool(
    "read",
    "Shows the profile of one candidate: email, phone number, city, skills, and how the candidate came to us.",
    WHICH_CANDIDATE,
    CANDIDATE,
)
def get_candidate(id=None, name=None):
    return which_candidate(id, name)


@app.tool(
    "add",
    "Adds a new candidate to the talent pool, and files an application when a job is named. Who is on file already only gets the new application.",
    {
        "name!": text("The candidate's full name"),
        "job": text("The job that the candidate applies for: its number or its title"),
        "email": text("The email address"),
        "phone": text("The phone number"),
        "city": text("Where the candidate lives"),
        "source": SOURCE,
        "skills": text("What the candidate can do, separated by commas"),
    },
    CANDIDATE,
)
def add_candidate(name, job=None, email="", phone="", city="", source="", skills=""):
    opening = said(which_job, job) if job else None
    if opening and opening["status"] == "filled":
        raise ToolError("wrong_state", f"job {opening['id']} is filled")
    known = [row for row in app.rows(ALL_CANDIDATES) if row["name"].casefold() == name.casefold()]
    if known and (
        not opening
        or app.rows(
            "SELECT id FROM applications WHERE candidate = ? AND job = ?", known[0]["id"], opening["id"]
        )
    ):
        raise ToolError(
            "already_exists", f"candidate {known[0]['id']} {json.dumps(known[0]['name'], ensure_ascii=False)}"
        )
    who = (
        known[0]["id"]
        if known
        else app.db.execute(
            "INSERT INTO candidates (name, email, phone, city, source, skills) VALUES (?, ?, ?, ?, ?, ?)",
            (name, email, phone, city, source, skills),
        ).lastrowid
    )
    if opening:
        app.db.execute(
            "INSERT INTO applications (candidate, job, applied_on) VALUES (?, ?, ?)",
            (who, opening["id"], str(app.today())),
        )
    return which_candidate(who)


@app.tool(
    "read",
    "Lists applications with their stage in the pipeline, optionally for one job, at one stage, of one candidate, or since a date.",
    {
        "job": text("Only applications for this job: its number or its title"),
        "stage": STAGE,
        "candidate": text("Only applications of this candidate: the name or a part of it"),
        "applied_since": day("Only applications that came in on this day or later, as YYYY-MM-DD"),
    },
    many("applications", APPLICATION),
)
def list_applications(job=None, stage=None, candidate=None, applied_since=None):
    title = which_job(int(job))["title"] if job and job.isdecimal() else job
    return several(
        "applications",
        [
            row
            for row in app.rows(ALL_APPLICATIONS)
            if has(title, row["job"])
            and has(candidate, row["candidate"])
            and stage in (None, row["stage"])
            and row["applied_on"] >= (applied_since or "")
        ],
    )


@app.tool(
    "add",
    "Advances an application in the pipeline: the candidate goes through to the next stage, or to the stage that is named.",
    {
        **WHICH_APPLICATION,
        "stage": text("The stage it moves to; the next one when nothing is said", enum=PIPELINE[1:]),
    },
    APPLICATION,
)
def advance_application(id=None, candidate=None, stage=None):
    application = which_application(id, candidate)
    in_pipeline(application)
    if not stage and application["stage"] == PIPELINE[-1]:
        raise ToolError(
            "wrong_state",
            f"application {application['id']} is in the {PIPELINE[-1]}; what comes next is an offer",
        )
    app.change(
        "applications", application["id"], stage=stage or PIPELINE[PIPELINE.index(application["stage"]) + 1]
    )
    return which_application(application["id"])


@app.tool(
    "set",
    "Rejects an application: the candidate is turned down and is out of the pipeline, optionally with the reason.",
    {**WHICH_APPLICATION, "reason": text("Why the candidate is turned down", enum=REASONS)},
    APPLICATION,
)
def reject_application(id=None, candidate=None, reason=None):
    application = which_application(id, candidate)
    if application["stage"] != "rejected":
        in_pipeline(application)
    app.change("applications", application["id"], stage="rejected", reason=reason)
    return which_application(application["id"])


@app.tool(
    "read",
    "Lists interviews, optionally on one day, of one interviewer, with one candidate or of one status, such as those that wait for feedback.",
    {
        "date": day("Only interviews on this day, as YYYY-MM-DD"),
        "interviewer": text("Only interviews that this person holds: the name or a part of it"),
        "candidate": text("Only interviews with this candidate: the name or a part of it"),
        "status": INTERVIEW_STATUS,
    },
    many("interviews", INTERVIEW),
)
def list_interviews(date=None, interviewer=None, candidate=None, status=None):
    return several(
        "interviews",
        [
            row
            for row in app.rows(ALL_INTERVIEWS)
            if date in (None, row["date"])
            and status in (None, row["status"])
            and has(interviewer, row["interviewer"])
            and has(candidate, row["candidate"])
        ],
    )


@app.tool(
    "add",
    "Schedules an interview: an interviewer meets a candidate on a day at a time, by phone, by video or onsite.",
    {
        "candidate!": text("The candidate: the number or the name"),
        "date!": day("The day, as YYYY-MM-DD"),
        "time!": text("The time, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "interviewer!": text("Who interviews the candidate: the full name"),
        "format": text("By phone, by video or onsite; by video when nothing is said", enum=FORMATS),
    },
    INTERVIEW,
)
def schedule_interview(candidate, date, time, interviewer, format="video"):
    who = said(which_candidate, candidate)
    try:
        if datetime.time.fromisoformat(time).strftime("%H:%M") != time:
            raise ValueError(time)
    except ValueError:
        raise ToolError("field_invalid", "time must be like 14:30") from None
    for row in app.rows(ALL_INTERVIEWS):
        if (row["date"], row["time"], row["status"]) == (date, time, "scheduled"):
            for name, busy in ((interviewer, row["interviewer"]), (who["name"], row["candidate"])):
                if name.casefold() == busy.casefold():
                    raise ToolError("not_free", f"{busy} on {date} at {time}")
    return which_interview(
        app.db.execute(
            "INSERT INTO interviews (candidate, date, time, interviewer, format) VALUES (?, ?, ?, ?, ?)",
            (who["id"], date, time, interviewer, format),
        ).lastrowid
    )


@app.tool(
    "delete",
    "Cancels an interview that will not take place, by its number or by the candidate's name.",
    WHICH_INTERVIEW,
    record(cancelled=INTERVIEW),
)
def cancel_interview(id=None, candidate=None):
    interview = which_interview(id, candidate)
    if interview["status"] not in ("scheduled", "cancelled"):
        raise ToolError("wrong_state", f"interview {interview['id']} is {interview['status']}")
    app.change("interviews", interview["id"], status="cancelled")
    return {"cancelled": which_interview(interview["id"])}


@app.tool(
    "add",
    "Submits the interviewer's feedback (scorecard) on an interview: the recommendation, and notes if there are any. The interview is completed by it.",
    {
        **WHICH_INTERVIEW,
        "recommendation!": RECOMMENDATION,
        "notes": text("What the interviewer noted about the candidate"),
    },
    INTERVIEW,
)
def submit_feedback(recommendation, id=None, candidate=None, notes=None):
    interview = which_interview(id, candidate)
    if interview["status"] not in ("scheduled", "feedback_due"):
        raise ToolError("wrong_state", f"interview {interview['id']} is {interview['status']}")
    app.change("interviews", interview["id"], status="completed", recommendation=recommendation, notes=notes)
    return which_interview(interview["id"])


@app.tool(
    "read",
    "Lists job offers with salary and deadline, optionally of one status, of one candidate, or those that have to be answered by a date.",
    {
        "status": OFFER_STATUS,
        "candidate": text("Only offers to this candidate: the name or a part of it"),
        "answer_by": day("Only offers that have to be answered up to this day, as YYYY-MM-DD"),
    },
    many("offers", OFFER),
)
def list_offers(status=None, candidate=None, answer_by=None):
    return several(
        "offers",
        [
            row
            for row in app.rows(ALL_OFFERS)
            if status in (None, row["status"])
            and has(candidate, row["candidate"])
            and (answer_by is None or "" < row["answer_by"] <= answer_by)
        ],
    )


@app.tool(
    "add",
    "Extends a job offer to a candidate who has applied: the salary, and optionally the first day of work and a deadline for the answer.",
    {
        "candidate!": text(
            "The candidate: the name, together with the job title when there are several applications"
        ),
        "salary!": number("The yearly salary in euros", minimum=1),
        "start_date": day("The first day of work, as YYYY-MM-DD"),
        "answer_by": day("Until when the candidate has to answer, as YYYY-MM-DD"),
    },
    OFFER,
)
def extend_offer(candidate, salary, start_date="", answer_by=""):
    application = which_application(None, candidate)
    in_pipeline(application)
    app.change("applications", application["id"], stage="offer")
    return which_offer(
        app.db.execute(
            "INSERT INTO offers (application, salary, start_date, answer_by) VALUES (?, ?, ?, ?)",
            (application["id"], salary, start_date, answer_by),
        ).lastrowid
    )


@app.tool(
    "set",
    "Records how a candidate answered our offer: accepted (signed) or declined (turned us down). Who accepts is hired.",
    {**WHICH_OFFER, "response!": text("What the candidate answered", enum=OFFER_STATUSES[1:])},
    OFFER,
)
def record_offer_response(response, id=None, candidate=None):
    offer = which_offer(id, candidate)
    if offer["status"] not in ("pending", response):
        raise ToolError("wrong_state", f"offer {offer['id']} is {offer['status']}")
    app.change("offers", offer["id"], status=response)
    stage = "hired" if response == "accepted" else "declined"
    app.db.execute(
        "UPDATE applications SET stage = ? WHERE id = (SELECT application FROM offers WHERE id = ?)",
        (stage, offer["id"]),
    )
    return which_offer(offer["id"])


if __name__ == "__main__":
    app.serve()
