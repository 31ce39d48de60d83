"""The floor of a small bistro behind MCP: `python3 bistro.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

AREAS = ["dining_room", "terrace", "bar"]
STATUSES = ["free", "occupied", "needs_clearing"]
STATES = ["expected", "seated", "left", "cancelled"]
COURSES = ["starter", "main", "dessert", "drink"]
METHODS = ["cash", "card", "voucher"]
TABLES = [
    "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT NOT NULL, area TEXT NOT NULL, seats INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'free')",
    """CREATE TABLE reservations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, date TEXT NOT NULL, time TEXT NOT NULL, covers INTEGER NOT NULL,
        table_id INTEGER REFERENCES tables, request TEXT NOT NULL DEFAULT '', state TEXT NOT NULL DEFAULT 'expected')""",
    """CREATE TABLE dishes (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, course TEXT NOT NULL, price REAL NOT NULL,
        vegetarian INTEGER NOT NULL, allergens TEXT NOT NULL DEFAULT '', availability TEXT NOT NULL DEFAULT 'available')""",
    """CREATE TABLE bills (id INTEGER PRIMARY KEY AUTOINCREMENT, table_id INTEGER NOT NULL REFERENCES tables, status TEXT NOT NULL DEFAULT 'open',
        method TEXT NOT NULL DEFAULT '', tip REAL NOT NULL DEFAULT 0)""",
    """CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, bill INTEGER NOT NULL REFERENCES bills, dish INTEGER NOT NULL REFERENCES dishes,
        quantity INTEGER NOT NULL, note TEXT NOT NULL DEFAULT '')""",
]
FLOOR = [
    (1, "Window seat", "dining_room", 2, "free"),
    (2, "Bay table", "dining_room", 4, "occupied"),
    (3, "Fireplace", "dining_room", 4, "free"),
    (4, "Corner booth", "dining_room", 6, "occupied"),
    (5, "Garden booth", "dining_room", 4, "needs_clearing"),
    (6, "Long table", "dining_room", 10, "free"),
    (7, "Terrace left", "terrace", 4, "occupied"),
    (8, "Terrace right", "terrace", 4, "free"),
    (9, "Bar end", "bar", 2, "needs_clearing"),
    (10, "Bar middle", "bar", 2, "occupied"),
    (11, "Garden nook", "dining_room", 2, "needs_clearing"),
]
RESERVATIONS = [
    (501, "Claire Dubois", "2026-10-22", "18:00", 4, 2, "", "seated"),
    (502, "Marcus Bell", "2026-10-22", "18:30", 5, 4, "", "seated"),
    (503, "Ingrid Solberg", "2026-10-22", "19:00", 2, 1, "", "expected"),
    (504, "Rafael Ortega", "2026-10-22", "19:30", 4, 3, "", "expected"),
    (505, "Anna Fischer", "2026-10-22", "20:00", 8, 6, "birthday cake", "expected"),
    (506, "Paul Fischer", "2026-10-23", "19:00", 2, None, "", "expected"),
    (507, "Tamsin Reid", "2026-10-23", "20:00", 4, 8, "", "expected"),
    (508, "Yusuf Demir", "2026-10-24", "18:30", 6, 4, "high chair", "expected"),
    (509, "Grace Whitlock", "2026-10-24", "19:30", 3, None, "", "expected"),
    (510, "Leo Marchetti", "2026-10-22", "12:30", 2, 9, "", "left"),
    (511, "Nadia Petrova", "2026-10-23", "18:00", 2, None, "", "cancelled"),
    (512, "Yusuf Demir", "2026-10-31", "19:00", 4, None, "", "expected"),
    (513, "Hugo Lambert", "2026-10-25", "12:30", 4, 3, "", "expected"),
    (514, "Signe Aalto", "2026-10-25", "13:00", 2, 1, "quiet table", "expected"),
]
MENU = [
    (1, "Onion soup", "starter", 8.5, 0, "gluten, milk", "available"),
    (2, "Tomato soup", "starter", 7, 1, "celery", "available"),
    (3, "Beef carpaccio", "starter", 14, 0, "mustard, milk", "available"),
    (4, "Goat cheese salad", "starter", 11, 1, "milk, nuts", "available"),
    (5, "Steak frites", "main", 24, 0, "", "available"),
    (6, "Duck confit", "main", 23.5, 0, "", "available"),
    (7, "Mushroom risotto", "main", 18, 1, "milk", "available"),
    (8, "Mussels in cream", "main", 19.5, 0, "shellfish, milk", "sold_out"),
    (9, "Grilled trout", "main", 21, 0, "fish", "available"),
    (10, "Lemon tart", "dessert", 8, 1, "gluten, egg, milk", "available"),
    (11, "Creme brulee", "dessert", 8.5, 1, "egg, milk", "available"),
    (12, "Chocolate mousse", "dessert", 7.5, 1, "egg, milk", "sold_out"),
    (13, "House red wine", "drink", 6, 1, "sulphites", "available"),
    (14, "House white wine", "drink", 6, 1, "sulphites", "available"),
    (15, "Cider", "drink", 5.5, 1, "", "available"),
    (16, "Espresso", "drink", 3, 1, "", "available"),
    (17, "Plum tart", "dessert", 8, 1, "gluten, milk", "available"),
]
BILLS = [
    (901, 2, "open", "", 0),
    (902, 4, "open", "", 0),
    (903, 7, "open", "", 0),
    (904, 10, "open", "", 0),
    (905, 9, "paid", "card", 2),
    (906, 5, "paid", "cash", 0),
    (907, 11, "paid", "card", 0),
]
ORDERS = [
    (701, 901, 1, 2, ""),
    (702, 901, 5, 2, "one well done"),
    (703, 901, 13, 2, ""),
    (704, 902, 6, 3, ""),
    (705, 902, 7, 2, "no parmesan"),
    (706, 902, 14, 1, ""),
    (707, 903, 9, 2, ""),
    (708, 903, 10, 1, ""),
    (709, 903, 5, 1, "rare"),
    (710, 904, 15, 2, ""),
    (711, 904, 4, 1, ""),
    (712, 905, 16, 2, ""),
    (713, 906, 2, 2, ""),
    (714, 907, 17, 2, ""),
]
app = App(
    "bistro",
    "The floor of a small bistro: reservations, tables, the menu with what has run out, the orders of a table, bills.",
    TABLES,
    [
        ("INSERT INTO tables (id, name, area, seats, status) VALUES (?, ?, ?, ?, ?)", FLOOR),
        (
            "INSERT INTO reservations (id, name, date, time, covers, table_id, request, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            RESERVATIONS,
        ),
        (
            "INSERT INTO dishes (id, name, course, price, vegetarian, allergens, availability) VALUES (?, ?, ?, ?, ?, ?, ?)",
            MENU,
        ),
        ("INSERT INTO bills (id, table_id, status, method, tip) VALUES (?, ?, ?, ?, ?)", BILLS),
        ("INSERT INTO orders (id, bill, dish, quantity, note) VALUES (?, ?, ?, ?, ?)", ORDERS),
    ],
)

AREA = text("The part of the bistro where the table stands", enum=AREAS)
STATUS = text(
    "Whether the table is free, occupied, or has to be cleared after guests have left", enum=STATUSES
)
STATE = text("Whether the party is still expected, is seated, has left, or has cancelled", enum=STATES)
COURSE = text("The part of the menu", enum=COURSES)
AVAILABILITY = text("Whether the kitchen still has it or it is sold out", enum=["available", "sold_out"])
CLOCK = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
TABLE = record(
    id=number("The table's number", "integer"),
    name=text("What the table is called"),
    area=AREA,
    seats=number("How many people fit", "integer"),
    status=STATUS,
    party=text("The name of the party that sits there with a reservation, or nothing"),
)
RESERVATION = record(
    id=number("The reservation's number", "integer"),
    name=text("The name it is under"),
    date=text("The day (YYYY-MM-DD)"),
    time=text("The time (HH:MM)"),
    covers=number("How many people come", "integer"),
    table=text("The name of the table that is kept for them, or nothing"),
    request=text("A special request, or nothing"),
    state=STATE,
)
DISH = record(
    id=number("The number on the menu", "integer"),
    name=text("What the dish or drink is called"),
    course=COURSE,
    price=number("The price in euros"),
    vegetarian={"type": "boolean", "description": "Whether it is vegetarian"},
    allergens=text("The allergens it contains, or nothing"),
    availability=AVAILABILITY,
)
ORDER = record(
    id=number("The order's number", "integer"),
    dish=text("What was ordered"),
    quantity=number("How many", "integer"),
    table=text("The name of the table"),
    table_number=number("The table's number", "integer"),
    note=text("A note for the kitchen, or nothing"),
)
BILL = record(
    id=number("The bill's number", "integer"),
    table=text("The name of the table"),
    table_number=number("The table's number", "integer"),
    total=number("What has to be paid, in euros"),
    items={"type": "array", "items": ORDER, "description": "What was ordered"},
    status=text("Whether the bill is still open or paid", enum=["open", "paid"]),
    method=text("How it was paid, or nothing"),
    tip=number("The tip, in euros"),
)
WHICH_TABLE = {
    "id": number("The table's number", "integer", minimum=1),
    "name": text("What the table is called, or words from it"),
}
WHICH_RESERVATION = {
    "id": number("The reservation's number", "integer", minimum=1),
    "name": text("The name that the reservation is under, or a part of it"),
}
WHICH_DISH = {
    "id": number("The number on the menu", "integer", minimum=1),
    "name": text("What the dish or drink is called, or words from it"),
}
WHICH_ORDER = {
    "id": number("The order's number", "integer", minimum=1),
    "dish": text(
        "The dish that was ordered, together with the table when several tables have it, such as: onion soup table 2"
    ),
}
WHICH_BILL = {
    "id": number("The bill's number", "integer", minimum=1),
    "table": text("The table that the bill is for: its number or its name"),
}
ALL_TABLES = """SELECT t.id, t.name, t.area, t.seats, t.status,
    COALESCE((SELECT r.name FROM reservations r WHERE r.table_id = t.id AND r.state = 'seated'), '') AS party FROM tables t ORDER BY t.id"""
ALL_RESERVATIONS = """SELECT r.id, r.name, r.date, r.time, r.covers, COALESCE(t.name, '') AS "table", r.request, r.state
    FROM reservations r LEFT JOIN tables t ON t.id = r.table_id ORDER BY r.date, r.time, r.id"""
ALL_DISHES = "SELECT * FROM dishes ORDER BY id"
ALL_ORDERS = """SELECT o.id, d.name AS dish, o.quantity, t.name AS "table", t.id AS table_number, o.note
    FROM orders o JOIN dishes d ON d.id = o.dish JOIN bills b ON b.id = o.bill JOIN tables t ON t.id = b.table_id"""
RUNNING = ALL_ORDERS + " WHERE b.status = 'open' ORDER BY t.id, o.id"
FILLERS = {"the", "a", "an", "at", "on", "of", "for", "from", "table", "party"}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def one(kind, rows, label, told, id=None, words=None):
    """The row that an id or words mean. Words that equal the label win over words that are found in what `told` says of a row."""
    if id is None and not words:
        raise ToolError("field_required", f"id or {label}")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        said = words.casefold()
        parts = [part for part in said.split() if part not in FILLERS] or said.split()

        def fits(row):
            whole = told(row).casefold()
            return all(part in (whole.split() if part.isdecimal() else whole) for part in parts)

        found = [row for row in rows if row[label].casefold() == said] or [row for row in rows if fits(row)]
    if not found:
        raise ToolError(
            "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
        )
    if len(found) > 1:
        raise ToolError(
            "ambiguous",
            f"{kind} {json.dumps(words, ensure_ascii=False)} may be "
            + ", ".join(f'{row["id"]} "{told(row)}"' for row in found),
        )
    return found[0]


def which_table(id=None, name=None):
    return one("table", app.rows(ALL_TABLES), "name", lambda row: row["name"], id, name)


def table_said(table):
    """The table that a text means: its number or its name."""
    said = table.casefold().removeprefix("table ").strip()
    return which_table(int(said)) if said.isdecimal() else which_table(None, table)


def which_reservation(id=None, name=None):
    """By its number any reservation; by the name one that is not over, if there is one."""
    rows = app.rows(ALL_RESERVATIONS)
    told = lambda row: f"{row['name']} {row['date']} {row['time']}"
    live = [row for row in rows if row["state"] in ("expected", "seated")]
    if id is None and name:
        try:
            return one("reservation", live, "name", told, None, name)
        except ToolError as error:
            if not str(error).startswith("not_found"):
                raise
    return one("reservation", rows, "name", told, id, name)


def dishes():
    return [{**row, "vegetarian": bool(row["vegetarian"])} for row in app.rows(ALL_DISHES)]


def which_dish(id=None, name=None):
    return one("dish", dishes(), "name", lambda row: row["name"], id, name)


def which_order(id=None, dish=None):
    return one(
        "order",
        app.rows(RUNNING),
        "dish",
        lambda row: f"{row['dish']} table {row['table_number']} {row['table']}",
        id,
        dish,
    )


def which_bill(id=None, table=None):
    """By its number any bill; by the table the one that was opened last."""
    if id is None and not table:
        raise ToolError("field_required", "id or table")
    place = table_said(table) if id is None else None
    found = (
        app.rows("SELECT * FROM bills WHERE id = ?", id)
        if place is None
        else app.rows("SELECT * FROM bills WHERE table_id = ? ORDER BY id DESC LIMIT 1", place["id"])
    )
    if not found:
        raise ToolError("not_found", f"bill {id}" if place is None else f"bill of table {place['id']}")
    bill = found[0]
    items = app.rows(ALL_ORDERS + " WHERE b.id = ? ORDER BY o.id", bill["id"])
    total = app.rows(
        "SELECT COALESCE(SUM(o.quantity * d.price), 0) AS total FROM orders o JOIN dishes d ON d.id = o.dish WHERE o.bill = ?",
        bill["id"],
    )[0]["total"]
    return {
        "id": bill["id"],
        "table": which_table(bill["table_id"])["name"],
        "table_number": bill["table_id"],
        "total": round(total, 2),
        "items": items,
        "status": bill["status"],
        "method": bill["method"],
        "tip": bill["tip"],
    }


def several(name, rows):
    return {name: rows, "count": len(rows)}


def on_the_clock(time):
    try:
        if datetime.time.fromisoformat(time).strftime("%H:%M") != time:
            raise ValueError(time)
    except ValueError:
        raise ToolError("field_invalid", "time must be like 19:30") from None


def minutes(time):
    return int(time[:2]) * 60 + int(time[3:])


def can_be_kept(table, date, time, covers, but=None):
    """Says so when a table is too small, or kept for others within two hours."""
    if table["seats"] < covers:
        raise ToolError("too_small", f"table {table['id']} has {table['seats']} seats")
    for row in app.rows(
        "SELECT * FROM reservations WHERE table_id = ? AND date = ? AND state = 'expected' AND id IS NOT ?",
        table["id"],
        date,
        but,
    ):
        if abs(minutes(row["time"]) - minutes(time)) < 120:
            raise ToolError(
                "not_free", f"table {table['id']} is kept for {row['name']} on {date} at {row['time']}"
            )


@app.tool(
    "read",
    "Lists reservations (bookings) in order of time, optionally on one day, under one name, at one table or of one state.",
    {
        "date": day("Only reservations on this day, as YYYY-MM-DD"),
        "name": text("Only reservations under this name, or a part of it"),
        "table": text("Only reservations at this table: its number or its name"),
        "state": STATE,
    },
    many("reservations", RESERVATION),
)
def list_reservations(date=None, name=None, table=None, state=None):
    place = table_said(table)["name"] if table else None
    return several(
        "reservations",
        [
            row
            for row in app.rows(ALL_RESERVATIONS)
            if date in (None, row["date"])
            and place in (None, row["table"])
            and state in (None, row["state"])
            and has(name, row["name"])
        ],
    )


@app.tool(
    "add",
    "Takes a new reservation (books a table) for a party on a day at a time. A certain table can be kept for them.",
    {
        "name!": text("The name of the guest it is under"),
        "covers!": number("How many people come (covers, guests)", "integer", minimum=1),
        "date!": day("The day, as YYYY-MM-DD"),
        "time!": text("The time, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "table": text("The table to keep for them: its number or its name"),
        "request": text("A special request, such as a high chair"),
    },
    RESERVATION,
)
def take_reservation(name, covers, date, time, table=None, request=""):
    on_the_clock(time)
    place = table_said(table) if table else None
    if place:
        can_be_kept(place, date, time, covers)
    return which_reservation(
        app.db.execute(
            "INSERT INTO reservations (name, date, time, covers, table_id, request) VALUES (?, ?, ?, ?, ?, ?)",
            (name, date, time, covers, place and place["id"], request),
        ).lastrowid
    )


@app.tool(
    "set",
    "Changes a reservation of a party that is still expected: another day, another time, more or fewer people, another table or a special request.",
    {
        **WHICH_RESERVATION,
        "date": day("The new day, as YYYY-MM-DD"),
        "time": text("The new time, as HH:MM, from 00:00 to 23:59", **CLOCK),
        "covers": number("How many people come now", "integer", minimum=1),
        "table": text("The table to keep for them instead: its number or its name"),
        "request": text("The special request, such as a high chair"),
    },
    RESERVATION,
)
def change_reservation(id=None, name=None, date=None, time=None, covers=None, table=None, request=None):
    reservation = which_reservation(id, name)
    if reservation["state"] != "expected":
        raise ToolError("wrong_state", f"reservation {reservation['id']} is {reservation['state']}")
    if time:
        on_the_clock(time)
    place = (
        table_said(table)
        if table
        else which_table(None, reservation["table"])
        if reservation["table"]
        else None
    )
    if place:
        can_be_kept(
            place,
            date or reservation["date"],
            time or reservation["time"],
            covers or reservation["covers"],
            reservation["id"],
        )
    app.change(
        "reservations",
        reservation["id"],
        date=date,
        time=time,
        covers=covers,
        table_id=place["id"] if table else None,
        request=request,
    )
    return which_reservation(reservation["id"])


@app.tool(
    "delete",
    "Cancels a reservation (booking) of a party that will not come, by its number or by the name it is under.",
    WHICH_RESERVATION,
    record(cancelled=RESERVATION),
)
def cancel_reservation(id=None, name=None):
    reservation = which_reservation(id, name)
    if reservation["state"] not in ("expected", "cancelled"):
        raise ToolError("wrong_state", f"reservation {reservation['id']} is {reservation['state']}")
    app.change("reservations", reservation["id"], state="cancelled")
    return {"cancelled": which_reservation(reservation["id"])}


@app.tool(
    "set",
    "Seats a party that has arrived for its reservation, at the table that is kept for it or at another one that is free.",
    {
        **WHICH_RESERVATION,
        "table": text(
            "The table where they sit down: its number or its name; the one that is kept for them when nothing is said"
        ),
    },
    RESERVATION,
)
def seat_party(id=None, name=None, table=None):
    reservation = which_reservation(id, name)
    if reservation["state"] != "expected":
        raise ToolError("wrong_state", f"reservation {reservation['id']} is {reservation['state']}")
    if table or reservation["table"]:
        place = table_said(table) if table else which_table(None, reservation["table"])
        if place["status"] != "free":
            raise ToolError("not_free", f"table {place['id']} is {place['status']}")
        if place["seats"] < reservation["covers"]:
            raise ToolError("too_small", f"table {place['id']} has {place['seats']} seats")
    else:
        fitting = [
            row
            for row in app.rows(ALL_TABLES)
            if row["status"] == "free" and row["seats"] >= reservation["covers"]
        ]
        if not fitting:
            raise ToolError("not_free", f"any table for {reservation['covers']}")
        place = min(fitting, key=lambda row: row["seats"])
    app.change("reservations", reservation["id"], state="seated", table_id=place["id"])
    app.change("tables", place["id"], status="occupied")
    return which_reservation(reservation["id"])


@app.tool(
    "read",
    "Lists the tables with their seats, status and who sits there, optionally only free or occupied ones or those that need clearing, in one area, or with enough seats.",
    {
        "status": STATUS,
        "area": AREA,
        "min_seats": number("Only tables with room for at least this many people", "integer", minimum=1),
        "table": text("Only this table: its number or its name"),
    },
    many("tables", TABLE),
)
def list_tables(status=None, area=None, min_seats=None, table=None):
    said = table and table.casefold().removeprefix("table ").strip()
    return several(
        "tables",
        [
            row
            for row in app.rows(ALL_TABLES)
            if status in (None, row["status"])
            and area in (None, row["area"])
            and row["seats"] >= (min_seats or 0)
            and (not said or (str(row["id"]) == said if said.isdecimal() else has(said, row["name"])))
        ],
    )


@app.tool(
    "set",
    "Marks a table as cleared and wiped down after guests have left, so that it is free and ready for the next party.",
    WHICH_TABLE,
    TABLE,
)
def clear_table(id=None, name=None):
    table = which_table(id, name)
    if app.rows("SELECT id FROM bills WHERE table_id = ? AND status = 'open'", table["id"]):
        raise ToolError("wrong_state", f"table {table['id']} has not paid yet")
    app.db.execute(
        "UPDATE reservations SET state = 'left' WHERE table_id = ? AND state = 'seated'", (table["id"],)
    )
    app.change("tables", table["id"], status="free")
    return which_table(table["id"])


@app.tool(
    "read",
    "Lists the dishes and drinks of the menu with price, allergens and whether they are sold out, optionally of one course, vegetarian ones, up to a price, or by name.",
    {
        "course": COURSE,
        "availability": AVAILABILITY,
        "vegetarian": {"type": "boolean", "description": "Only vegetarian ones"},
        "max_price": number("Only what costs at most this, in euros", minimum=0),
        "dish": text("Only this dish or drink: its name, or words from it"),
    },
    many("dishes", DISH),
)
def list_menu(course=None, availability=None, vegetarian=None, max_price=None, dish=None):
    return several(
        "dishes",
        [
            row
            for row in dishes()
            if course in (None, row["course"])
            and availability in (None, row["availability"])
            and vegetarian in (None, row["vegetarian"])
            and (max_price is None or row["price"] <= max_price)
            and has(dish, row["name"])
        ],
    )


@app.tool(
    "set",
    "Marks a dish or drink as sold out when the kitchen has run out of it (86, it is off), or as available when it is back on.",
    {**WHICH_DISH, "availability!": AVAILABILITY},
    DISH,
)
def set_dish_availability(availability, id=None, name=None):
    dish = which_dish(id, name)
    app.change("dishes", dish["id"], availability=availability)
    return which_dish(dish["id"])


@app.tool(
    "add",
    "Adds an order for a dish or drink to a table whose guests are seated; it goes to the kitchen and on the table's bill.",
    {
        "table!": text("The table: its number or its name"),
        "dish!": text("The dish or drink, as it is called on the menu"),
        "quantity": number("How many; one when nothing is said", "integer", minimum=1),
        "note": text("A note for the kitchen, such as medium rare or no onions"),
    },
    ORDER,
)
def add_order(table, dish, quantity=1, note=""):
    place, what = table_said(table), which_dish(None, dish)
    if place["status"] != "occupied":
        raise ToolError("wrong_state", f"table {place['id']} is {place['status']}")
    if what["availability"] == "sold_out":
        raise ToolError("sold_out", what["name"])
    running = app.rows("SELECT id FROM bills WHERE table_id = ? AND status = 'open'", place["id"])
    bill = (
        running[0]["id"]
        if running
        else app.db.execute("INSERT INTO bills (table_id) VALUES (?)", (place["id"],)).lastrowid
    )
    return which_order(
        app.db.execute(
            "INSERT INTO orders (bill, dish, quantity, note) VALUES (?, ?, ?, ?)",
            (bill, what["id"], quantity, note),
        ).lastrowid
    )


@app.tool(
    "read",
    "Lists the running orders, that is, what has been ordered and not paid yet, optionally of one table or of one dish.",
    {
        "table": text("Only orders of this table: its number or its name"),
        "dish": text("Only orders of this dish or drink: its name, or words from it"),
    },
    many("orders", ORDER),
)
def list_orders(table=None, dish=None):
    place = table_said(table)["id"] if table else None
    return several(
        "orders",
        [row for row in app.rows(RUNNING) if place in (None, row["table_number"]) and has(dish, row["dish"])],
    )


@app.tool(
    "delete",
    "Voids a running order: takes a dish off a table's order that the guests do not want or that was keyed in by mistake.",
    {**WHICH_ORDER, "quantity": number("How many of them; all when nothing is said", "integer", minimum=1)},
    record(voided=ORDER),
)
def void_order(id=None, dish=None, quantity=None):
    order = which_order(id, dish)
    if quantity and quantity < order["quantity"]:
        app.change("orders", order["id"], quantity=order["quantity"] - quantity)
        return {"voided": {**order, "quantity": quantity}}
    app.db.execute("DELETE FROM orders WHERE id = ?", (order["id"],))
    return {"voided": order}


@app.tool(
    "read",
    "Shows the bill (check) of a table with everything on it, the total that they owe and whether it is paid, by its number or by the table.",
    WHICH_BILL,
    BILL,
)
def get_bill(id=None, table=None):
    return which_bill(id, table)


@app.tool(
    "set",
    "Settles (closes) a bill that guests have paid, by its number or by the table. The table then waits to be cleared.",
    {
        **WHICH_BILL,
        "method": text("How it was paid", enum=METHODS),
        "tip": number("The tip, in euros", minimum=0),
    },
    BILL,
)
def settle_bill(id=None, table=None, method=None, tip=None):
    bill = which_bill(id, table)
    if bill["status"] == "open":
        app.change("tables", bill["table_number"], status="needs_clearing")
        app.db.execute(
            "UPDATE reservations SET state = 'left' WHERE table_id = ? AND state = 'seated'",
            (bill["table_number"],),
        )
    app.change("bills", bill["id"], status="paid", method=method, tip=tip)
    return which_bill(bill["id"])


if __name__ == "__main__":
    app.serve()
