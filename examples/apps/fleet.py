"""The vehicles of a small company behind MCP: `python3 fleet.py [--db FILE]`. The options for tests are listed by `--help`."""

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

TABLES = [
    """CREATE TABLE vehicles (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, plate TEXT NOT NULL DEFAULT '', mileage INTEGER NOT NULL DEFAULT 0,
        status TEXT NOT NULL DEFAULT 'available')""",
    """CREATE TABLE trips (id INTEGER PRIMARY KEY AUTOINCREMENT, vehicle INTEGER NOT NULL REFERENCES vehicles ON DELETE CASCADE, driver TEXT NOT NULL,
        began TEXT NOT NULL, until TEXT NOT NULL DEFAULT '', purpose TEXT NOT NULL DEFAULT '', over INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE repairs (id INTEGER PRIMARY KEY AUTOINCREMENT, vehicle INTEGER NOT NULL REFERENCES vehicles ON DELETE CASCADE, what TEXT NOT NULL,
        cost REAL NOT NULL DEFAULT 0, state TEXT NOT NULL DEFAULT 'open')""",
]
VEHICLES = [
    ("Blue Transit van", "KX-4471", 84200, "in_use"),
    ("White Transit van", "KX-4490", 90150, "in_use"),
    ("Red Fiat Panda", "PN-0313", 132700, "in_repair"),
    ("Silver Skoda Octavia", "OC-2208", 61040, "in_use"),
    ("Electric Kangoo", "EK-7015", 18600, "available"),
    ("Tipper truck", "TT-9002", 207300, "in_repair"),
    ("Old Land Rover", "LR-1987", 170850, "available"),
    ("Vespa scooter", "VS-0050", 9320, "available"),
]
TRIPS = [
    (1, "Petra", "2026-05-12", "2026-05-14", "furniture delivery", 0),
    (2, "Jonas", "2026-05-13", "2026-05-13", "builders' merchant", 0),
    (4, "Tomas", "2026-05-11", "2026-05-15", "customer visits", 0),
    (7, "Lena", "2026-05-04", "2026-05-06", "site survey", 1),
]
REPAIRS = [
    (3, "Broken clutch", 640, "open"),
    (6, "Hydraulic leak", 0, "open"),
    (1, "Cracked windscreen", 280, "done"),
    (4, "Worn brake pads", 190, "open"),
    (2, "Jammed rear door", 120, "done"),
]
ADD_TRIP = "INSERT INTO trips (vehicle, driver, began, until, purpose, over) VALUES (?, ?, ?, ?, ?, ?)"
ADD_REPAIR = "INSERT INTO repairs (vehicle, what, cost, state) VALUES (?, ?, ?, ?)"
app = App(
    "fleet",
    "The company's vehicles: who has which of them until when, how far they have gone, and what is being repaired.",
    TABLES,
    [
        ("INSERT INTO vehicles (name, plate, mileage, status) VALUES (?, ?, ?, ?)", VEHICLES),
        (ADD_TRIP, TRIPS),
        (ADD_REPAIR, REPAIRS),
    ],
)

