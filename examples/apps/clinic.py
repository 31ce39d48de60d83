"""The desk of a small veterinary clinic behind MCP: `python3 clinic.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

SPECIES = ["dog", "cat", "rabbit", "bird", "reptile"]
PLACES = ["at_home", "in_clinic"]
STATES = ["booked", "checked_in", "completed", "cancelled"]
VETS = ["Osei", "Lindqvist"]
METHODS = ["cash", "card", "transfer"]
TABLES = [
    "CREATE TABLE owners (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, phone TEXT NOT NULL DEFAULT '')",
    """CREATE TABLE patients (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, species TEXT NOT NULL, breed TEXT NOT NULL DEFAULT '',
        weight REAL NOT NULL DEFAULT 0, owner INTEGER NOT NULL REFERENCES owners, status TEXT NOT NULL DEFAULT 'at_home')""",
    """CREATE TABLE appointments (id INTEGER PRIMARY KEY AUTOINCREMENT, patient INTEGER NOT NULL REFERENCES patients, date TEXT NOT NULL,
        time TEXT NOT NULL, vet TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', state TEXT NOT NULL DEFAULT 'booked')""",
    """CREATE TABLE treatments (id INTEGER PRIMARY KEY AUTOINCREMENT, patient INTEGER NOT NULL REFERENCES patients, treatment TEXT NOT NULL,
        date TEXT NOT NULL, next_due TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE invoices (id INTEGER PRIMARY KEY AUTOINCREMENT, patient INTEGER NOT NULL REFERENCES patients, amount REAL NOT NULL,
        due TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open', method TEXT NOT NULL DEFAULT '')""",
]
OWNERS = [
    (1, "Nora Hughes", "555-0101"),
    (2, "Tom Adeyemi", "555-0102"),
    (3, "Sofia Keller", "555-0103"),
    (4, "James Whitfield", "555-0104"),
    (5, "Priya Nair", "555-0105"),
    (6, "Greta Sandberg", "555-0106"),
    (7, "Daniel Rossi", "555-0107"),
]
PATIENTS = [
    (1, "Bella", "dog", "Labrador", 27.4, 1, "at_home"),
    (2, "Rocky", "dog", "Boxer", 31, 2, "at_home"),
    (3, "Luna", "cat", "Siamese", 3.9, 3, "at_home"),
    (4, "Luna", "dog", "Border collie", 17.2, 4, "at_home"),
    (5, "Coco", "rabbit", "Holland lop", 1.8, 1, "at_home"),
    (6, "Max", "dog", "Beagle", 12.5, 5, "at_home"),
    (7, "Oliver", "cat", "Maine Coon", 7.1, 6, "in_clinic"),
    (8, "Pepper", "bird", "African grey", 0.4, 2, "at_home"),
    (9, "Smokey", "cat", "British Shorthair", 5.3, 7, "in_clinic"),
    (10, "Ziggy", "cat", "Bengal", 4.6, 7, "at_home"),
]
APPOINTMENTS = [
    (301, 7, "2026-09-15", "09:00", "Osei", "dental cleaning", "checked_in"),
    (302, 9, "2026-09-15", "09:30", "Lindqvist", "blood test", "checked_in"),
    (303, 1, "2026-09-15", "10:30", "Osei", "booster vaccination", "booked"),
    (304, 2, "2026-09-15", "11:00", "Lindqvist", "limping", "booked"),
    (305, 3, "2026-09-16", "14:00", "Osei", "check-up", "booked"),
    (306, 4, "2026-09-17", "09:00", "Osei", "ear infection", "booked"),
    (307, 5, "2026-09-15", "15:30", "Lindqvist", "nail trim", "booked"),
    (308, 8, "2026-09-16", "10:00", "Lindqvist", "feather loss", "cancelled"),
    (309, 6, "2026-09-21", "10:00", "Osei", "stitches out", "booked"),
    (310, 2, "2026-09-22", "11:00", "Lindqvist", "follow-up x-ray", "booked"),
    (311, 10, "2026-09-11", "16:00", "Osei", "vaccination", "completed"),
]
TREATMENTS = [
    (1, 1, "rabies vaccination", "2025-09-20", "2026-09-20"),
    (2, 2, "distemper vaccination", "2025-09-01", "2026-09-01"),
    (3, 3, "rabies vaccination", "2025-10-05", "2026-10-05"),
    (4, 5, "myxomatosis vaccination", "2025-09-12", "2026-09-12"),
    (5, 6, "deworming", "2026-06-28", "2026-09-28"),
    (6, 7, "flea treatment", "2026-08-18", "2026-09-18"),
    (7, 4, "deworming", "2026-07-01", "2026-10-01"),
    (8, 10, "rabies vaccination", "2026-09-11", "2027-09-11"),
]
INVOICES = [
    (1041, 1, 86.5, "2026-08-24", "open", ""),
    (1042, 2, 240, "2026-09-25", "open", ""),
    (1043, 8, 58, "2026-09-30", "open", ""),
    (1044, 3, 45, "2026-08-31", "paid", "card"),
    (1045, 6, 132, "2026-09-12", "open", ""),
    (1046, 10, 64, "2026-09-25", "open", ""),
    (1047, 4, 75, "2026-09-05", "paid", "transfer"),
]
app = App(
    "clinic",
    "The desk of a small veterinary clinic: patients and their owners, appointments, treatments that fall due, invoices.",
    TABLES,
    [
        ("INSERT INTO owners (id, name, phone) VALUES (?, ?, ?)", OWNERS),
        (
            "INSERT INTO patients (id, name, species, breed, weight, owner, status) VALUES (?, ?, ?, ?, ?, ?, ?)",
            PATIENTS,
        ),
        (
            "INSERT INTO appointments (id, patient, date, time, vet, reason, state) VALUES (?, ?, ?, ?, ?, ?, ?)",
            APPOINTMENTS,
        ),
        (
            "INSERT INTO treatments (id, patient, treatment, date, next_due) VALUES (?, ?, ?, ?, ?)",
            TREATMENTS,
        ),
        (
            "INSERT INTO invoices (id, patient, amount, due, status, method) VALUES (?, ?, ?, ?, ?, ?)",
            INVOICES,
        ),
    ],
)

