"""The office of a small building contractor behind MCP: `python3 builds.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

STATUSES = ["planned", "active", "on_hold", "completed"]
TRADES = [
    "groundworker",
    "bricklayer",
    "roofer",
    "carpenter",
    "electrician",
    "plumber",
    "plasterer",
    "tiler",
    "painter",
]
STATES = ["scheduled", "under_way", "signed_off"]
DELIVERY = ["ordered", "delivered", "cancelled"]
CONDITIONS = ["complete", "short", "damaged"]
SEVERITIES = ["cosmetic", "minor", "serious"]
SMALL = {"a", "an", "the", "at", "on", "in", "for", "of", "from"}
TABLES = [
    """CREATE TABLE sites (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, address TEXT NOT NULL, client TEXT NOT NULL,
        foreman TEXT NOT NULL, status TEXT NOT NULL)""",
    "CREATE TABLE subcontractors (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, trade TEXT NOT NULL, phone TEXT NOT NULL, day_rate REAL NOT NULL)",
    """CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, site INTEGER NOT NULL REFERENCES sites, trade TEXT NOT NULL DEFAULT '',
        subcontractor INTEGER REFERENCES subcontractors, start TEXT NOT NULL, finish TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'scheduled')""",
    """CREATE TABLE deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT, material TEXT NOT NULL, quantity TEXT NOT NULL, supplier TEXT NOT NULL DEFAULT '',
        site INTEGER NOT NULL REFERENCES sites, date TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'ordered', condition TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE snags (id INTEGER PRIMARY KEY AUTOINCREMENT, description TEXT NOT NULL, site INTEGER NOT NULL REFERENCES sites,
        location TEXT NOT NULL DEFAULT '', severity TEXT NOT NULL DEFAULT 'minor', trade TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'open')""",
]
SITES = [
    (1, "Mill Lane extension", "4 Mill Lane", "Rachel Thornton", "Dave Pritchard", "active"),
    (2, "Harbour Road flats", "70 Harbour Road", "Seaview Homes", "Mick Doyle", "active"),
    (3, "Old Bakery conversion", "1 Church Square", "Anil Desai", "Dave Pritchard", "on_hold"),
    (4, "Elm Street loft", "12 Elm Street", "Joy Okafor", "Mick Doyle", "active"),
    (5, "Elm Street porch", "31 Elm Street", "Liam Brennan", "Sue Harding", "planned"),
    (6, "Station Road garage", "9 Station Road", "Claire Whitmore", "Sue Harding", "completed"),
    (7, "Vicarage barn", "Vicarage Farm, Church Lane", "Hugh Pemberton", "Sue Harding", "active"),
]
SUBCONTRACTORS = [
    (1, "Kowalski Electrical", "electrician", "555-0141", 260),
    (2, "Brightwire", "electrician", "555-0142", 245),
    (3, "Hollis Plumbing", "plumber", "555-0143", 250),
    (4, "Tanner & Sons", "roofer", "555-0144", 270),
    (5, "Greaves Brickwork", "bricklayer", "555-0145", 235),
    (6, "Nolan Plastering", "plasterer", "555-0146", 220),
    (7, "Ferris Carpentry", "carpenter", "555-0147", 240),
    (8, "Ferris Decorating", "painter", "555-0148", 190),
    (9, "Adeola Tiling", "tiler", "555-0149", 215),
    (10, "Marsh Groundworks", "groundworker", "555-0150", 300),
]
JOBS = [
    (201, "Foundations", 7, "groundworker", 10, "2026-04-13", "2026-04-17", "under_way"),
    (202, "Blockwork", 1, "bricklayer", 5, "2026-04-06", "2026-04-16", "under_way"),
    (203, "Roof tiling", 4, "roofer", 4, "2026-04-14", "2026-04-22", "under_way"),
    (204, "First-fix wiring", 1, "electrician", 1, "2026-04-20", "2026-04-23", "scheduled"),
    (205, "First-fix wiring", 4, "electrician", 2, "2026-04-27", "2026-04-29", "scheduled"),
    (206, "Bathroom plumbing", 2, "plumber", 3, "2026-04-08", "2026-04-17", "under_way"),
    (207, "Stairwell plastering", 2, "plasterer", 6, "2026-04-21", "2026-04-28", "scheduled"),
    (208, "Kitchen fitting", 2, "carpenter", 7, "2026-05-04", "2026-05-08", "scheduled"),
    (209, "Lobby painting", 2, "painter", 8, "2026-05-11", "2026-05-14", "scheduled"),
    (210, "Flat roof felting", 6, "roofer", 4, "2026-03-02", "2026-03-06", "signed_off"),
    (211, "Bathroom tiling", 2, "tiler", None, "2026-04-29", "2026-05-01", "scheduled"),
    (212, "Porch brickwork", 5, "bricklayer", None, "2026-05-05", "2026-05-07", "scheduled"),
]
DELIVERIES = [
    (501, "Facing bricks", "2000", "Jewell Merchants", 1, "2026-04-16", "ordered", ""),
    (502, "Roof slates", "1200", "Northway Roofing Supplies", 4, "2026-04-16", "ordered", ""),
    (503, "Ready-mix concrete", "6 cubic metres", "Ready-Mix Direct", 7, "2026-04-17", "ordered", ""),
    (504, "Plasterboard", "80 sheets", "Jewell Merchants", 2, "2026-04-20", "ordered", ""),
    (505, "Plasterboard", "30 sheets", "Jewell Merchants", 1, "2026-04-27", "ordered", ""),
    (506, "Bathroom tiles", "45 square metres", "Tile Depot", 2, "2026-04-24", "ordered", ""),
    (507, "Roof trusses", "14", "Castle Timber", 4, "2026-04-09", "delivered", "complete"),
    (508, "Oak beams", "6", "Castle Timber", 3, "2026-04-13", "ordered", ""),
    (509, "Copper pipe", "60 metres", "Jewell Merchants", 2, "2026-04-10", "delivered", "short"),
    (510, "Scaffold boards", "40", "Castle Timber", 7, "2026-04-02", "cancelled", ""),
    (511, "Guttering", "24 metres", "Northway Roofing Supplies", 7, "2026-04-14", "ordered", ""),
]
SNAGS = [
    (31, "Leaking shower tray", 2, "flat 3", "serious", "plumber", "open"),
    (32, "Cracked window pane", 2, "flat 5", "minor", "carpenter", "open"),
    (33, "Sticking front door", 6, "hall", "minor", "carpenter", "open"),
    (34, "Paint runs on skirting", 6, "utility room", "cosmetic", "painter", "open"),
    (35, "Loose handrail", 4, "stairs", "serious", "carpenter", "open"),
    (36, "Dripping gutter", 6, "north side", "minor", "roofer", "closed"),
    (37, "Sticking patio door", 1, "dining room", "minor", "carpenter", "open"),
    (38, "Missing socket cover", 2, "flat 1", "cosmetic", "electrician", "closed"),
]
app = App(
    "builds",
    "The office of a small building contractor: sites, jobs and the subcontractors who do them, deliveries of materials, snags.",
    TABLES,
    [
        ("INSERT INTO sites (id, name, address, client, foreman, status) VALUES (?, ?, ?, ?, ?, ?)", SITES),
        (
            "INSERT INTO subcontractors (id, name, trade, phone, day_rate) VALUES (?, ?, ?, ?, ?)",
            SUBCONTRACTORS,
        ),
        (
            "INSERT INTO jobs (id, title, site, trade, subcontractor, start, finish, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            JOBS,
        ),
        (
            "INSERT INTO deliveries (id, material, quantity, supplier, site, date, status, condition) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            DELIVERIES,
        ),
        (
            "INSERT INTO snags (id, description, site, location, severity, trade, status) VALUES (?, ?, ?, ?, ?, ?, ?)",
            SNAGS,
        ),
    ],
)

STATUS = text("How far the site is", enum=STATUSES)
TRADE = text("The trade that does the work", enum=TRADES)
STATE = text("How far the job is", enum=STATES)
ARRIVED = text("Whether the delivery is still on order, delivered or cancelled", enum=DELIVERY)
SEVERITY = text("How bad the snag is", enum=SEVERITIES)
OPEN = text("Whether the snag still has to be put right", enum=["open", "closed"])
SITE = record(
    id=number("The site's number", "integer"),
    name=text("What the site is called"),
    address=text("Where it is"),
    client=text("Who we build for"),
    foreman=text("Who runs the site"),
    status=STATUS,
)
SUBCONTRACTOR = record(
    id=number("The subcontractor's number", "integer"),
    name=text("The firm's name"),
    trade=TRADE,
    phone=text("The phone number"),
    day_rate=number("What a day costs"),
)
JOB = record(
    id=number("The job's number", "integer"),
    title=text("What the work is"),
    site=text("The site's name"),
    trade=text("The trade that does the work, or nothing"),
    subcontractor=text("The firm that does the work, or nothing when nobody is on it yet"),
    start=text("The first day (YYYY-MM-DD)"),
    finish=text("The last day (YYYY-MM-DD)"),
    state=STATE,
)
DROP = record(
    id=number("The delivery's number", "integer"),
    material=text("What is delivered"),
    quantity=text("How much of it"),
    supplier=text("Who supplies it, or nothing"),
    site=text("The site's name"),
    date=text("The day it is due (YYYY-MM-DD)"),
    status=ARRIVED,
    condition=text("How the goods arrived, or nothing"),
)
SNAG = record(
    id=number("The snag's number", "integer"),
    description=text("What is wrong"),
    site=text("The site's name"),
    location=text("Where on the site, or nothing"),
    severity=SEVERITY,
    trade=text("The trade that has to put it right, or nothing"),
    status=OPEN,
)
WHICH_SITE = {
    "id": number("The site's number", "integer", minimum=1),
    "name": text("What the site is called, or words from it or from its address"),
}
WHICH_JOB = {
    "id": number("The job's number", "integer", minimum=1),
    "title": text(
        "What the work is, or words from it, together with the site's name when several jobs share it"
    ),
}
WHICH_DELIVERY = {
    "id": number("The delivery's number", "integer", minimum=1),
    "material": text("What is delivered, together with the site's name when several deliveries share it"),
}
WHICH_SNAG = {
    "id": number("The snag's number", "integer", minimum=1),
    "description": text(
        "What is wrong, or words from it, together with the site's name when several snags share it"
    ),
}
AT_SITE = text("The site: its number or its name")
ONLY_SITE = text("Only at this site: its number or its name")
ALL_SITES = "SELECT * FROM sites ORDER BY id"
ALL_SUBCONTRACTORS = "SELECT * FROM subcontractors ORDER BY id"
ALL_JOBS = """SELECT j.id, j.title, s.name AS site, j.trade, COALESCE(c.name, '') AS subcontractor, j.start, j.finish, j.state
    FROM jobs j JOIN sites s ON s.id = j.site LEFT JOIN subcontractors c ON c.id = j.subcontractor ORDER BY j.start, j.id"""
ALL_DELIVERIES = """SELECT d.id, d.material, d.quantity, d.supplier, s.name AS site, d.date, d.status, d.condition
    FROM deliveries d JOIN sites s ON s.id = d.site ORDER BY d.date, d.id"""
ALL_SNAGS = """SELECT n.id, n.description, s.name AS site, n.location, n.severity, n.trade, n.status
    FROM snags n JOIN sites s ON s.id = n.site ORDER BY n.id"""


def has(part, *wholes):
    """Whether every word of a part is found in what is said about a thing; small words do not count."""
    if part is None:
        return True
    whole, words = " ".join(wholes).casefold(), part.casefold().split()
    return all(word in whole for word in [word for word in words if word not in SMALL] or words)


def one(kind, rows, label, others, id=None, words=None, fresh=None):
    """The row that an id or words mean. Of several that words mean, those that are still to be dealt with (`fresh`) come first."""
    if id is None and not words:
        raise ToolError("field_required", f"id or {label}")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        found = [row for row in rows if row[label].casefold() == words.casefold()]
        found = found or [row for row in rows if has(words, row[label], *(row[other] for other in others))]
        if fresh:
            found = [row for row in found if fresh(row)] or found
    if not found:
        raise ToolError(
            "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
        )
    if len(found) > 1:
        names = ", ".join(
            f'{row["id"]} "{", ".join(row[name] for name in [label, *others] if row[name])}"' for row in found
        )
        raise ToolError("ambiguous", f"{kind} {json.dumps(words, ensure_ascii=False)} may be {names}")
    return found[0]


def which_site(id=None, name=None):
    return one("site", app.rows(ALL_SITES), "name", ["address"], id, name)


def which_job(id=None, title=None):
    return one(
        "job", app.rows(ALL_JOBS), "title", ["site"], id, title, lambda row: row["state"] != "signed_off"
    )


def which_delivery(id=None, material=None):
    return one(
        "delivery",
        app.rows(ALL_DELIVERIES),
        "material",
        ["site"],
        id,
        material,
        lambda row: row["status"] == "ordered",
    )


def which_snag(id=None, description=None):
    return one(
        "snag",
        app.rows(ALL_SNAGS),
        "description",
        ["location", "site"],
        id,
        description,
        lambda row: row["status"] == "open",
    )


def site_said(site):
    """The site that a text means: its number or its name."""
    return which_site(int(site)) if site.isdecimal() else which_site(None, site)


def subcontractor_said(name):
    rows = app.rows(ALL_SUBCONTRACTORS)
    return (
        one("subcontractor", rows, "name", ["trade"], int(name))
        if name.isdecimal()
        else one("subcontractor", rows, "name", [], None, name)
    )


def at(site, row):
    """Whether a row is at a site that words may mean; words may mean several sites."""
    if site is None:
        return True
    if site.isdecimal():
        return row["site"] == which_site(int(site))["name"]
    return row["site"] in [
        place["name"] for place in app.rows(ALL_SITES) if has(site, place["name"], place["address"])
    ]


def several(name, rows):
    return {name: rows, "count": len(rows)}


def in_order(start, finish):
    if finish < start:
        raise ToolError("field_invalid", "finish must not be before start")


@app.tool(
    "read",
    "Lists the building sites with address, client, foreman and status, optionally of one status, for one client or under one foreman.",
    {
        "status": STATUS,
        "client": text("Only sites of this client: the name or a part of it"),
        "foreman": text("Only sites that this foreman runs: the name or a part of it"),
    },
    many("sites", SITE),
)
def list_sites(status=None, client=None, foreman=None):
    return several(
        "sites",
        [
            row
            for row in app.rows(ALL_SITES)
            if status in (None, row["status"]) and has(client, row["client"]) and has(foreman, row["foreman"])
        ],
    )


@app.tool(
    "read",
    "Shows one building site with its address, client, foreman and status, by its number or by its name.",
    WHICH_SITE,
    SITE,
)
def get_site(id=None, name=None):
    return which_site(id, name)


@app.tool(
    "read",
    "Finds subcontractors (firms that work for us) with phone number and day rate, by trade or by name; all of them when nothing is said.",
    {"trade": TRADE, "name": text("The firm's name, or a part of it")},
    many("subcontractors", SUBCONTRACTOR),
)
def find_subcontractors(trade=None, name=None):
    return several(
        "subcontractors",
        [
            row
            for row in app.rows(ALL_SUBCONTRACTORS)
            if trade in (None, row["trade"]) and has(name, row["name"])
        ],
    )


@app.tool(
    "read",
    "Lists jobs (pieces of work on a site), optionally at one site, of one trade, of one subcontractor, of one state or going on on one day.",
    {
        "title": text("Only jobs with these words in what the work is"),
        "site": ONLY_SITE,
        "trade": TRADE,
        "subcontractor": text("Only jobs of this firm: its name or a part of it"),
        "state": STATE,
        "date": day("Only jobs that are worked on on this day, as YYYY-MM-DD"),
        "unassigned": {"type": "boolean", "description": "Only jobs that no subcontractor is on yet"},
    },
    many("jobs", JOB),
)
def list_jobs(title=None, site=None, trade=None, subcontractor=None, state=None, date=None, unassigned=None):
    return several(
        "jobs",
        [
            row
            for row in app.rows(ALL_JOBS)
            if has(title, row["title"])
            and at(site, row)
            and trade in (None, row["trade"])
            and has(subcontractor, row["subcontractor"])
            and state in (None, row["state"])
            and (date is None or row["start"] <= date <= row["finish"])
            and unassigned in (None, not row["subcontractor"])
        ],
    )


@app.tool(
    "add",
    "Schedules a new job on a site: what the work is, from which day to which, and which subcontractor does it if that is known.",
    {
        "title!": text("What the work is, such as second-fix wiring"),
        "site!": AT_SITE,
        "start!": day("The first day, as YYYY-MM-DD"),
        "finish": day("The last day, as YYYY-MM-DD; the first day when nothing is said"),
        "trade": TRADE,
        "subcontractor": text("The firm that does the work: its name"),
    },
    JOB,
)
def schedule_job(title, site, start, finish=None, trade=None, subcontractor=None):
    place, firm = site_said(site), subcontractor_said(subcontractor) if subcontractor else None
    in_order(start, finish or start)
    return which_job(
        app.db.execute(
            "INSERT INTO jobs (title, site, trade, subcontractor, start, finish) VALUES (?, ?, ?, ?, ?, ?)",
            (
                title,
                place["id"],
                trade or (firm["trade"] if firm else ""),
                firm["id"] if firm else None,
                start,
                finish or start,
            ),
        ).lastrowid
    )


@app.tool(
    "set",
    "Rearranges a job that is not signed off: moves its first or last day, or puts another subcontractor on it. A new first day moves the last day along unless that is given too.",
    {
        **WHICH_JOB,
        "start": day("The new first day, as YYYY-MM-DD"),
        "finish": day("The new last day, as YYYY-MM-DD"),
        "subcontractor": text("The firm that is to do the work: its name"),
    },
    JOB,
)
def rearrange_job(id=None, title=None, start=None, finish=None, subcontractor=None):
    job = which_job(id, title)
    if job["state"] == "signed_off":
        raise ToolError("wrong_state", f"job {job['id']} is signed_off")
    if start and not finish:
        date = datetime.date.fromisoformat
        finish = str(date(start) + (date(job["finish"]) - date(job["start"])))
    in_order(start or job["start"], finish or job["finish"])
    app.change(
        "jobs",
        job["id"],
        start=start,
        finish=finish,
        subcontractor=subcontractor_said(subcontractor)["id"] if subcontractor else None,
    )
    return which_job(job["id"])


@app.tool(
    "set", "Signs off a job whose work is finished, by its number or by what the work is.", WHICH_JOB, JOB
)
def sign_off_job(id=None, title=None):
    job = which_job(id, title)
    app.change("jobs", job["id"], state="signed_off")
    return which_job(job["id"])


@app.tool(
    "read",
    "Lists deliveries of materials, optionally for one site, from one supplier, of one material, due on one day, of one status, or only late ones.",
    {
        "material": text("Only deliveries of this material, or words from it"),
        "site": ONLY_SITE,
        "supplier": text("Only from this supplier: the name or a part of it"),
        "date": day("Only deliveries that are due on this day, as YYYY-MM-DD"),
        "status": ARRIVED,
        "overdue": {
            "type": "boolean",
            "description": "Only late deliveries: still on order, though they were due before today",
        },
    },
    many("deliveries", DROP),
)
def list_deliveries(material=None, site=None, supplier=None, date=None, status=None, overdue=None):
    def late(row):
        return row["status"] == "ordered" and row["date"] < str(app.today())

    return several(
        "deliveries",
        [
            row
            for row in app.rows(ALL_DELIVERIES)
            if has(material, row["material"])
            and at(site, row)
            and has(supplier, row["supplier"])
            and date in (None, row["date"])
            and status in (None, row["status"])
            and overdue in (None, late(row))
        ],
    )


@app.tool(
    "add",
    "Orders materials to be delivered to a site on a day.",
    {
        "material!": text("What is ordered, such as cement"),
        "quantity!": text("How much of it, with the unit if there is one, such as 40 bags"),
        "site!": AT_SITE,
        "date!": day("The day it has to be there, as YYYY-MM-DD"),
        "supplier": text("Who supplies it"),
    },
    DROP,
)
def order_materials(material, quantity, site, date, supplier=""):
    return which_delivery(
        app.db.execute(
            "INSERT INTO deliveries (material, quantity, supplier, site, date) VALUES (?, ?, ?, ?, ?)",
            (material, quantity, supplier, site_said(site)["id"], date),
        ).lastrowid
    )


@app.tool(
    "set",
    "Books in a delivery of materials that has arrived on site, by its number or by the material.",
    {
        **WHICH_DELIVERY,
        "condition": text(
            "How the goods arrived: complete when nothing is said, short when some are missing, damaged when some are broken",
            enum=CONDITIONS,
        ),
    },
    DROP,
)
def receive_delivery(id=None, material=None, condition=None):
    delivery = which_delivery(id, material)
    if delivery["status"] == "cancelled":
        raise ToolError("wrong_state", f"delivery {delivery['id']} is cancelled")
    app.change(
        "deliveries",
        delivery["id"],
        status="delivered",
        condition=condition or delivery["condition"] or "complete",
    )
    return which_delivery(delivery["id"])


@app.tool(
    "delete",
    "Cancels a delivery of materials that is on order and no longer wanted, by its number or by the material.",
    WHICH_DELIVERY,
    record(cancelled=DROP),
)
def cancel_delivery(id=None, material=None):
    delivery = which_delivery(id, material)
    if delivery["status"] == "delivered":
        raise ToolError("wrong_state", f"delivery {delivery['id']} is delivered")
    app.change("deliveries", delivery["id"], status="cancelled")
    return {"cancelled": which_delivery(delivery["id"])}


@app.tool(
    "read",
    "Lists snags (defects that have to be put right), optionally at one site, of one severity, for one trade, or only open or closed ones.",
    {
        "site": ONLY_SITE,
        "severity": SEVERITY,
        "trade": TRADE,
        "status": OPEN,
        "description": text("Only snags with these words in what is wrong"),
    },
    many("snags", SNAG),
)
def list_snags(site=None, severity=None, trade=None, status=None, description=None):
    asked = {"severity": severity, "trade": trade, "status": status}
    return several(
        "snags",
        [
            row
            for row in app.rows(ALL_SNAGS)
            if at(site, row)
            and all(value in (None, row[name]) for name, value in asked.items())
            and has(description, row["description"])
        ],
    )


@app.tool(
    "add",
    "Reports a snag (defect) that was found on a site and has to be put right.",
    {
        "site!": AT_SITE,
        "description!": text("What is wrong, such as cracked tile"),
        "location": text("Where on the site, such as flat 3 or kitchen"),
        "severity": text("How bad it is; minor when nothing is said", enum=SEVERITIES),
        "trade": text("The trade that has to put it right", enum=TRADES),
    },
    SNAG,
)
def report_snag(site, description, location="", severity="minor", trade=""):
    return which_snag(
        app.db.execute(
            "INSERT INTO snags (description, site, location, severity, trade) VALUES (?, ?, ?, ?, ?)",
            (description, site_said(site)["id"], location, severity, trade),
        ).lastrowid
    )


@app.tool(
    "set",
    "Closes a snag (defect) that has been put right, by its number or by what was wrong.",
    WHICH_SNAG,
    SNAG,
)
def close_snag(id=None, description=None):
    snag = which_snag(id, description)
    app.change("snags", snag["id"], status="closed")
    return which_snag(snag["id"])


if __name__ == "__main__":
    app.serve()
