"""Customers behind MCP: `python3 crm.py [--db FILE]`. The options for tests are listed by `--help`."""

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

STAGES = ["lead", "qualified", "proposal", "negotiation", "won", "lost"]
KINDS = ["call", "email", "meeting", "note"]
TABLES = [
    "CREATE TABLE companies (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE COLLATE NOCASE, city TEXT NOT NULL, industry TEXT NOT NULL)",
    """CREATE TABLE contacts (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT NOT NULL, role TEXT NOT NULL,
        company INTEGER REFERENCES companies)""",
    """CREATE TABLE deals (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, company INTEGER NOT NULL REFERENCES companies,
        value REAL NOT NULL, stage TEXT NOT NULL)""",
    """CREATE TABLE activities (id INTEGER PRIMARY KEY AUTOINCREMENT, contact INTEGER NOT NULL REFERENCES contacts ON DELETE CASCADE,
        kind TEXT NOT NULL, summary TEXT NOT NULL, day TEXT NOT NULL)""",
]
COMPANIES = [
    ("Nordwind", "Hamburg", "logistics"),
    ("Acme", "Chicago", "manufacturing"),
    ("Bluebird Foods", "Porto", "food"),
    ("Helios Energy", "Madrid", "energy"),
    ("Kestrel Labs", "Leeds", "software"),
]
CONTACTS = [
    ("Anna Berg", "anna.berg@nordwind.example", "555-0101", "head of purchasing", 1),
    ("Tom Reed", "tom.reed@acme.example", "555-0102", "buyer", 2),
    ("Maria Silva", "maria@bluebird.example", "555-0103", "owner", 3),
    ("Carlos Vega", "carlos.vega@helios.example", "555-0104", "engineer", 4),
    ("Priya Shah", "priya@kestrel.example", "555-0105", "product manager", 5),
    ("Anna Kowalski", "anna.k@kestrel.example", "555-0106", "founder", 5),
    ("John Reed", "john.reed@acme.example", "555-0107", "plant manager", 2),
]
DEALS = [
    ("Nordwind fleet renewal", 1, 48000, "proposal"),
    ("Acme pilot", 2, 12000, "qualified"),
    ("Acme support plan", 2, 9000, "negotiation"),
    ("Bluebird starter", 3, 3500, "won"),
    ("Helios rollout", 4, 75000, "lead"),
    ("Kestrel licences", 5, 21000, "negotiation"),
]
ACTIVITIES = [
    (1, "call", "Asked for a new quote", "2026-02-24"),
    (2, "meeting", "Pilot scope agreed", "2026-02-26"),
    (5, "email", "Sent the price list", "2026-02-27"),
]
app = App(
    "crm",
    "Customers: contacts, companies, deals with their stages, and what was said with whom.",
    TABLES,
    [
        ("INSERT INTO companies (name, city, industry) VALUES (?, ?, ?)", COMPANIES),
        ("INSERT INTO contacts (name, email, phone, role, company) VALUES (?, ?, ?, ?, ?)", CONTACTS),
        ("INSERT INTO deals (title, company, value, stage) VALUES (?, ?, ?, ?)", DEALS),
        ("INSERT INTO activities (contact, kind, summary, day) VALUES (?, ?, ?, ?)", ACTIVITIES),
    ],
)

NUMBER = number("The number", "integer")
COMPANY = record(id=NUMBER, name=text("Its name"), city=text("Where it is"), industry=text("What it does"))
CONTACT = record(
    id=NUMBER,
    name=text("The person's name"),
    email=text("Email"),
    phone=text("Phone"),
    role=text("What the person does there"),
    company=text("The company's name, or nothing"),
)
STAGE = text("How far the deal is", enum=STAGES)
DEAL = record(
    id=NUMBER,
    title=text("What it is called"),
    company=text("The company's name"),
    value=number("What it is worth"),
    stage=STAGE,
)
ACTIVITY = record(
    id=NUMBER,
    contact=text("With whom"),
    kind=text("What it was", enum=KINDS),
    summary=text("What was said"),
    day=text("When (YYYY-MM-DD)"),
)
PERSON = {
    "id": number("The contact's number", "integer", minimum=1),
    "name": text("The person's name, or a part of it"),
}
WHICH_DEAL = {
    "id": number("The deal's number", "integer", minimum=1),
    "title": text("What the deal is called, or words from it"),
}
ALL_COMPANIES = "SELECT * FROM companies ORDER BY name"
ALL_CONTACTS = """SELECT contacts.id, contacts.name, email, phone, role, coalesce(companies.name, '') AS company
    FROM contacts LEFT JOIN companies ON companies.id = company ORDER BY contacts.name"""
