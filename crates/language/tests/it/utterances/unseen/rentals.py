"""The office of a small letting agency behind MCP: `python3 rentals.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

DISTRICTS = ["Old Town", "Riverside", "Northside"]
LETTING = ["vacant", "let", "off_market"]
TERMS = ["running", "notice_given", "ended"]
URGENCIES = ["low", "normal", "urgent"]
PROGRESS = ["open", "assigned", "done"]
AGENTS = ["Nadia", "Colin"]
METHODS = ["bank_transfer", "direct_debit", "card", "cash"]
TABLES = [
    """CREATE TABLE flats (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL, district TEXT NOT NULL, bedrooms INTEGER NOT NULL,
        rent REAL NOT NULL, status TEXT NOT NULL DEFAULT 'vacant')""",
    """CREATE TABLE tenants (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, phone TEXT NOT NULL DEFAULT '',
        arrears REAL NOT NULL DEFAULT 0)""",
    """CREATE TABLE leases (id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL REFERENCES tenants, flat INTEGER NOT NULL REFERENCES flats,
        start TEXT NOT NULL, end TEXT NOT NULL DEFAULT '', rent REAL NOT NULL, state TEXT NOT NULL DEFAULT 'running')""",
    """CREATE TABLE payments (id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL REFERENCES tenants, amount REAL NOT NULL,
        date TEXT NOT NULL, method TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE repairs (id INTEGER PRIMARY KEY AUTOINCREMENT, flat INTEGER NOT NULL REFERENCES flats, problem TEXT NOT NULL, urgency TEXT NOT NULL,
        reported TEXT NOT NULL, contractor TEXT NOT NULL DEFAULT '', visit TEXT NOT NULL DEFAULT '', cost REAL NOT NULL DEFAULT 0,
        state TEXT NOT NULL DEFAULT 'open')""",
    """CREATE TABLE viewings (id INTEGER PRIMARY KEY AUTOINCREMENT, flat INTEGER NOT NULL REFERENCES flats, applicant TEXT NOT NULL,
        date TEXT NOT NULL, time TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'planned')""",
]
FLATS = [
    (101, "14 Mill Lane", "Riverside", 2, 1150, "let"),
    (102, "16 Mill Lane", "Riverside", 1, 900, "vacant"),
    (103, "7 Harbour Street", "Old Town", 3, 1650, "let"),
    (104, "22 Harbour Street", "Old Town", 2, 1300, "vacant"),
    (105, "3 Castle Row", "Old Town", 1, 980, "let"),
    (106, "58 Station Road", "Northside", 2, 1050, "let"),
    (107, "9 Orchard Close", "Northside", 3, 1400, "let"),
    (108, "31 Bishop Street", "Riverside", 0, 720, "vacant"),
    (109, "12 Elm Court", "Northside", 1, 840, "off_market"),
    (110, "40 Station Road", "Northside", 2, 1100, "let"),
]
TENANTS = [
    (1, "Dana Brook", "555-0131", 0),
    (2, "Marek Nowak", "555-0132", 1650),
    (3, "Lucia Ferrari", "555-0133", 0),
    (4, "Oliver Grant", "555-0134", 525),
    (5, "Hannah Grant", "555-0135", 0),
    (6, "Tariq Aziz", "555-0136", 0),
    (7, "Ruth Kowalski", "555-0137", 0),
]
LEASES = [
    (501, 1, 101, "2024-04-01", "2027-03-31", 1150, "running"),
    (502, 2, 103, "2025-01-01", "2026-12-31", 1650, "running"),
    (503, 3, 105, "2023-11-01", "2026-10-31", 980, "notice_given"),
    (504, 4, 106, "2025-06-15", "2027-06-14", 1050, "running"),
    (505, 5, 107, "2026-02-01", "2028-01-31", 1400, "running"),
    (506, 6, 102, "2024-09-01", "2026-08-31", 880, "ended"),
    (507, 7, 110, "2025-12-01", "2026-11-30", 1100, "running"),
]
PAYMENTS = [
    (1, 1, 1150, "2026-10-01", "direct_debit"),
    (2, 3, 980, "2026-10-02", "cash"),
    (3, 4, 525, "2026-10-02", "bank_transfer"),
    (4, 5, 1400, "2026-10-01", "direct_debit"),
    (5, 7, 1100, "2026-10-01", "bank_transfer"),
]
REPAIRS = [
    (71, 101, "dripping kitchen tap", "normal", "2026-10-05", "", "", 0, "open"),
    (72, 103, "boiler not heating", "urgent", "2026-10-06", "Hartley Plumbing", "2026-10-08", 0, "assigned"),
    (73, 105, "broken window latch", "low", "2026-09-28", "", "", 0, "open"),
    (74, 106, "blocked bathroom drain", "urgent", "2026-10-07", "", "", 0, "open"),
    (75, 107, "faulty doorbell", "low", "2026-09-14", "Volt Electrics", "2026-09-17", 60, "done"),
    (76, 110, "boiler leaking", "urgent", "2026-10-07", "", "", 0, "open"),
    (77, 109, "cracked bathroom tiles", "normal", "2026-09-30", "Tilecraft", "2026-10-07", 0, "assigned"),
]
VIEWINGS = [
    (31, 102, "Joel Fischer", "2026-10-08", "10:00", "Nadia", "planned"),
    (32, 104, "Amara Diallo", "2026-10-08", "15:30", "Colin", "planned"),
    (33, 102, "Beth Sorensen", "2026-10-09", "09:30", "Nadia", "planned"),
    (34, 108, "Tomas Ruiz", "2026-10-10", "11:00", "Colin", "planned"),
    (35, 104, "Pavel Ruiz", "2026-10-12", "14:00", "Colin", "planned"),
    (36, 108, "Ines Carvalho", "2026-10-06", "12:00", "Nadia", "cancelled"),
    (37, 105, "Gemma Hale", "2026-10-13", "17:00", "Nadia", "planned"),
    (38, 104, "Rosa Lindgren", "2026-10-09", "13:00", "Colin", "planned"),
]
app = App(
    "rentals",
    "The office of a small letting agency: flats, tenants and their rent, leases, repairs, viewings.",
    TABLES,
    [
        (
            "INSERT INTO flats (id, address, district, bedrooms, rent, status) VALUES (?, ?, ?, ?, ?, ?)",
            FLATS,
        ),
        ("INSERT INTO tenants (id, name, phone, arrears) VALUES (?, ?, ?, ?)", TENANTS),
        (
            "INSERT INTO leases (id, tenant, flat, start, end, rent, state) VALUES (?, ?, ?, ?, ?, ?, ?)",
            LEASES,
        ),
        ("INSERT INTO payments (id, tenant, amount, date, method) VALUES (?, ?, ?, ?, ?)", PAYMENTS),
        (
            "INSERT INTO repairs (id, flat, problem, urgency, reported, contractor, visit, cost, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            REPAIRS,
        ),
        (
            "INSERT INTO viewings (id, flat, applicant, date, time, agent, state) VALUES (?, ?, ?, ?, ?, ?, ?)",
            VIEWINGS,
        ),
    ],
)

DISTRICT = text("The part of town", enum=DISTRICTS)
STATUS = text("Whether the flat is vacant (empty, to let), let to a tenant, or off the market", enum=LETTING)
TERM = text("Whether the lease is running, the tenant has given notice, or it has ended", enum=TERMS)
URGENCY = text("How urgent the repair is", enum=URGENCIES)
STAGE = text(
    "How far the repair is: open when nobody is assigned yet, assigned to a contractor, or done",
    enum=PROGRESS,
)
AGENT = text("The agent who shows the flat", enum=AGENTS)
SHOWN = text("Whether the viewing is planned or cancelled", enum=["planned", "cancelled"])
METHOD = text("How the rent was paid", enum=METHODS)
FLAT = record(
    id=number("The flat's number", "integer"),
    address=text("Street and house number"),
    district=DISTRICT,
    bedrooms=number("How many bedrooms; 0 for a studio", "integer"),
    rent=number("The rent per month"),
    status=STATUS,
)
TENANT = record(
    id=number("The tenant's number", "integer"),
    name=text("The tenant's name"),
    phone=text("The phone number, or nothing"),
    flat=text("The address where the tenant lives, or nothing"),
    arrears=number("How much rent the tenant owes; less than 0 when paid ahead"),
)
LEASE = record(
    id=number("The lease's number", "integer"),
    tenant=text("The tenant's name"),
    flat=text("The flat's address"),
    start=text("The first day (YYYY-MM-DD)"),
    end=text("The last day (YYYY-MM-DD), or nothing when it is open-ended"),
    rent=number("The rent per month"),
    state=TERM,
)
PAYMENT = record(
    id=number("The payment's number", "integer"),
    tenant=text("Who paid"),
    amount=number("How much was paid"),
    date=text("When it was paid (YYYY-MM-DD)"),
    method=text("How it was paid, or nothing"),
    arrears=number("How much rent the tenant still owes"),
)
REPAIR = record(
    id=number("The repair's number", "integer"),
    problem=text("What is wrong"),
    flat=text("The flat's address"),
    urgency=URGENCY,
    reported=text("When it was reported (YYYY-MM-DD)"),
    contractor=text("Who does the work, or nothing"),
    visit=text("When the contractor comes (YYYY-MM-DD), or nothing"),
    cost=number("What the work cost; 0 when it is not known"),
    state=STAGE,
)
VIEWING = record(
    id=number("The viewing's number", "integer"),
    applicant=text("Who comes to see the flat"),
    flat=text("The flat's address"),
    date=text("The day (YYYY-MM-DD)"),
    time=text("The time (HH:MM)"),
    agent=AGENT,
    state=SHOWN,
)
WHICH_FLAT = {
    "id": number("The flat's number", "integer", minimum=1),
    "address": text("The flat's address, or a part of it"),
}
WHICH_TENANT = {
    "id": number("The tenant's number", "integer", minimum=1),
    "name": text("The tenant's name, or a part of it"),
}
WHICH_LEASE = {
    "id": number("The lease's number", "integer", minimum=1),
    "tenant": text("The name of the tenant who has the lease, or a part of it"),
}
WHICH_REPAIR = {
    "id": number("The repair's number", "integer", minimum=1),
    "problem": text(
        "What is wrong, or words from it, together with the flat's address when several are alike"
    ),
}
WHICH_VIEWING = {
    "id": number("The viewing's number", "integer", minimum=1),
    "applicant": text("The name of the person who comes to see the flat, or a part of it"),
}
OF_FLAT = "number or address, or a part of the address"
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
ALL_FLATS = "SELECT * FROM flats ORDER BY id"
ALL_TENANTS = """SELECT t.id, t.name, t.phone, COALESCE((SELECT f.address FROM leases l JOIN flats f ON f.id = l.flat
    WHERE l.tenant = t.id AND l.state <> 'ended' ORDER BY l.start LIMIT 1), '') AS flat, t.arrears FROM tenants t ORDER BY t.id"""
ALL_LEASES = """SELECT l.id, t.name AS tenant, f.address AS flat, l.start, l.end, l.rent, l.state
    FROM leases l JOIN tenants t ON t.id = l.tenant JOIN flats f ON f.id = l.flat ORDER BY l.id"""
ALL_REPAIRS = """SELECT r.id, r.problem, f.address AS flat, r.urgency, r.reported, r.contractor, r.visit, r.cost, r.state
    FROM repairs r JOIN flats f ON f.id = r.flat ORDER BY r.id"""
ALL_VIEWINGS = """SELECT v.id, v.applicant, f.address AS flat, v.date, v.time, v.agent, v.state
    FROM viewings v JOIN flats f ON f.id = v.flat ORDER BY v.date, v.time, v.id"""


def fits(words, whole):
    """Whether all words are in a text; a house number only as a whole."""
    parts = whole.casefold().replace(",", " ").split()
    return all(
        word in parts if word[0].isdecimal() else any(word in part for part in parts)
        for word in words.casefold().replace(",", " ").split()
    )


def pick(kind, rows, label, id=None, words=None, current=()):
    """The row that a number or words mean. Words mean what is still going on (`current` states) before what is over."""
    if id is None and not words:
        raise ToolError("field_required", f"id or {label}")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        found = [row for row in rows if row[label].casefold() == words.casefold()]
        found = found or [row for row in rows if fits(words, row[label])]
        found = found or [row for row in rows if fits(words, f"{row[label]} {row.get('flat', '')}")]
        found = [row for row in found if row.get("state") in current] or found
    if not found:
        raise ToolError(
            "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
        )
    if len(found) > 1:
        names = ", ".join(
            f'{row["id"]} "{row[label]}{", " + row["flat"] if row.get("flat") else ""}"' for row in found
        )
        raise ToolError("ambiguous", f"{kind} {json.dumps(words, ensure_ascii=False)} may be {names}")
    return found[0]


def which_flat(id=None, address=None):
    return pick("flat", app.rows(ALL_FLATS), "address", id, address)


def which_tenant(id=None, name=None):
    return pick("tenant", app.rows(ALL_TENANTS), "name", id, name)


def which_lease(id=None, tenant=None):
    return pick("lease", app.rows(ALL_LEASES), "tenant", id, tenant, ("running", "notice_given"))


def which_repair(id=None, problem=None):
    return pick("repair", app.rows(ALL_REPAIRS), "problem", id, problem, ("open", "assigned"))


def which_viewing(id=None, applicant=None):
    return pick("viewing", app.rows(ALL_VIEWINGS), "applicant", id, applicant, ("planned",))


def flat_said(flat):
    """The flat that a text means: its number or its address."""
    return which_flat(int(flat), None) if flat.isdecimal() else which_flat(None, flat)


def at(flat, row):
    """Whether a row belongs to the flat that is asked for by number or by address."""
    if flat is None or not flat.isdecimal():
        return flat is None or fits(flat, row["flat"])
    return row["flat"] == which_flat(int(flat))["address"]


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def several(name, rows):
    return {name: rows, "count": len(rows)}


def equal(row, **asked):
    return all(value in (None, row[name]) for name, value in asked.items())


@app.tool(
    "read",
    "Lists the flats that the agency looks after, optionally only vacant ones, in one district, with so many bedrooms or up to a rent.",
    {
        "status": STATUS,
        "district": DISTRICT,
        "bedrooms": number("Only flats with this many bedrooms; 0 for studios", "integer", minimum=0),
        "max_rent": number("Only flats that cost at most this a month", minimum=0),
    },
    many("flats", FLAT),
)
def list_flats(status=None, district=None, bedrooms=None, max_rent=None):
    return several(
        "flats",
        [
            row
            for row in app.rows(ALL_FLATS)
            if equal(row, status=status, district=district, bedrooms=bedrooms)
            and (max_rent is None or row["rent"] <= max_rent)
        ],
    )


@app.tool(
    "read",
    "Shows one flat with district, bedrooms, monthly rent and whether it is vacant, by its number or by its address.",
    WHICH_FLAT,
    FLAT,
)
def get_flat(id=None, address=None):
    return which_flat(id, address)


@app.tool(
    "read",
    "Lists tenants with phone number, the flat they live in and the rent they owe. Can show only those in arrears (behind with the rent).",
    {
        "name": text("Only tenants with this name, or a part of it"),
        "flat": text(f"Only who lives in this flat: {OF_FLAT}"),
        "in_arrears": {"type": "boolean", "description": "Only tenants who owe rent"},
    },
    many("tenants", TENANT),
)
def list_tenants(name=None, flat=None, in_arrears=None):
    return several(
        "tenants",
        [
            row
            for row in app.rows(ALL_TENANTS)
            if has(name, row["name"]) and at(flat, row) and in_arrears in (None, row["arrears"] > 0)
        ],
    )


@app.tool(
    "add",
    "Records a rent payment that came in from a tenant, by the tenant's number or name. What the tenant owes goes down by it.",
    {
        **WHICH_TENANT,
        "amount!": number("How much was paid", minimum=0),
        "date": day("When it was paid, as YYYY-MM-DD; today when nothing is said"),
        "method": METHOD,
    },
    PAYMENT,
)
def record_payment(amount, id=None, name=None, date=None, method=""):
    tenant = which_tenant(id, name)
    if amount == 0:
        raise ToolError("field_invalid", "amount must be more than 0")
    date = date or str(app.today())
    made = app.db.execute(
        "INSERT INTO payments (tenant, amount, date, method) VALUES (?, ?, ?, ?)",
        (tenant["id"], amount, date, method),
    ).lastrowid
    app.change("tenants", tenant["id"], arrears=tenant["arrears"] - amount)
    return {
        "id": made,
        "tenant": tenant["name"],
        "amount": amount,
        "date": date,
        "method": method,
        "arrears": tenant["arrears"] - amount,
    }


@app.tool(
    "read",
    "Lists leases (tenancy agreements) with start, end and rent, optionally of one tenant or flat, of one state, or those that run out soon.",
    {
        "tenant": text("Only leases of this tenant: the name or a part of it"),
        "flat": text(f"Only leases of this flat: {OF_FLAT}"),
        "state": TERM,
        "ends_by": day(
            "Only leases that have not ended yet and run out on or before this date, as YYYY-MM-DD"
        ),
    },
    many("leases", LEASE),
)
def list_leases(tenant=None, flat=None, state=None, ends_by=None):
    def runs_out(row):
        return ends_by is None or (row["state"] != "ended" and row["end"] and row["end"] <= ends_by)

    return several(
        "leases",
        [
            row
            for row in app.rows(ALL_LEASES)
            if equal(row, state=state) and has(tenant, row["tenant"]) and at(flat, row) and runs_out(row)
        ],
    )


@app.tool(
    "add",
    "Signs a new lease: lets a flat to a tenant from a day on. A tenant who is not known yet is added.",
    {
        "tenant!": text("The tenant's full name"),
        "flat!": text("The flat: its number or its address"),
        "start!": day("The first day, when the tenant moves in, as YYYY-MM-DD"),
        "end": day("The last day, as YYYY-MM-DD; open-ended when nothing is said"),
        "rent": number("The rent per month; what the flat is offered for when nothing is said", minimum=0),
    },
    LEASE,
)
def sign_lease(tenant, flat, start, end="", rent=None):
    home = flat_said(flat)
    if end and end <= start:
        raise ToolError("field_invalid", "end must be after start")
    taken = [
        row
        for row in app.rows("SELECT end FROM leases WHERE flat = ? AND state <> 'ended'", home["id"])
        if not row["end"] or row["end"] >= start
    ]
    if home["status"] == "off_market" or taken:
        raise ToolError("not_free", f"flat {home['id']} from {start}")
    known = [row for row in app.rows(ALL_TENANTS) if row["name"].casefold() == tenant.casefold()]
    who = (
        known[0]["id"]
        if known
        else app.db.execute("INSERT INTO tenants (name) VALUES (?)", (tenant,)).lastrowid
    )
    app.change("flats", home["id"], status="let")
    return which_lease(
        app.db.execute(
            "INSERT INTO leases (tenant, flat, start, end, rent) VALUES (?, ?, ?, ?, ?)",
            (who, home["id"], start, end, home["rent"] if rent is None else rent),
        ).lastrowid
    )


@app.tool(
    "set",
    "Records that a tenant has given notice and moves out on a date, by the lease's number or the tenant's name. The lease ends on that day.",
    {**WHICH_LEASE, "move_out!": day("When the tenant moves out, as YYYY-MM-DD")},
    LEASE,
)
def give_notice(move_out, id=None, tenant=None):
    lease = which_lease(id, tenant)
    if lease["state"] == "ended":
        raise ToolError("wrong_state", f"lease {lease['id']} is ended")
    if move_out <= lease["start"]:
        raise ToolError("field_invalid", "move_out must be after the start of the lease")
    app.change("leases", lease["id"], state="notice_given", end=move_out)
    return which_lease(lease["id"])


@app.tool(
    "read",
    "Lists repairs (repair requests), optionally open, assigned or done ones, by urgency, for one flat or with one contractor.",
    {
        "state": STAGE,
        "urgency": URGENCY,
        "flat": text(f"Only repairs in this flat: {OF_FLAT}"),
        "contractor": text("Only repairs of this contractor: the name or a part of it"),
    },
    many("repairs", REPAIR),
)
def list_repairs(state=None, urgency=None, flat=None, contractor=None):
    return several(
        "repairs",
        [
            row
            for row in app.rows(ALL_REPAIRS)
            if equal(row, state=state, urgency=urgency)
            and at(flat, row)
            and has(contractor, row["contractor"])
        ],
    )


@app.tool(
    "add",
    "Reports something that is broken in a flat and has to be repaired.",
    {
        "flat!": text("The flat: its number or its address"),
        "problem!": text("What is wrong, such as leaking radiator"),
        "urgency": text("How urgent the repair is; normal when nothing is said", enum=URGENCIES),
    },
    REPAIR,
)
def report_repair(flat, problem, urgency="normal"):
    return which_repair(
        app.db.execute(
            "INSERT INTO repairs (flat, problem, urgency, reported) VALUES (?, ?, ?, ?)",
            (flat_said(flat)["id"], problem, urgency, str(app.today())),
        ).lastrowid
    )


@app.tool(
    "set",
    "Assigns a repair to a contractor (plumber, electrician, builder) who will do the work, by the repair's number or by what is wrong.",
    {
        **WHICH_REPAIR,
        "contractor!": text("The firm or person who does the work"),
        "visit": day("When the contractor comes, as YYYY-MM-DD"),
    },
    REPAIR,
)
def assign_contractor(contractor, id=None, problem=None, visit=None):
    repair = which_repair(id, problem)
    if repair["state"] == "done":
        raise ToolError("wrong_state", f"repair {repair['id']} is done")
    app.change("repairs", repair["id"], state="assigned", contractor=contractor, visit=visit)
    return which_repair(repair["id"])


@app.tool(
    "set",
    "Closes a repair that is done (fixed), with what it cost if that is known, by the repair's number or by what was wrong.",
    {**WHICH_REPAIR, "cost": number("What the work cost", minimum=0)},
    REPAIR,
)
def close_repair(id=None, problem=None, cost=None):
    repair = which_repair(id, problem)
    app.change("repairs", repair["id"], state="done", cost=cost)
    return which_repair(repair["id"])


@app.tool(
    "read",
    "Lists viewings of flats, optionally on one day, of one flat, with one agent, for one applicant, or only planned or cancelled ones.",
    {
        "date": day("Only viewings on this day, as YYYY-MM-DD"),
        "flat": text(f"Only viewings of this flat: {OF_FLAT}"),
        "agent": AGENT,
        "applicant": text("Only viewings of this person: the name or a part of it"),
        "state": SHOWN,
    },
    many("viewings", VIEWING),
)
def list_viewings(date=None, flat=None, agent=None, applicant=None, state=None):
    return several(
        "viewings",
        [
            row
            for row in app.rows(ALL_VIEWINGS)
            if equal(row, date=date, agent=agent, state=state)
            and at(flat, row)
            and has(applicant, row["applicant"])
        ],
    )


@app.tool(
    "add",
    "Arranges a viewing: somebody who looks for a home sees a flat on a day at a time, with one agent or with the first who is free.",
    {
        "flat!": text("The flat: its number or its address"),
        "applicant!": text("The name of the person who comes to see the flat"),
        "date!": day("The day, as YYYY-MM-DD"),
        "time!": text("The time, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "agent": AGENT,
    },
    VIEWING,
)
def arrange_viewing(flat, applicant, date, time, agent=None):
    home = flat_said(flat)
    try:
        if datetime.time.fromisoformat(time).strftime("%H:%M") != time:
            raise ValueError(time)
    except ValueError:
        raise ToolError("field_invalid", "time must be like 14:30") from None
    leaving = app.rows("SELECT id FROM leases WHERE flat = ? AND state = 'notice_given'", home["id"])
    if home["status"] == "off_market" or (home["status"] == "let" and not leaving):
        raise ToolError("not_free", f"flat {home['id']} is {home['status']}")
    busy = [
        row["agent"] for row in app.rows(ALL_VIEWINGS) if equal(row, date=date, time=time, state="planned")
    ]
    free = [who for who in ([agent] if agent else AGENTS) if who not in busy]
    if not free:
        raise ToolError("not_free", f"{agent or 'every agent'} on {date} at {time}")
    return which_viewing(
        app.db.execute(
            "INSERT INTO viewings (flat, applicant, date, time, agent) VALUES (?, ?, ?, ?, ?)",
            (home["id"], applicant, date, time, free[0]),
        ).lastrowid
    )


@app.tool(
    "delete",
    "Cancels a viewing that will not take place, by its number or by the applicant's name.",
    WHICH_VIEWING,
    record(cancelled=VIEWING),
)
def cancel_viewing(id=None, applicant=None):
    viewing = which_viewing(id, applicant)
    app.change("viewings", viewing["id"], state="cancelled")
    return {"cancelled": which_viewing(viewing["id"])}


if __name__ == "__main__":
    app.serve()
