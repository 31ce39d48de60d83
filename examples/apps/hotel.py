"""The front desk of a small hotel behind MCP: `python3 hotel.py [--db FILE]`. The options for tests are listed by `--help`."""

import datetime

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

KINDS = ["single", "double", "twin", "family", "suite"]
STATUSES = ["clean", "dirty", "out_of_order"]
STATES = ["booked", "checked_in", "checked_out", "cancelled"]
TABLES = [
    "CREATE TABLE rooms (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, kind TEXT NOT NULL, price REAL NOT NULL, status TEXT NOT NULL)",
    """CREATE TABLE bookings (id INTEGER PRIMARY KEY AUTOINCREMENT, guest TEXT NOT NULL, room INTEGER NOT NULL REFERENCES rooms,
        arrival TEXT NOT NULL, departure TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'booked')""",
]
ROOMS = [
    (101, "Garden single", "single", 70, "clean"),
    (102, "Garden double", "double", 110, "dirty"),
    (103, "Courtyard twin", "twin", 105, "clean"),
    (201, "Sea view double", "double", 140, "clean"),
    (202, "Balcony twin", "twin", 115, "clean"),
    (203, "Attic single", "single", 65, "out_of_order"),
    (301, "Family loft", "family", 180, "dirty"),
    (302, "Rose suite", "suite", 240, "clean"),
]
BOOKINGS = [
    ("Karin Lind", 201, "2026-06-10", "2026-06-13", "booked"),
    ("Oskar Lind", 101, "2026-06-12", "2026-06-14", "booked"),
    ("Marta Novak", 102, "2026-06-07", "2026-06-10", "checked_in"),
    ("Peter Quinn", 301, "2026-06-08", "2026-06-11", "checked_in"),
    ("Yuki Tanaka", 302, "2026-06-15", "2026-06-19", "booked"),
    ("Helen Brandt", 103, "2026-06-10", "2026-06-12", "booked"),
    ("Samuel Okoro", 202, "2026-06-03", "2026-06-06", "checked_out"),
    ("Ines Duarte", 201, "2026-06-20", "2026-06-23", "cancelled"),
]
INSERT = "INSERT INTO bookings (guest, room, arrival, departure, state) VALUES (?, ?, ?, ?, ?)"
app = App(
    "hotel",
    "The front desk of a small hotel: rooms and their state, bookings, guests who arrive and leave.",
    TABLES,
    [("INSERT INTO rooms (id, name, kind, price, status) VALUES (?, ?, ?, ?, ?)", ROOMS), (INSERT, BOOKINGS)],
)

KIND = text("What kind of room", enum=KINDS)
STATUS = text("Whether the room is clean, dirty or out of order", enum=STATUSES)
STATE = text("How far the booking is", enum=STATES)
ROOM = record(
    id=number("The room's number", "integer"),
    name=text("What the room is called"),
    kind=KIND,
    price=number("What a night costs"),
    status=STATUS,
)
BOOKING = record(
    id=number("The booking's number", "integer"),
    guest=text("The guest's name"),
    room=number("The room's number", "integer"),
    arrival=text("When the guest comes (YYYY-MM-DD)"),
    departure=text("When the guest leaves (YYYY-MM-DD)"),
    state=STATE,
)
WHICH_ROOM = {
    "id": number("The room's number", "integer", minimum=1),
    "name": text("What the room is called, or words from it"),
}
WHICH_BOOKING = {
    "id": number("The booking's number", "integer", minimum=1),
    "guest": text("The guest's name, or a part of it"),
}
ALL_ROOMS = "SELECT * FROM rooms ORDER BY id"
ALL_BOOKINGS = "SELECT * FROM bookings ORDER BY arrival, id"


def which_room(id=None, name=None):
    return app.one("room", ALL_ROOMS, "name", id, name)


def which_booking(id=None, guest=None):
    return app.one("booking", ALL_BOOKINGS, "guest", id, guest)


def room_said(room):
    """The room that a text means: its number or its name."""
    return which_room(int(room), None) if room.isdecimal() else which_room(None, room)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def in_order(arrival, departure):
    if departure <= arrival:
        raise ToolError("field_invalid", "departure must be after arrival")


def is_free(room, arrival, departure, but=None):
    """Whether nobody else has the room in these nights."""
    taken = app.rows(
        "SELECT id FROM bookings WHERE room = ? AND state IN ('booked', 'checked_in') AND arrival < ? AND departure > ? AND id IS NOT ?",
        room["id"],
        departure,
        arrival,
        but,
    )
    return room["status"] != "out_of_order" and not taken


def to_state(booking, before, after):
    if booking["state"] not in before:
        raise ToolError("wrong_state", f"booking {booking['id']} is {booking['state']}")
    app.change("bookings", booking["id"], state=after)
    return which_booking(booking["id"])


@app.tool(
    "read",
    "Lists the rooms of the hotel with price and status, optionally only clean, dirty or out of order ones, or of one kind.",
    {"status": STATUS, "kind": KIND},
    many("rooms", ROOM),
)
def list_rooms(status=None, kind=None):
    return several(
        "rooms",
        [
            row
            for row in app.rows(ALL_ROOMS)
            if status in (None, row["status"]) and kind in (None, row["kind"])
        ],
    )