KIND = text("What kind of animal it is", enum=SPECIES)
PLACE = text("Whether the animal is at home or in the clinic", enum=PLACES)
STATE = text("How far the appointment is", enum=STATES)
VET = text("The vet who sees the animal", enum=VETS)
PAID = text("Whether the invoice is still open or paid", enum=["open", "paid"])
PATIENT = record(
    id=number("The patient's number", "integer"),
    name=text("The animal's name"),
    species=KIND,
    breed=text("The breed, or nothing"),
    weight=number("The weight in kilograms; 0 when it is not known"),
    owner=text("The owner's name"),
    phone=text("The owner's phone number"),
    status=PLACE,
)
APPOINTMENT = record(
    id=number("The appointment's number", "integer"),
    patient=text("The animal's name"),
    owner=text("The owner's name"),
    date=text("The day (YYYY-MM-DD)"),
    time=text("The time (HH:MM)"),
    vet=VET,
    reason=text("Why the animal comes"),
    state=STATE,
)
TREATMENT = record(
    id=number("The treatment's number", "integer"),
    patient=text("The animal's name"),
    species=KIND,
    owner=text("The owner's name"),
    treatment=text("What was done"),
    date=text("When it was done (YYYY-MM-DD)"),
    next_due=text("When it is due again (YYYY-MM-DD), or nothing"),
)
INVOICE = record(
    id=number("The invoice's number", "integer"),
    owner=text("Who has to pay"),
    patient=text("The animal that was treated"),
    amount=number("How much has to be paid"),
    due=text("When it has to be paid (YYYY-MM-DD)"),
    status=PAID,
    method=text("How it was paid, or nothing"),
)
WHICH_PATIENT = {
    "id": number("The patient's number", "integer", minimum=1),
    "name": text("The animal's name, together with the owner's when several animals share it"),
}
WHICH_APPOINTMENT = {
    "id": number("The appointment's number", "integer", minimum=1),
    "patient": text(
        "The name of the animal that has the appointment, together with the owner's when several animals share it"
    ),
}
WHICH_INVOICE = {
    "id": number("The invoice's number", "integer", minimum=1),
    "owner": text("The name of the owner who pays, or a part of it"),
}
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
ALL_PATIENTS = """SELECT p.id, p.name, p.species, p.breed, p.weight, o.name AS owner, o.phone, p.status
    FROM patients p JOIN owners o ON o.id = p.owner ORDER BY p.id"""