STATUS = text(
    "available, in use (somebody is out with it) or in repair (it is in the workshop)",
    enum=["available", "in_use", "in_repair"],
)
STATE = text("open or done", enum=["open", "done"])
VEHICLE = record(
    id=number("The vehicle's number", "integer"),
    name=text("What it is called"),
    plate=text("Its number plate, or nothing"),
    mileage=number("What its odometer shows, in kilometres", "integer"),
    status=STATUS,
    driver=text("Who has it now, or nothing"),
    until=text("When it is due back (YYYY-MM-DD), or nothing"),
)
TRIP = record(
    id=number("The trip's number", "integer"),
    driver=text("Who took the vehicle"),
    began=text("When the trip began (YYYY-MM-DD)"),
    until=text("When the vehicle is due back (YYYY-MM-DD), or nothing"),
    purpose=text("What the trip is for, or nothing"),
)
REPAIR = record(
    id=number("The repair's number", "integer"),
    what=text("What is to be repaired"),
    vehicle=text("The vehicle's name"),
    cost=number("What it costs, 0 when not known"),
    state=STATE,
)
WHICH = {
    "id": number("The vehicle's number", "integer", minimum=1),
    "name": text("What it is called, or words from it, when the number is not known"),
}
WHICH_REPAIR = {
    "id": number("The repair's number", "integer", minimum=1),
    "what": text("What is repaired, or words from it, when the number is not known"),
}
MILEAGE = number("What the odometer shows, in kilometres", "integer", minimum=0)
ALL = """SELECT vehicles.id, name, plate, mileage, status, coalesce(driver, '') AS driver, coalesce(until, '') AS until
    FROM vehicles LEFT JOIN trips ON vehicle = vehicles.id AND NOT over ORDER BY vehicles.id"""
ALL_REPAIRS = """SELECT repairs.id, what, name AS vehicle, cost, state FROM repairs JOIN vehicles ON vehicles.id = vehicle ORDER BY repairs.id"""


def which(id=None, name=None):
    return app.one("vehicle", ALL, "name", id, name)


def which_repair(id=None, what=None):
    return app.one("repair", ALL_REPAIRS, "what", id, what)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def like(words, *values):
    return words is None or all(word in " ".join(values).casefold() for word in words.casefold().split())


@app.tool(
    "read",
    "Lists the vehicles of the fleet, optionally only those available, in use or in repair, with one driver, or above a mileage.",
    {
        "status": STATUS,
        "driver": text("Only vehicles that this person has now"),
        "min_mileage": number(
            "Only vehicles with at least this mileage, in kilometres", "integer", minimum=0
        ),
    },
    many("vehicles", VEHICLE),
)
def list_vehicles(status=None, driver=None, min_mileage=0):
    rows = [row for row in app.rows(ALL) if status in (None, row["status"]) and like(driver, row["driver"])]
    return several("vehicles", [row for row in rows if row["mileage"] >= min_mileage])


@app.tool(
    "read",
    "Searches the vehicles of the fleet for words in their names or for a number plate and gives all that match.",
    {"query!": text("Words to look for in the names, or a number plate")},
    many("vehicles", VEHICLE),
)
def search_vehicles(query):
    return several("vehicles", [row for row in app.rows(ALL) if like(query, row["name"], row["plate"])])


@app.tool(
    "read",
    "Shows one vehicle with its plate, mileage and status, who has it until when, and its trips.",
    WHICH,
    record(vehicle=VEHICLE, trips={"type": "array", "items": TRIP}),
)
def get_vehicle(id=None, name=None):
    vehicle = which(id, name)
    trips = app.rows(
        "SELECT id, driver, began, until, purpose FROM trips WHERE vehicle = ? ORDER BY began DESC, id DESC",
        vehicle["id"],
    )
    return {"vehicle": vehicle, "trips": trips}


@app.tool(
    "add",
    "Adds a new vehicle to the fleet, with its number plate and its mileage.",
    {"name!": text("What it is called"), "plate": text("Its number plate"), "mileage": MILEAGE},
    VEHICLE,
)
def add_vehicle(name, plate="", mileage=0):
    if any(row["name"].casefold() == name.casefold() for row in app.rows(ALL)):
        raise ToolError("already_exists", f"vehicle {name!r}")
    return which(
        app.db.execute(
            "INSERT INTO vehicles (name, plate, mileage) VALUES (?, ?, ?)", (name, plate, mileage)
        ).lastrowid
    )


@app.tool(
    "delete",
    "Removes a vehicle from the fleet for good, with its trips and repairs, because it was sold or scrapped.",
    WHICH,
    record(removed=VEHICLE),
)
def remove_vehicle(id=None, name=None):
    vehicle = which(id, name)
    app.db.execute("DELETE FROM vehicles WHERE id = ?", (vehicle["id"],))
    return {"removed": vehicle}