@app.tool(
    "read",
    "Finds rooms that are free (available, not booked) between two dates, optionally of one kind or up to a price.",
    {
        "arrival": day("The first night, as YYYY-MM-DD; today when nothing is said"),
        "departure": day(
            "When the guest would leave, as YYYY-MM-DD; the day after the arrival when nothing is said"
        ),
        "kind": KIND,
        "max_price": number("Only rooms that cost at most this a night", minimum=0),
    },
    many("rooms", ROOM),
)
def find_free_rooms(arrival=None, departure=None, kind=None, max_price=None):
    arrival = arrival or str(app.today())
    departure = departure or str(datetime.date.fromisoformat(arrival) + datetime.timedelta(days=1))
    in_order(arrival, departure)
    rows = [
        row
        for row in app.rows(ALL_ROOMS)
        if kind in (None, row["kind"]) and (max_price is None or row["price"] <= max_price)
    ]
    return several("rooms", [row for row in rows if is_free(row, arrival, departure)])


@app.tool(
    "read",
    "Shows one room of the hotel with its kind, price and status, by its number or by its name.",
    WHICH_ROOM,
    ROOM,
)
def get_room(id=None, name=None):
    return which_room(id, name)


@app.tool(
    "set",
    "Sets the status of a room: clean after cleaning, dirty when it has to be cleaned, out of order when something is broken.",
    {**WHICH_ROOM, "status!": STATUS},
    ROOM,
)
def set_room_status(status, id=None, name=None):
    room = which_room(id, name)
    app.change("rooms", room["id"], status=status)
    return which_room(room["id"])


@app.tool(
    "read",
    "Lists bookings (reservations), optionally of one state, for one room, or with guests who arrive or leave on a date.",
    {
        "state": STATE,
        "room": text("Only bookings for this room: its number or its name"),
        "arrival": day("Only guests who arrive on this date"),
        "departure": day("Only guests who leave on this date"),
    },
    many("bookings", BOOKING),
)
def list_bookings(state=None, room=None, arrival=None, departure=None):
    asked = {
        "state": state,
        "room": room_said(room)["id"] if room else None,
        "arrival": arrival,
        "departure": departure,
    }
    return several(
        "bookings",
        [
            row
            for row in app.rows(ALL_BOOKINGS)
            if all(value in (None, row[name]) for name, value in asked.items())
        ],
    )


@app.tool(
    "read",
    "Shows one booking (reservation) with guest, room, dates and state, by its number or by the guest's name.",
    WHICH_BOOKING,
    BOOKING,
)
def get_booking(id=None, guest=None):
    return which_booking(id, guest)


@app.tool(
    "add",
    "Creates a new booking: reserves a room for a guest from the day of arrival to the day of departure.",
    {
        "guest!": text("The guest's name"),
        "room!": text("The room: its number or its name"),
        "arrival!": day("When the guest comes, as YYYY-MM-DD"),
        "departure!": day("When the guest leaves, as YYYY-MM-DD"),
    },
    BOOKING,
)
def create_booking(guest, room, arrival, departure):
    place = room_said(room)
    in_order(arrival, departure)
    if not is_free(place, arrival, departure):
        raise ToolError("not_free", f"room {place['id']} from {arrival} to {departure}")
    return which_booking(app.db.execute(INSERT, (guest, place["id"], arrival, departure, "booked")).lastrowid)


@app.tool(
    "set",
    "Moves a booking to another room or to other dates, also when a guest stays longer or leaves earlier.",
    {
        **WHICH_BOOKING,
        "room": text("The room it moves to: its number or its name"),
        "arrival": day("The new day of arrival, as YYYY-MM-DD"),
        "departure": day("The new day of departure, as YYYY-MM-DD"),
    },
    BOOKING,
)
def move_booking(id=None, guest=None, room=None, arrival=None, departure=None):
    booking = which_booking(id, guest)
    if booking["state"] not in ("booked", "checked_in"):
        raise ToolError("wrong_state", f"booking {booking['id']} is {booking['state']}")
    place = room_said(room) if room else which_room(booking["room"])
    first, last = arrival or booking["arrival"], departure or booking["departure"]
    in_order(first, last)
    if not is_free(place, first, last, booking["id"]):
        raise ToolError("not_free", f"room {place['id']} from {first} to {last}")
    app.change(
        "bookings", booking["id"], room=place["id"] if room else None, arrival=arrival, departure=departure
    )
    return which_booking(booking["id"])


@app.tool(
    "delete",
    "Cancels a booking (reservation) of a guest who will not come, by its number or by the guest's name.",
    WHICH_BOOKING,
    record(cancelled=BOOKING),
)
def cancel_booking(id=None, guest=None):
    return {"cancelled": to_state(which_booking(id, guest), ("booked", "cancelled"), "cancelled")}


@app.tool(
    "set",
    "Checks in a guest who has arrived, by the number of the booking or by the guest's name.",
    WHICH_BOOKING,
    BOOKING,
)
def check_in_guest(id=None, guest=None):
    return to_state(which_booking(id, guest), ("booked", "checked_in"), "checked_in")


@app.tool(
    "set",
    "Checks out a guest who leaves the hotel, by the number of the booking or by the guest's name.",
    WHICH_BOOKING,
    BOOKING,
)
def check_out_guest(id=None, guest=None):
    return to_state(which_booking(id, guest), ("checked_in", "checked_out"), "checked_out")


if __name__ == "__main__":
    app.serve()