ALL_APPOINTMENTS = """SELECT a.id, p.name AS patient, o.name AS owner, a.date, a.time, a.vet, a.reason, a.state
    FROM appointments a JOIN patients p ON p.id = a.patient JOIN owners o ON o.id = p.owner ORDER BY a.date, a.time, a.id"""
ALL_TREATMENTS = """SELECT t.id, p.name AS patient, p.species, o.name AS owner, t.treatment, t.date, t.next_due
    FROM treatments t JOIN patients p ON p.id = t.patient JOIN owners o ON o.id = p.owner ORDER BY t.next_due, t.id"""
ALL_INVOICES = """SELECT i.id, o.name AS owner, p.name AS patient, i.amount, i.due, i.status, i.method
    FROM invoices i JOIN patients p ON p.id = i.patient JOIN owners o ON o.id = p.owner ORDER BY i.id"""


def one(kind, rows, label, about, id=None, words=None):
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
            if all(word in f"{row[label]} {row['owner']}".casefold() for word in said.split())
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


def which_patient(id=None, name=None):
    return one(
        "patient",
        app.rows(ALL_PATIENTS),
        "name",
        lambda row: f"{row['name']}, {row['species']} of {row['owner']}",
        id,
        name,
    )


def which_appointment(id=None, patient=None):
    """By its number any appointment; by the animal's name one that is not over, if there is one."""
    rows = app.rows(ALL_APPOINTMENTS)
    about = lambda row: f"{row['patient']} of {row['owner']}, {row['date']} {row['time']}"
    if id is None and patient:
        try:
            return one(
                "appointment",
                [row for row in rows if row["state"] in ("booked", "checked_in")],
                "patient",
                about,
                None,
                patient,
            )
        except ToolError as error:
            if not str(error).startswith("not_found"):
                raise
    return one("appointment", rows, "patient", about, id, patient)


def which_invoice(id=None, owner=None):
    return one(
        "invoice",
        app.rows(ALL_INVOICES),
        "owner",
        lambda row: f"{row['owner']}, {row['amount']:.2f} for {row['patient']}, {row['status']}",
        id,
        owner,
    )


def patient_said(patient):
    """The patient that a text means: its number or its name."""
    return which_patient(int(patient), None) if patient.isdecimal() else which_patient(None, patient)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def on_the_clock(time):
    try:
        if datetime.time.fromisoformat(time).strftime("%H:%M") != time:
            raise ValueError(time)
    except ValueError:
        raise ToolError("field_invalid", "time must be like 14:30") from None


def is_free(vet, date, time, but=None):
    return not app.rows(
        "SELECT id FROM appointments WHERE vet = ? AND date = ? AND time = ? AND state IN ('booked', 'checked_in') AND id IS NOT ?",
        vet,
        date,
        time,
        but,
    )


@app.tool(
    "read",
    "Lists the patients (animals) of the clinic, optionally of one species, of one owner, or only those that are in the clinic now.",
    {"species": KIND, "owner": text("Only animals of this owner: the name or a part of it"), "status": PLACE},
    many("patients", PATIENT),
)
def list_patients(species=None, owner=None, status=None):
    return several(
        "patients",
        [
            row
            for row in app.rows(ALL_PATIENTS)
            if species in (None, row["species"])
            and status in (None, row["status"])
            and has(owner, row["owner"])
        ],
    )


@app.tool(
    "read",
    "Shows the file of one patient: species, breed, weight, the owner with phone number, and whether it is in the clinic.",
    WHICH_PATIENT,
    PATIENT,
)
def get_patient(id=None, name=None):
    return which_patient(id, name)