ALL_DEALS = """SELECT deals.id, title, companies.name AS company, value, stage FROM deals JOIN companies ON companies.id = company
    ORDER BY deals.id"""


def contact(id=None, name=None):
    return app.one("contact", ALL_CONTACTS, "name", id, name)


def deal(id=None, title=None):
    return app.one("deal", ALL_DEALS, "title", id, title)


def company(name):
    return app.one("company", ALL_COMPANIES, "name", None, name)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def like(words, *values):
    return words is None or all(word in " ".join(values).casefold() for word in words.casefold().split())


@app.tool(
    "read",
    "Finds contacts (people) by name, email, role or company; without any, it lists all of them.",
    {
        "query": text("Words from the name, the email or the role"),
        "company": text("Only people of this company"),
    },
    many("contacts", CONTACT),
)
def find_contacts(query=None, company=None):
    rows = app.rows(ALL_CONTACTS)
    return several(
        "contacts",
        [
            row
            for row in rows
            if like(query, row["name"], row["email"], row["role"], row["company"])
            and like(company, row["company"])
        ],
    )


@app.tool(
    "read",
    "Shows one contact with email, phone, role, company and the activities with this person.",
    PERSON,
    record(contact=CONTACT, activities={"type": "array", "items": ACTIVITY}),
)
def get_contact(id=None, name=None):
    person = contact(id, name)
    done = app.rows(
        "SELECT id, ? AS contact, kind, summary, day FROM activities WHERE contact = ? ORDER BY day DESC, id DESC",
        person["name"],
        person["id"],
    )
    return {"contact": person, "activities": done}


@app.tool(
    "add",
    "Creates a new contact: a person with email, phone, role and the company the person works for.",
    {
        "name!": text("The person's name"),
        "email": text("Email"),
        "phone": text("Phone"),
        "role": text("What the person does"),
        "company": text("The company, which must be known already"),
    },
    CONTACT,
)
def create_contact(name, email="", phone="", role="", company=None):
    place = app.one("company", ALL_COMPANIES, "name", None, company)["id"] if company else None
    made = app.db.execute(
        "INSERT INTO contacts (name, email, phone, role, company) VALUES (?, ?, ?, ?, ?)",
        (name, email, phone, role, place),
    )
    return contact(made.lastrowid)


@app.tool(
    "set",
    "Changes a contact's details: name, email, phone, role, or the company the person works for.",
    {
        **PERSON,
        "new_name": text("The name it gets"),
        "email": text("The new email"),
        "phone": text("The new phone number"),
        "role": text("The new role"),
        "company": text("The company the person moves to"),
    },
    CONTACT,
)
def update_contact(id=None, name=None, new_name=None, email=None, phone=None, role=None, company=None):
    person = contact(id, name)
    place = app.one("company", ALL_COMPANIES, "name", None, company)["id"] if company else None
    app.change("contacts", person["id"], name=new_name, email=email, phone=phone, role=role, company=place)
    return contact(person["id"])


@app.tool(
    "delete",
    "Deletes a contact (a person) and all activities with this person for good.",
    PERSON,
    record(deleted=CONTACT),
)
def delete_contact(id=None, name=None):
    person = contact(id, name)
    app.db.execute("DELETE FROM contacts WHERE id = ?", (person["id"],))
    return {"deleted": person}