@app.tool(
    "set",
    "Checks a vehicle out: hands it to a driver, who takes it on a trip from today, optionally until a date and for a purpose.",
    {
        **WHICH,
        "driver!": text("Who takes it"),
        "until": day("When it is due back, as YYYY-MM-DD"),
        "purpose": text("What the trip is for"),
    },
    VEHICLE,
)
def check_out_vehicle(driver, id=None, name=None, until="", purpose=""):
    vehicle = which(id, name)
    if vehicle["status"] != "available":
        raise ToolError("not_available", f"vehicle {vehicle['id']} is {vehicle['status']}")
    app.db.execute(ADD_TRIP, (vehicle["id"], driver, str(app.today()), until, purpose, 0))
    app.change("vehicles", vehicle["id"], status="in_use")
    return which(vehicle["id"])


@app.tool(
    "set",
    "Checks a vehicle in: it is back from its trip and available again, optionally with the mileage it has now.",
    {**WHICH, "mileage": MILEAGE},
    VEHICLE,
)
def check_in_vehicle(id=None, name=None, mileage=None):
    vehicle = which(id, name)
    if vehicle["status"] != "in_use":
        raise ToolError("not_in_use", f"vehicle {vehicle['id']} is {vehicle['status']}")
    app.db.execute("UPDATE trips SET over = 1 WHERE vehicle = ?", (vehicle["id"],))
    app.change("vehicles", vehicle["id"], status="available", mileage=mileage)
    return which(vehicle["id"])


@app.tool(
    "set",
    "Records the mileage of a vehicle: how many kilometres its odometer shows.",
    {**WHICH, "mileage!": MILEAGE},
    VEHICLE,
)
def record_mileage(mileage, id=None, name=None):
    vehicle = which(id, name)
    app.change("vehicles", vehicle["id"], mileage=mileage)
    return which(vehicle["id"])


@app.tool(
    "add",
    "Reports damage to a vehicle, or that something on it is broken, and opens a repair for it.",
    {
        **WHICH,
        "what!": text("What is damaged or broken"),
        "cost": number("What the repair will cost, if known", minimum=0),
    },
    REPAIR,
)
def report_damage(what, id=None, name=None, cost=0):
    vehicle = which(id, name)
    made = app.db.execute(ADD_REPAIR, (vehicle["id"], what, cost, "open")).lastrowid
    if vehicle["status"] == "available":
        app.change("vehicles", vehicle["id"], status="in_repair")
    return which_repair(made)


@app.tool(
    "read",
    "Lists repairs with what they cost, optionally only open or done ones, or those of one vehicle.",
    {"state": STATE, "vehicle": text("Only repairs of this vehicle: its name")},
    many("repairs", REPAIR),
)
def list_repairs(state=None, vehicle=None):
    return several(
        "repairs",
        [
            row
            for row in app.rows(ALL_REPAIRS)
            if state in (None, row["state"]) and like(vehicle, row["vehicle"])
        ],
    )


@app.tool(
    "set",
    "Closes a repair: it is done, optionally with what it cost in the end. By its number or by words from what is repaired.",
    {**WHICH_REPAIR, "cost": number("What it cost in the end", minimum=0)},
    REPAIR,
)
def close_repair(id=None, what=None, cost=None):
    repair = which_repair(id, what)
    app.change("repairs", repair["id"], state="done", cost=cost)
    app.db.execute(
        """UPDATE vehicles SET status = 'available' WHERE status = 'in_repair' AND id = (SELECT vehicle FROM repairs WHERE id = ?)
        AND NOT EXISTS (SELECT 1 FROM repairs WHERE vehicle = vehicles.id AND state = 'open')""",
        (repair["id"],),
    )
    return which_repair(repair["id"])


if __name__ == "__main__":
    app.serve()