@app.tool(
    "add",
    "Registers a new patient (animal) with its owner; an owner who is not known yet is added.",
    {
        "name!": text("The animal's name"),
        "species!": KIND,
        "owner!": text("The owner's full name"),
        "breed": text("The breed"),
        "weight": number("The weight in kilograms", minimum=0),
        "phone": text("The owner's phone number"),
    },
    PATIENT,
)
def register_patient(name, species, owner, breed="", weight=0, phone=""):
    known = [row for row in app.rows("SELECT * FROM owners") if row["name"].casefold() == owner.casefold()]
    if known and any(
        row["name"].casefold() == name.casefold() and row["owner"] == known[0]["name"]
        for row in app.rows(ALL_PATIENTS)
    ):
        raise ToolError("already_exists", f"patient {name!r} of {known[0]['name']}")
    if known and phone:
        app.change("owners", known[0]["id"], phone=phone)
    whose = (
        known[0]["id"]
        if known
        else app.db.execute("INSERT INTO owners (name, phone) VALUES (?, ?)", (owner, phone)).lastrowid
    )
    return which_patient(
        app.db.execute(
            "INSERT INTO patients (name, species, breed, weight, owner) VALUES (?, ?, ?, ?, ?)",
            (name, species, breed, weight, whose),
        ).lastrowid
    )


@app.tool(
    "add",
    "Records a treatment that a patient was given, such as a vaccination, deworming or an injection, and when it is due again.",
    {
        **WHICH_PATIENT,
        "treatment!": text("What was done, such as rabies vaccination"),
        "date": day("When it was done, as YYYY-MM-DD; today when nothing is said"),
        "next_due": day("When it is due again, as YYYY-MM-DD"),
    },
    TREATMENT,
)
def record_treatment(treatment, id=None, name=None, date=None, next_due=None):
    patient, date = which_patient(id, name), date or str(app.today())
    if next_due and next_due <= date:
        raise ToolError("field_invalid", "next_due must be after date")
    made = app.db.execute(
        "INSERT INTO treatments (patient, treatment, date, next_due) VALUES (?, ?, ?, ?)",
        (patient["id"], treatment, date, next_due or ""),
    ).lastrowid
    return next(row for row in app.rows(ALL_TREATMENTS) if row["id"] == made)


@app.tool(
    "read",
    "Lists vaccinations and other treatments that are due or overdue, up to a date, optionally of one treatment or one species.",
    {
        "until": day("What falls due up to this date, as YYYY-MM-DD; today when nothing is said"),
        "treatment": text("Only this treatment, or a word from it, such as rabies"),
        "species": KIND,
    },
    many("treatments", TREATMENT),
)
def list_due_treatments(until=None, treatment=None, species=None):
    until = until or str(app.today())
    return several(
        "treatments",
        [
            row
            for row in app.rows(ALL_TREATMENTS)
            if row["next_due"]
            and row["next_due"] <= until
            and has(treatment, row["treatment"])
            and species in (None, row["species"])
        ],
    )


@app.tool(
    "read",
    "Lists appointments, optionally on one day, with one vet, for one patient or of one state.",
    {
        "date": day("Only appointments on this day, as YYYY-MM-DD"),
        "vet": VET,
        "patient": text("Only appointments of this animal: its name"),
        "state": STATE,
    },
    many("appointments", APPOINTMENT),
)
def list_appointments(date=None, vet=None, patient=None, state=None):
    asked = {"date": date, "vet": vet, "state": state}
    return several(
        "appointments",
        [
            row
            for row in app.rows(ALL_APPOINTMENTS)
            if all(value in (None, row[name]) for name, value in asked.items())
            and has(patient, row["patient"])
        ],
    )