@app.tool(
    "read",
    "Lists companies (customers and prospects), optionally only those of one city or industry.",
    {"city": text("Only companies in this city"), "industry": text("Only companies of this industry")},
    many("companies", COMPANY),
)
def list_companies(city=None, industry=None):
    return several(
        "companies",
        [
            row
            for row in app.rows(ALL_COMPANIES)
            if like(city, row["city"]) and like(industry, row["industry"])
        ],
    )


@app.tool(
    "add",
    "Creates a new company (a customer or prospect) with its city and its industry.",
    {"name!": text("Its name"), "city": text("Where it is"), "industry": text("What it does")},
    COMPANY,
)
def create_company(name, city="", industry=""):
    if any(row["name"].casefold() == name.casefold() for row in app.rows(ALL_COMPANIES)):
        raise ToolError("already_exists", f"company {name!r}")
    app.db.execute("INSERT INTO companies (name, city, industry) VALUES (?, ?, ?)", (name, city, industry))
    return company(name)


@app.tool(
    "read",
    "Lists deals of the sales pipeline with value and stage, optionally of one stage or company, or above a value.",
    {
        "stage": STAGE,
        "company": text("Only deals with this company"),
        "min_value": number("Only deals worth at least this"),
    },
    many("deals", DEAL),
)
def list_deals(stage=None, company=None, min_value=None):
    rows = [
        row for row in app.rows(ALL_DEALS) if stage in (None, row["stage"]) and like(company, row["company"])
    ]
    return several("deals", [row for row in rows if min_value is None or row["value"] >= min_value])


@app.tool("read", "Shows one deal of the sales pipeline with its company, value and stage.", WHICH_DEAL, DEAL)
def get_deal(id=None, title=None):
    return deal(id, title)


@app.tool(
    "add",
    "Creates a new deal (a sales opportunity) with a company, worth a value, at a stage of the pipeline.",
    {
        "title!": text("What the deal is called"),
        "company!": text("The company, which must be known already"),
        "value": number("What it is worth", minimum=0),
        "stage": STAGE,
    },
    DEAL,
)
def create_deal(title, company, value=0, stage="lead"):
    place = app.one("company", ALL_COMPANIES, "name", None, company)
    made = app.db.execute(
        "INSERT INTO deals (title, company, value, stage) VALUES (?, ?, ?, ?)",
        (title, place["id"], value, stage),
    )
    return deal(made.lastrowid)


@app.tool(
    "set",
    "Moves a deal to another stage of the sales pipeline, like proposal, won or lost.",
    {**WHICH_DEAL, "stage!": STAGE},
    DEAL,
)
def update_deal_stage(stage, id=None, title=None):
    moved = deal(id, title)
    app.change("deals", moved["id"], stage=stage)
    return deal(moved["id"])


@app.tool(
    "delete",
    "Deletes a deal from the sales pipeline for good, by its number or by what it is called.",
    WHICH_DEAL,
    record(deleted=DEAL),
)
def delete_deal(id=None, title=None):
    gone = deal(id, title)
    app.db.execute("DELETE FROM deals WHERE id = ?", (gone["id"],))
    return {"deleted": gone}


@app.tool(
    "add",
    "Logs an activity with a contact: a call, an email, a meeting or a note, with what was said.",
    {
        "contact!": text("With whom: the person's name"),
        "kind!": text("What it was", enum=KINDS),
        "summary!": text("What was said"),
        "day": day("When it was, as YYYY-MM-DD; today when nothing is said"),
    },
    ACTIVITY,
)
def log_activity(contact, kind, summary, day=None):
    person = app.one("contact", ALL_CONTACTS, "name", None, contact)
    values = (person["id"], kind, summary, day or str(app.today()))
    made = app.db.execute(
        "INSERT INTO activities (contact, kind, summary, day) VALUES (?, ?, ?, ?)", values
    ).lastrowid
    return {"id": made, "contact": person["name"], "kind": kind, "summary": summary, "day": values[3]}


if __name__ == "__main__":
    app.serve()
