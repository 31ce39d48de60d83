"""The IT helpdesk of a company behind MCP: `python3 helpdesk.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

CATEGORIES = ["hardware", "software", "network", "printing", "account", "security"]
PRIORITIES = ["low", "normal", "high", "urgent"]
STATUSES = ["open", "pending", "resolved"]
AGENTS = ["Marek", "Lucia", "Tobias"]
TEAMS = ["second_level", "network_team", "security_team", "vendor"]
KINDS = ["laptop", "monitor", "phone", "tablet", "projector", "headset"]
WHERE = ["in_stock", "handed_out", "in_repair", "retired"]
DAYS = {"urgent": 0, "high": 1, "normal": 3, "low": 7}  # until a new ticket is due
TABLES = [
    """CREATE TABLE tickets (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, requester TEXT NOT NULL, category TEXT NOT NULL DEFAULT '',
        priority TEXT NOT NULL DEFAULT 'normal', status TEXT NOT NULL DEFAULT 'open', agent TEXT NOT NULL DEFAULT '', team TEXT NOT NULL DEFAULT 'first_line',
        opened TEXT NOT NULL, due TEXT NOT NULL, solution TEXT NOT NULL DEFAULT '')""",
    "CREATE TABLE replies (id INTEGER PRIMARY KEY AUTOINCREMENT, ticket INTEGER NOT NULL REFERENCES tickets, message TEXT NOT NULL, date TEXT NOT NULL)",
    """CREATE TABLE assets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, kind TEXT NOT NULL, serial TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'in_stock', holder TEXT NOT NULL DEFAULT '', due_back TEXT NOT NULL DEFAULT '')""",
]
TICKETS = [
    (
        4101,
        "VPN drops every few minutes",
        "Hannah Vogel",
        "network",
        "high",
        "open",
        "Marek",
        "2026-03-09",
        "2026-03-10",
        "",
    ),
    (
        4102,
        "Printer on floor 3 jams",
        "Carlos Mendes",
        "printing",
        "normal",
        "open",
        "",
        "2026-03-10",
        "2026-03-13",
        "",
    ),
    (
        4103,
        "Printer in accounting offline",
        "Ingrid Solberg",
        "printing",
        "high",
        "open",
        "Lucia",
        "2026-03-10",
        "2026-03-11",
        "",
    ),
    (
        4104,
        "Locked out of payroll account",
        "Owen Gallagher",
        "account",
        "urgent",
        "open",
        "",
        "2026-03-11",
        "2026-03-11",
        "",
    ),
    (
        4105,
        "Outlook keeps crashing",
        "Femi Balogun",
        "software",
        "normal",
        "open",
        "Tobias",
        "2026-03-06",
        "2026-03-09",
        "",
    ),
    (
        4106,
        "New monitor for home office",
        "Hannah Vogel",
        "hardware",
        "low",
        "pending",
        "Lucia",
        "2026-03-04",
        "2026-03-20",
        "",
    ),
    (
        4107,
        "Docking station not charging",
        "Ruth Castellano",
        "hardware",
        "normal",
        "open",
        "",
        "2026-03-11",
        "2026-03-16",
        "",
    ),
    (
        4108,
        "Excel licence expired",
        "Naveen Rao",
        "software",
        "normal",
        "resolved",
        "Tobias",
        "2026-03-05",
        "2026-03-08",
        "licence renewed",
    ),
    (
        4109,
        "Wifi weak in meeting room Oslo",
        "Petra Lindholm",
        "network",
        "low",
        "open",
        "",
        "2026-03-11",
        "2026-03-18",
        "",
    ),
    (
        4110,
        "Phishing mail from fake courier",
        "Ingrid Solberg",
        "security",
        "urgent",
        "open",
        "Marek",
        "2026-03-11",
        "2026-03-11",
        "",
    ),
    (
        4111,
        "Keyboard missing keys",
        "Samir Haddad",
        "hardware",
        "low",
        "resolved",
        "Lucia",
        "2026-03-02",
        "2026-03-09",
        "keyboard replaced",
    ),
    (
        4112,
        "Shared drive access for intern",
        "Zoe Whitaker",
        "account",
        "normal",
        "pending",
        "Tobias",
        "2026-03-09",
        "2026-03-12",
        "",
    ),
]
REPLIES = [
    (4101, "Which network are you on when it drops?", "2026-03-09"),
    (4106, "The monitor is ordered.", "2026-03-05"),
    (4108, "Your licence is renewed, please restart Excel.", "2026-03-06"),
    (4111, "A new keyboard is on your desk.", "2026-03-04"),
    (4112, "Your manager has to approve this first.", "2026-03-10"),
]
ASSETS = [
    (201, "ThinkPad T14", "laptop", "PF3K91", "handed_out", "Hannah Vogel", ""),
    (202, "ThinkPad X1", "laptop", "PF4A07", "in_stock", "", ""),
    (203, "MacBook Pro 14", "laptop", "C02XQ1", "handed_out", "Owen Gallagher", ""),
    (204, "MacBook Air 13", "laptop", "C02YT8", "in_stock", "", ""),
    (205, "Dell monitor", "monitor", "CN77D2", "in_stock", "", ""),
    (206, "iPhone 15", "phone", "F17LM3", "handed_out", "Petra Lindholm", ""),
    (207, "Pixel 8", "phone", "G8P402", "in_stock", "", ""),
    (208, "iPad Air", "tablet", "DMPV66", "handed_out", "Carlos Mendes", "2026-03-13"),
    (209, "Epson projector", "projector", "X5EP19", "handed_out", "Ruth Castellano", "2026-03-09"),
    (210, "Jabra headset", "headset", "JB0533", "in_repair", "", ""),
    (211, "LG monitor", "monitor", "LG29U4", "handed_out", "Femi Balogun", ""),
    (212, "Galaxy Tab", "tablet", "R52N80", "in_stock", "", ""),
]
app = App(
    "helpdesk",
    "The IT helpdesk of a company: tickets of people who need help, and the devices that are handed out to them.",
    TABLES,
    [
        (
            "INSERT INTO tickets (id, subject, requester, category, priority, status, agent, opened, due, solution) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            TICKETS,
        ),
        ("INSERT INTO replies (ticket, message, date) VALUES (?, ?, ?)", REPLIES),
        (
            "INSERT INTO assets (id, name, kind, serial, status, holder, due_back) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ASSETS,
        ),
    ],
)

CATEGORY = text("What the ticket is about", enum=CATEGORIES)
PRIORITY = text("How pressing the ticket is", enum=PRIORITIES)
STATUS = text(
    "Whether the ticket is open, pending (it waits for an answer, an approval or a delivery) or resolved",
    enum=STATUSES,
)
AGENT = text("The helpdesk agent who works on the ticket", enum=AGENTS)
KIND = text("What kind of device it is", enum=KINDS)
PLACE = text("Whether the device is in stock, handed out to somebody, in repair or retired", enum=WHERE)
FIELDS = dict(
    id=number("The ticket's number", "integer"),
    subject=text("What the ticket is about, in a few words"),
    requester=text("Who needs help"),
    category=text("The category, or nothing"),
    priority=PRIORITY,
    status=STATUS,
    agent=text("The agent who works on it, or nothing"),
    team=text("Who has to solve it", enum=["first_line", *TEAMS]),
    opened=text("When it was opened (YYYY-MM-DD)"),
    due=text("When it should be resolved (YYYY-MM-DD)"),
    solution=text("How it was solved, or nothing"),
)
TICKET = record(**FIELDS)
REPLY = record(
    ticket=number("The ticket's number", "integer"),
    message=text("What was written"),
    date=text("When (YYYY-MM-DD)"),
)
ASSET = record(
    id=number("The asset number on the device's sticker", "integer"),
    name=text("Make and model"),
    kind=KIND,
    serial=text("The serial number"),
    status=PLACE,
    holder=text("Who has the device, or nothing"),
    due_back=text("When a device on loan has to come back (YYYY-MM-DD), or nothing"),
)
WHICH_TICKET = {
    "id": number("The ticket's number", "integer", minimum=1),
    "subject": text("Words from the ticket's subject, or the requester's name"),
}
WHICH_ASSET = {
    "id": number("The asset number on the device's sticker", "integer", minimum=1),
    "name": text(
        "Make and model of the device, or words from it, together with its holder's name if need be"
    ),
}
ALL_TICKETS = "SELECT * FROM tickets ORDER BY id"
ALL_ASSETS = "SELECT * FROM assets ORDER BY id"


def one(kind, rows, label, beside, id=None, words=None):
    """The row that an id or words mean. Words that equal the label win over words that are found in it or in what stands beside it."""
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
                word in " ".join(row[name] for name in (label, *beside)).casefold() for word in said.split()
            )
        ]
    if not found:
        raise ToolError(
            "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
        )
    if len(found) > 1:
        names = ", ".join(f"{row['id']} {json.dumps(row[label], ensure_ascii=False)}" for row in found)
        raise ToolError("ambiguous", f"{kind} {json.dumps(words, ensure_ascii=False)} may be {names}")
    return found[0]


def which_ticket(id=None, subject=None):
    return one("ticket", app.rows(ALL_TICKETS), "subject", ["requester"], id, subject)


def which_asset(id=None, name=None):
    return one("asset", app.rows(ALL_ASSETS), "name", ["kind", "holder"], id, name)


def unresolved(id=None, subject=None):
    ticket = which_ticket(id, subject)
    if ticket["status"] == "resolved":
        raise ToolError("wrong_state", f"ticket {ticket['id']} is resolved")
    return ticket


def several(name, rows):
    return {name: rows, "count": len(rows)}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def fits(row, **asked):
    return all(value in (None, row[name]) for name, value in asked.items())


@app.tool(
    "read",
    "Lists helpdesk tickets, optionally by status, priority, category, agent, requester or a word from the subject. "
    "Can be limited to tickets that are overdue, that nobody is assigned to, or that came in since a date.",
    {
        "status": STATUS,
        "priority": PRIORITY,
        "category": CATEGORY,
        "agent": AGENT,
        "requester": text("Only tickets of this person: the name or a part of it"),
        "about": text("Only tickets with this word in the subject, such as printer"),
        "overdue": {
            "type": "boolean",
            "description": "Only tickets that should have been resolved before today and are not",
        },
        "unassigned": {"type": "boolean", "description": "Only tickets that no agent works on yet"},
        "opened_since": day("Only tickets that were opened on this day or later, as YYYY-MM-DD"),
    },
    many("tickets", TICKET),
)
def list_tickets(
    status=None,
    priority=None,
    category=None,
    agent=None,
    requester=None,
    about=None,
    overdue=None,
    unassigned=None,
    opened_since=None,
):
    def late(row):
        return row["status"] != "resolved" and row["due"] < str(app.today())

    return several(
        "tickets",
        [
            row
            for row in app.rows(ALL_TICKETS)
            if fits(row, status=status, priority=priority, category=category, agent=agent)
            and has(requester, row["requester"])
            and has(about, row["subject"])
            and overdue in (None, late(row))
            and unassigned in (None, not row["agent"])
            and (opened_since or "") <= row["opened"]
        ],
    )


@app.tool(
    "read",
    "Shows one ticket with requester, status, priority, agent, due date and all replies, by its number or by words from its subject.",
    WHICH_TICKET,
    record(**FIELDS, replies={"type": "array", "items": REPLY}),
)
def get_ticket(id=None, subject=None):
    ticket = which_ticket(id, subject)
    return {
        **ticket,
        "replies": app.rows(
            "SELECT ticket, message, date FROM replies WHERE ticket = ? ORDER BY id", ticket["id"]
        ),
    }


@app.tool(
    "add",
    "Opens (logs, raises) a new ticket for a person who needs help. The due date follows from the priority.",
    {
        "subject!": text("What is wrong or wanted, in a few words"),
        "requester!": text("The name of the person who needs help"),
        "category": CATEGORY,
        "priority": text("How pressing the ticket is; normal when nothing is said", enum=PRIORITIES),
    },
    TICKET,
)
def open_ticket(subject, requester, category="", priority="normal"):
    today = app.today()
    return which_ticket(
        app.db.execute(
            "INSERT INTO tickets (subject, requester, category, priority, opened, due) VALUES (?, ?, ?, ?, ?, ?)",
            (
                subject,
                requester,
                category,
                priority,
                str(today),
                str(today + datetime.timedelta(days=DAYS[priority])),
            ),
        ).lastrowid
    )


@app.tool(
    "set",
    "Assigns a ticket to an agent of the helpdesk, who works on it from then on. Also moves it from one agent to another.",
    {**WHICH_TICKET, "agent!": AGENT},
    TICKET,
)
def assign_ticket(agent, id=None, subject=None):
    ticket = unresolved(id, subject)
    app.change("tickets", ticket["id"], agent=agent)
    return which_ticket(ticket["id"])


@app.tool(
    "add",
    "Sends a reply (answer, message) to the requester of a ticket. It is kept with the ticket.",
    {**WHICH_TICKET, "message!": text("What the requester is told")},
    REPLY,
)
def reply_to_ticket(message, id=None, subject=None):
    ticket, today = which_ticket(id, subject), str(app.today())
    app.db.execute(
        "INSERT INTO replies (ticket, message, date) VALUES (?, ?, ?)", (ticket["id"], message, today)
    )
    return {"ticket": ticket["id"], "message": message, "date": today}


@app.tool(
    "set",
    "Sets the priority of a ticket: raises it when something is more pressing, or lowers it when it can wait.",
    {**WHICH_TICKET, "priority!": PRIORITY},
    TICKET,
)
def set_ticket_priority(priority, id=None, subject=None):
    ticket = unresolved(id, subject)
    app.change("tickets", ticket["id"], priority=priority)
    return which_ticket(ticket["id"])


@app.tool(
    "set",
    "Escalates a ticket that the first line cannot solve: passes it on to second level, to a specialist team or to the vendor.",
    {**WHICH_TICKET, "team": text("Who it is passed on to; second level when nothing is said", enum=TEAMS)},
    TICKET,
)
def escalate_ticket(id=None, subject=None, team="second_level"):
    ticket = unresolved(id, subject)
    app.change("tickets", ticket["id"], team=team, status="pending" if team == "vendor" else "open")
    return which_ticket(ticket["id"])


@app.tool(
    "set",
    "Resolves (closes) a ticket whose problem is fixed or whose request is fulfilled, optionally with the solution.",
    {**WHICH_TICKET, "solution": text("How it was solved")},
    TICKET,
)
def resolve_ticket(id=None, subject=None, solution=None):
    ticket = which_ticket(id, subject)
    app.change("tickets", ticket["id"], status="resolved", solution=solution)
    return which_ticket(ticket["id"])


@app.tool(
    "set",
    "Reopens a ticket that was resolved, when the problem has come back or was not really solved.",
    WHICH_TICKET,
    TICKET,
)
def reopen_ticket(id=None, subject=None):
    ticket = which_ticket(id, subject)
    if ticket["status"] != "resolved":
        raise ToolError("wrong_state", f"ticket {ticket['id']} is {ticket['status']}")
    app.change("tickets", ticket["id"], status="open", solution="")
    return which_ticket(ticket["id"])


@app.tool(
    "read",
    "Lists assets (devices, equipment) of the inventory, optionally of one kind, of one status, or those that a person has. "
    "Can be limited to devices on loan that have to come back by a date.",
    {
        "kind": KIND,
        "status": PLACE,
        "holder": text("Only devices that this person has: the name or a part of it"),
        "due_back_by": day(
            "Only devices on loan that have to come back on this day or before, as YYYY-MM-DD"
        ),
    },
    many("assets", ASSET),
)
def list_assets(kind=None, status=None, holder=None, due_back_by=None):
    return several(
        "assets",
        [
            row
            for row in app.rows(ALL_ASSETS)
            if fits(row, kind=kind, status=status)
            and has(holder, row["holder"])
            and (due_back_by is None or "" < row["due_back"] <= due_back_by)
        ],
    )


@app.tool(
    "read",
    "Shows one asset (device) with serial number, status, who has it and when it has to come back, by its asset number or its name.",
    WHICH_ASSET,
    ASSET,
)
def get_asset(id=None, name=None):
    return which_asset(id, name)


@app.tool(
    "set",
    "Hands out (issues, lends) an asset from stock to a person, for good or until a date.",
    {
        **WHICH_ASSET,
        "person!": text("The name of the person who gets the device"),
        "due_back": day("When it has to come back, as YYYY-MM-DD; it is for good when nothing is said"),
    },
    ASSET,
)
def hand_out_asset(person, id=None, name=None, due_back=None):
    asset = which_asset(id, name)
    if asset["status"] != "in_stock" and (asset["status"], asset["holder"]) != ("handed_out", person):
        raise ToolError("wrong_state", f"asset {asset['id']} is {asset['status']}")
    if due_back and due_back < str(app.today()):
        raise ToolError("field_invalid", "due_back must not be in the past")
    app.change("assets", asset["id"], status="handed_out", holder=person, due_back=due_back or "")
    return which_asset(asset["id"])


@app.tool(
    "set",
    "Takes back an asset that its holder has returned. It goes into stock, or to repair when it is damaged.",
    {**WHICH_ASSET, "condition": text("The state in which it came back", enum=["good", "damaged"])},
    ASSET,
)
def take_back_asset(id=None, name=None, condition="good"):
    asset = which_asset(id, name)
    if asset["status"] != "handed_out":
        raise ToolError("wrong_state", f"asset {asset['id']} is {asset['status']}")
    app.change(
        "assets",
        asset["id"],
        status="in_stock" if condition == "good" else "in_repair",
        holder="",
        due_back="",
    )
    return which_asset(asset["id"])


@app.tool(
    "delete",
    "Retires an asset for good: writes off a device that is beyond repair, too old, lost or stolen.",
    WHICH_ASSET,
    record(retired=ASSET),
)
def retire_asset(id=None, name=None):
    asset = which_asset(id, name)
    app.change("assets", asset["id"], status="retired", holder="", due_back="")
    return {"retired": which_asset(asset["id"])}


if __name__ == "__main__":
    app.serve()