@app.tool(
    "add",
    "Books an appointment for a patient on a day at a time, with one vet or with the first who is free.",
    {
        "patient!": text("The patient: its number or its name"),
        "date!": day("The day, as YYYY-MM-DD"),
        "time!": text("The time, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "vet": VET,
        "reason": text("Why the animal comes, such as check-up"),
    },
    APPOINTMENT,
)
def book_appointment(patient, date, time, vet=None, reason=""):
    animal = patient_said(patient)
    on_the_clock(time)
    free = [who for who in ([vet] if vet else VETS) if is_free(who, date, time)]
    if not free:
        raise ToolError("not_free", f"{vet or 'every vet'} on {date} at {time}")
    return which_appointment(
        app.db.execute(
            "INSERT INTO appointments (patient, date, time, vet, reason) VALUES (?, ?, ?, ?, ?)",
            (animal["id"], date, time, free[0], reason),
        ).lastrowid
    )


@app.tool(
    "set",
    "Reschedules an appointment: moves it to another day, to another time or to another vet.",
    {
        **WHICH_APPOINTMENT,
        "date": day("The new day, as YYYY-MM-DD"),
        "time": text("The new time, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "vet": VET,
    },
    APPOINTMENT,
)
def reschedule_appointment(id=None, patient=None, date=None, time=None, vet=None):
    appointment = which_appointment(id, patient)
    if appointment["state"] != "booked":
        raise ToolError("wrong_state", f"appointment {appointment['id']} is {appointment['state']}")
    if time:
        on_the_clock(time)
    where = vet or appointment["vet"], date or appointment["date"], time or appointment["time"]
    if not is_free(*where, appointment["id"]):
        raise ToolError("not_free", f"{where[0]} on {where[1]} at {where[2]}")
    app.change("appointments", appointment["id"], date=date, time=time, vet=vet)
    return which_appointment(appointment["id"])


@app.tool(
    "delete",
    "Cancels an appointment of a patient that will not come, by its number or by the animal's name.",
    WHICH_APPOINTMENT,
    record(cancelled=APPOINTMENT),
)
def cancel_appointment(id=None, patient=None):
    appointment = which_appointment(id, patient)
    if appointment["state"] not in ("booked", "cancelled"):
        raise ToolError("wrong_state", f"appointment {appointment['id']} is {appointment['state']}")
    app.change("appointments", appointment["id"], state="cancelled")
    return {"cancelled": which_appointment(appointment["id"])}


@app.tool(
    "set",
    "Checks in a patient that has arrived for its appointment, by the appointment's number or by the animal's name.",
    WHICH_APPOINTMENT,
    APPOINTMENT,
)
def check_in_appointment(id=None, patient=None):
    appointment = which_appointment(id, patient)
    if appointment["state"] not in ("booked", "checked_in"):
        raise ToolError("wrong_state", f"appointment {appointment['id']} is {appointment['state']}")
    app.change("appointments", appointment["id"], state="checked_in")
    app.db.execute(
        "UPDATE patients SET status = 'in_clinic' WHERE id = (SELECT patient FROM appointments WHERE id = ?)",
        (appointment["id"],),
    )
    return which_appointment(appointment["id"])


@app.tool(
    "set",
    "Discharges a patient that is in the clinic: it goes home with its owner, and its visit is completed.",
    WHICH_PATIENT,
    PATIENT,
)
def discharge_patient(id=None, name=None):
    patient = which_patient(id, name)
    if patient["status"] != "in_clinic":
        raise ToolError("wrong_state", f"patient {patient['id']} is {patient['status']}")
    app.change("patients", patient["id"], status="at_home")
    app.db.execute(
        "UPDATE appointments SET state = 'completed' WHERE patient = ? AND state = 'checked_in'",
        (patient["id"],),
    )
    return which_patient(patient["id"])


@app.tool(
    "read",
    "Lists invoices (bills), optionally only open or paid ones, only overdue ones, or those of one owner.",
    {
        "status": PAID,
        "overdue": {
            "type": "boolean",
            "description": "Only open invoices that should have been paid before today",
        },
        "owner": text("Only invoices of this owner: the name or a part of it"),
    },
    many("invoices", INVOICE),
)
def list_invoices(status=None, overdue=None, owner=None):
    def late(row):
        return row["status"] == "open" and row["due"] < str(app.today())

    return several(
        "invoices",
        [
            row
            for row in app.rows(ALL_INVOICES)
            if status in (None, row["status"]) and overdue in (None, late(row)) and has(owner, row["owner"])
        ],
    )


@app.tool(
    "set",
    "Settles an invoice (bill) that the owner has paid, by its number or by the owner's name.",
    {**WHICH_INVOICE, "method": text("How it was paid", enum=METHODS)},
    INVOICE,
)
def settle_invoice(id=None, owner=None, method=None):
    invoice = which_invoice(id, owner)
    app.change("invoices", invoice["id"], status="paid", method=method)
    return which_invoice(invoice["id"])


if __name__ == "__main__":
    app.serve()
