"""The reception of a hairdresser's behind MCP: `python3 salon.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime
import json

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

STYLISTS = ["Amara", "Gio", "Petra", "Luca"]
MENU = {  # service: minutes, price
    "cut": (45, 42),
    "blow_dry": (30, 28),
    "colour": (120, 85),
    "highlights": (150, 120),
    "perm": (150, 95),
    "updo": (60, 65),
    "beard_trim": (20, 18),
}
STATUSES = ["booked", "in_chair", "paid", "no_show", "cancelled"]
SHELVES = ["shampoo", "conditioner", "treatment", "styling"]
METHODS = ["cash", "card", "voucher"]
LOW = 3
TABLES = [
    """CREATE TABLE clients (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, phone TEXT NOT NULL DEFAULT '', stylist TEXT NOT NULL DEFAULT '',
        allergies TEXT NOT NULL DEFAULT '', formula TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE bookings (id INTEGER PRIMARY KEY AUTOINCREMENT, client INTEGER NOT NULL REFERENCES clients, service TEXT NOT NULL, date TEXT NOT NULL,
        start TEXT NOT NULL, stylist TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'booked', method TEXT NOT NULL DEFAULT '', tip REAL NOT NULL DEFAULT 0)""",
    """CREATE TABLE products (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, brand TEXT NOT NULL, category TEXT NOT NULL, price REAL NOT NULL,
        stock INTEGER NOT NULL)""",
    """CREATE TABLE sales (id INTEGER PRIMARY KEY AUTOINCREMENT, product INTEGER NOT NULL REFERENCES products, quantity INTEGER NOT NULL,
        client INTEGER REFERENCES clients, date TEXT NOT NULL)""",
]
CLIENTS = [
    (1, "Ruth Castellan", "555-0141", "Amara", "", "6N with 20 vol"),
    (2, "Dev Malhotra", "555-0142", "Gio", "", ""),
    (3, "Ingrid Holt", "555-0143", "Petra", "PPD", ""),
    (4, "Simon Holt", "555-0144", "Gio", "", ""),
    (5, "Beatrice Okafor", "555-0145", "Petra", "", "8A with 30 vol"),
    (6, "Lucia Marin", "555-0146", "Amara", "fragrance", ""),
    (7, "Hannah Brooks", "555-0147", "Amara", "", ""),
    (8, "Hannah Fischer", "555-0148", "Petra", "", "5R with 10 vol"),
    (9, "Callum Reid", "555-0149", "Gio", "", ""),
    (10, "Yasmin Aziz", "555-0150", "Amara", "", ""),
    (11, "Theo Lambert", "555-0151", "Gio", "", ""),
]
BOOKINGS = [
    (201, 1, "colour", "2026-10-08", "09:00", "Amara", "in_chair", ""),
    (202, 9, "beard_trim", "2026-10-08", "09:30", "Gio", "in_chair", ""),
    (203, 5, "highlights", "2026-10-08", "11:00", "Petra", "booked", ""),
    (204, 2, "cut", "2026-10-08", "11:30", "Gio", "booked", ""),
    (205, 6, "blow_dry", "2026-10-08", "14:00", "Amara", "booked", ""),
    (206, 3, "perm", "2026-10-09", "10:00", "Petra", "booked", ""),
    (207, 4, "cut", "2026-10-09", "10:00", "Gio", "booked", ""),
    (208, 7, "updo", "2026-10-10", "09:00", "Amara", "booked", ""),
    (209, 8, "colour", "2026-10-13", "15:00", "Petra", "booked", ""),
    (210, 2, "cut", "2026-11-05", "11:30", "Gio", "booked", ""),
    (211, 10, "cut", "2026-10-07", "16:00", "Amara", "paid", "card"),
    (212, 11, "cut", "2026-10-06", "12:00", "Gio", "no_show", ""),
    (213, 10, "blow_dry", "2026-10-15", "13:00", "Luca", "cancelled", ""),
]
PRODUCTS = [
    (41, "Argan oil", "Solenne", "treatment", 24, 9),
    (42, "Sea salt spray", "Kelp & Co", "styling", 16.5, 2),
    (43, "Curl cream", "Solenne", "styling", 19, 6),
    (44, "Silver shampoo", "Nordlys", "shampoo", 14, 12),
    (45, "Moisture shampoo", "Solenne", "shampoo", 15, 1),
    (46, "Repair mask", "Nordlys", "treatment", 28, 4),
    (47, "Matte clay", "Kelp & Co", "styling", 17, 0),
    (48, "Moisture conditioner", "Solenne", "conditioner", 15.5, 3),
]
app = App(
    "salon",
    "The reception of a hairdresser's: clients and their cards, the diary with the bookings of each stylist, the till, and the products on the shelf.",
    TABLES,
    [
        (
            "INSERT INTO clients (id, name, phone, stylist, allergies, formula) VALUES (?, ?, ?, ?, ?, ?)",
            CLIENTS,
        ),
        (
            "INSERT INTO bookings (id, client, service, date, start, stylist, status, method) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            BOOKINGS,
        ),
        (
            "INSERT INTO products (id, name, brand, category, price, stock) VALUES (?, ?, ?, ?, ?, ?)",
            PRODUCTS,
        ),
    ],
)

SERVICE = text("What is done to the hair", enum=list(MENU))
STYLIST = text("The stylist who does the client's hair", enum=STYLISTS)
REGULAR = text("The client's regular stylist", enum=STYLISTS)
STATUS = text(
    "How far the booking is: booked, the client is in the chair, paid, did not show up, or cancelled",
    enum=STATUSES,
)
CATEGORY = text("What kind of product it is", enum=SHELVES)
START = {"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"}
CLIENT = record(
    id=number("The client's number", "integer"),
    name=text("The client's full name"),
    phone=text("The phone number, or nothing"),
    stylist=text("The client's regular stylist, or nothing"),
    allergies=text("What the client is allergic to, or nothing"),
    formula=text("The colour formula that is mixed for the client, or nothing"),
)
BOOKING = record(
    id=number("The booking's number", "integer"),
    client=text("The client's name"),
    service=SERVICE,
    date=text("The day (YYYY-MM-DD)"),
    start=text("When it starts (HH:MM)"),
    stylist=STYLIST,
    status=STATUS,
    price=number("What the service costs"),
    method=text("How it was paid, or nothing"),
    tip=number("The tip that was given"),
)
PRODUCT = record(
    id=number("The product's number", "integer"),
    name=text("What the product is called"),
    brand=text("Who makes it"),
    category=CATEGORY,
    price=number("What one costs"),
    stock=number("How many are left on the shelf", "integer"),
)
WHICH_CLIENT = {
    "id": number("The client's number", "integer", minimum=1),
    "name": text("The client's name, or a part of it"),
}
WHICH_BOOKING = {
    "id": number("The booking's number", "integer", minimum=1),
    "client": text("The name of the client who is booked, or a part of it"),
}
WHICH_PRODUCT = {
    "id": number("The product's number", "integer", minimum=1),
    "name": text("What the product is called, or words from it"),
}
ALL_CLIENTS = "SELECT * FROM clients ORDER BY id"
ALL_BOOKINGS = """SELECT b.id, c.name AS client, b.service, b.date, b.start, b.stylist, b.status, b.method, b.tip
    FROM bookings b JOIN clients c ON c.id = b.client ORDER BY b.date, b.start, b.id"""
ALL_PRODUCTS = "SELECT * FROM products ORDER BY id"


def all_bookings():
    return [{**row, "price": MENU[row["service"]][1]} for row in app.rows(ALL_BOOKINGS)]


def which_client(id=None, name=None):
    return app.one("client", ALL_CLIENTS, "name", id, name)


def client_said(client):
    """The client that a text means: the number or the name."""
    return which_client(int(client), None) if client.isdecimal() else which_client(None, client)


def which_product(id=None, name=None):
    return app.one("product", ALL_PRODUCTS, "name", id, name)


def which_booking(id=None, client=None):
    """By its number any booking; by the client's name one that is not over, if there is one."""
    if id is None and not client:
        raise ToolError("field_required", "id or client")
    rows = all_bookings()
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        found = [row for row in rows if has(client, row["client"])]
        found = [row for row in found if row["status"] in ("booked", "in_chair")] or found
    said = id if id is not None else json.dumps(client, ensure_ascii=False)
    if not found:
        raise ToolError("not_found", f"booking {said}")
    if len(found) > 1:
        raise ToolError(
            "ambiguous",
            f"booking {said} may be "
            + ", ".join(f'{row["id"]} "{row["client"]}, {row["date"]} {row["start"]}"' for row in found),
        )
    return found[0]


def several(name, rows):
    return {name: rows, "count": len(rows)}


def has(part, whole):
    return part is None or part.casefold() in whole.casefold()


def minutes(start):
    try:
        time = datetime.time.fromisoformat(start)
        if time.strftime("%H:%M") != start:
            raise ValueError(start)
    except ValueError:
        raise ToolError("field_invalid", "start must be like 14:30") from None
    return time.hour * 60 + time.minute


def is_free(stylist, service, date, start, but=None):
    """Whether the stylist has nobody else while the service lasts."""
    first, last = minutes(start), minutes(start) + MENU[service][0]
    taken = [
        row
        for row in all_bookings()
        if (row["stylist"], row["date"]) == (stylist, date)
        and row["status"] in ("booked", "in_chair")
        and row["id"] != but
    ]
    return all(
        last <= minutes(row["start"]) or minutes(row["start"]) + MENU[row["service"]][0] <= first
        for row in taken
    )


def to_status(booking, before, after, **more):
    if booking["status"] not in before:
        raise ToolError("wrong_state", f"booking {booking['id']} is {booking['status']}")
    app.change("bookings", booking["id"], status=after, **more)
    return which_booking(booking["id"])


@app.tool(
    "read",
    "Finds clients of the salon by name, by phone number or by their regular stylist; lists all of them when nothing is said.",
    {
        "name": text("Only clients of this name, or with this in their name"),
        "phone": text("Only the client with this phone number, or a part of it"),
        "stylist": text("Only clients who usually go to this stylist", enum=STYLISTS),
    },
    many("clients", CLIENT),
)
def find_clients(name=None, phone=None, stylist=None):
    return several(
        "clients",
        [
            row
            for row in app.rows(ALL_CLIENTS)
            if has(name, row["name"]) and has(phone, row["phone"]) and stylist in (None, row["stylist"])
        ],
    )


@app.tool(
    "read",
    "Shows the card of one client: phone number, regular stylist, allergies and colour formula.",
    WHICH_CLIENT,
    CLIENT,
)
def show_client_card(id=None, name=None):
    return which_client(id, name)


@app.tool(
    "add",
    "Adds a new client to the books and starts a card for them.",
    {
        "name!": text("The client's full name"),
        "phone": text("The phone number"),
        "stylist": REGULAR,
        "allergies": text("What the client is allergic to"),
    },
    CLIENT,
)
def add_client(name, phone="", stylist="", allergies=""):
    if any(row["name"].casefold() == name.casefold() for row in app.rows(ALL_CLIENTS)):
        raise ToolError("already_exists", f"client {json.dumps(name, ensure_ascii=False)}")
    return which_client(
        app.db.execute(
            "INSERT INTO clients (name, phone, stylist, allergies) VALUES (?, ?, ?, ?)",
            (name, phone, stylist, allergies),
        ).lastrowid
    )


@app.tool(
    "set",
    "Updates a client's card: a new phone number, another regular stylist, an allergy, or the colour formula that was mixed.",
    {
        **WHICH_CLIENT,
        "phone": text("The new phone number"),
        "stylist": REGULAR,
        "allergies": text("What the client is allergic to"),
        "formula": text("The colour formula, such as 6N with 20 vol"),
    },
    CLIENT,
)
def update_client_card(id=None, name=None, phone=None, stylist=None, allergies=None, formula=None):
    client = which_client(id, name)
    app.change("clients", client["id"], phone=phone, stylist=stylist, allergies=allergies, formula=formula)
    return which_client(client["id"])


@app.tool(
    "read",
    "Shows the diary: the bookings (appointments), optionally of one day, one stylist, one client, one service or one status.",
    {
        "date": day("Only bookings on this day, as YYYY-MM-DD"),
        "stylist": text("Only bookings with this stylist", enum=STYLISTS),
        "client": text("Only bookings of this client: the name or a part of it"),
        "service": SERVICE,
        "status": STATUS,
    },
    many("bookings", BOOKING),
)
def view_diary(date=None, stylist=None, client=None, service=None, status=None):
    asked = {"date": date, "stylist": stylist, "service": service, "status": status}
    return several(
        "bookings",
        [
            row
            for row in all_bookings()
            if all(value in (None, row[name]) for name, value in asked.items()) and has(client, row["client"])
        ],
    )


@app.tool(
    "add",
    "Books a client in for a service on a day at a time. Without a stylist it goes to the client's regular one, or to the first who is free.",
    {
        "client!": text("The client: the name or the number"),
        "service!": SERVICE,
        "date!": day("The day, as YYYY-MM-DD"),
        "start!": text("When it starts, as HH:MM, from 00:00 to 23:59", **START),
        "stylist": STYLIST,
    },
    BOOKING,
)
def book_client(client, service, date, start, stylist=None):
    who = client_said(client)
    asked = [stylist] if stylist else sorted(STYLISTS, key=lambda name: name != who["stylist"])
    free = [name for name in asked if is_free(name, service, date, start)]
    if not free:
        raise ToolError("not_free", f"{stylist or 'every stylist'} on {date} at {start}")
    return which_booking(
        app.db.execute(
            "INSERT INTO bookings (client, service, date, start, stylist) VALUES (?, ?, ?, ?, ?)",
            (who["id"], service, date, start, free[0]),
        ).lastrowid
    )


@app.tool(
    "set",
    "Changes a booking: moves it to another day or time, gives it to another stylist, or makes it another service.",
    {
        **WHICH_BOOKING,
        "date": day("The new day, as YYYY-MM-DD"),
        "start": text("The new time, as HH:MM, from 00:00 to 23:59", **START),
        "stylist": text("The stylist who takes it over", enum=STYLISTS),
        "service": text("The service that is done instead", enum=list(MENU)),
    },
    BOOKING,
)
def change_booking(id=None, client=None, date=None, start=None, stylist=None, service=None):
    booking = which_booking(id, client)
    if booking["status"] != "booked":
        raise ToolError("wrong_state", f"booking {booking['id']} is {booking['status']}")
    where = (
        stylist or booking["stylist"],
        service or booking["service"],
        date or booking["date"],
        start or booking["start"],
    )
    if not is_free(*where, booking["id"]):
        raise ToolError("not_free", f"{where[0]} on {where[2]} at {where[3]}")
    app.change("bookings", booking["id"], date=date, start=start, stylist=stylist, service=service)
    return which_booking(booking["id"])


@app.tool(
    "delete",
    "Cancels a booking when the client calls it off, by its number or by the client's name.",
    WHICH_BOOKING,
    record(cancelled=BOOKING),
)
def cancel_booking(id=None, client=None):
    return {"cancelled": to_status(which_booking(id, client), ("booked", "cancelled"), "cancelled")}


@app.tool(
    "set",
    "Seats a client who has arrived: the client of this booking is in the chair now.",
    WHICH_BOOKING,
    BOOKING,
)
def seat_client(id=None, client=None):
    return to_status(which_booking(id, client), ("booked", "in_chair"), "in_chair")


@app.tool(
    "set",
    "Marks a booking as a no-show: the client did not turn up and did not call.",
    WHICH_BOOKING,
    BOOKING,
)
def mark_no_show(id=None, client=None):
    return to_status(which_booking(id, client), ("booked", "no_show"), "no_show")


@app.tool(
    "set",
    "Rings up a booking at the till: the client has paid for the service and is done.",
    {
        **WHICH_BOOKING,
        "method": text("How the client paid", enum=METHODS),
        "tip": number("The tip on top of the price", minimum=0),
    },
    BOOKING,
)
def ring_up_booking(id=None, client=None, method=None, tip=None):
    return to_status(
        which_booking(id, client), ("booked", "in_chair", "paid"), "paid", method=method, tip=tip
    )


@app.tool(
    "read",
    "Lists the products on the shelf with price and stock, optionally by name, of one category, of one brand, or only those that run low.",
    {
        "name": text("Only products with this in their name"),
        "category": CATEGORY,
        "brand": text("Only products of this brand"),
        "low_stock": {
            "type": "boolean",
            "description": f"Only products that run low: fewer than {LOW} are left",
        },
    },
    many("products", PRODUCT),
)
def list_products(name=None, category=None, brand=None, low_stock=None):
    return several(
        "products",
        [
            row
            for row in app.rows(ALL_PRODUCTS)
            if has(name, row["name"])
            and category in (None, row["category"])
            and has(brand, row["brand"])
            and low_stock in (None, row["stock"] < LOW)
        ],
    )


@app.tool(
    "add",
    "Sells a product over the counter and takes it off the stock.",
    {
        **WHICH_PRODUCT,
        "quantity": number("How many are sold; one when nothing is said", "integer", minimum=1),
        "client": text("The client who buys it: the name or the number"),
    },
    PRODUCT,
)
def sell_product(id=None, name=None, quantity=1, client=None):
    product = which_product(id, name)
    buyer = client_said(client)["id"] if client else None
    if product["stock"] < quantity:
        raise ToolError("not_enough", f"{product['stock']} of product {product['id']} left")
    app.change("products", product["id"], stock=product["stock"] - quantity)
    app.db.execute(
        "INSERT INTO sales (product, quantity, client, date) VALUES (?, ?, ?, ?)",
        (product["id"], quantity, buyer, str(app.today())),
    )
    return which_product(product["id"])


@app.tool(
    "add",
    "Restocks a product when a delivery has come in: adds this many to what is on the shelf.",
    {**WHICH_PRODUCT, "quantity!": number("How many came in", "integer", minimum=1)},
    PRODUCT,
)
def restock_product(quantity, id=None, name=None):
    product = which_product(id, name)
    app.change("products", product["id"], stock=product["stock"] + quantity)
    return which_product(product["id"])


if __name__ == "__main__":
    app.serve()
