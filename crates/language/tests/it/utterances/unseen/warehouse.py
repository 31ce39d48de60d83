"""The stock of a small warehouse behind MCP: `python3 warehouse.py [--db FILE]`. The options for tests are listed by `--help`."""

import json
import re

from mcp_stdio import ToolError, day, many, number, record, text
from sqlite_app import App

CATEGORIES = ["tools", "protective_gear", "fixings", "paint"]
CARRIERS = ["DHL", "UPS", "DPD", "own_van"]
REASONS = ["damaged", "expired", "lost", "stolen"]
TABLES = [
    """CREATE TABLE products (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, category TEXT NOT NULL, stock INTEGER NOT NULL DEFAULT 0,
        min_stock INTEGER NOT NULL DEFAULT 0, shelf TEXT NOT NULL)""",
    """CREATE TABLE deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT, supplier TEXT NOT NULL, product INTEGER NOT NULL REFERENCES products,
        quantity INTEGER NOT NULL, expected TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'announced')""",
    """CREATE TABLE shipments (id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT NOT NULL, product INTEGER NOT NULL REFERENCES products,
        quantity INTEGER NOT NULL, ship_by TEXT NOT NULL, carrier TEXT NOT NULL DEFAULT '', state TEXT NOT NULL DEFAULT 'open',
        picker TEXT NOT NULL DEFAULT '', tracking TEXT NOT NULL DEFAULT '')""",
    """CREATE TABLE write_offs (id INTEGER PRIMARY KEY AUTOINCREMENT, product INTEGER NOT NULL REFERENCES products, quantity INTEGER NOT NULL,
        reason TEXT NOT NULL, date TEXT NOT NULL)""",
]
PRODUCTS = [
    (1001, "Cordless drill 18V", "tools", 24, 10, "A-01"),
    (1002, "Cordless drill 12V", "tools", 6, 8, "A-02"),
    (1003, "Angle grinder", "tools", 15, 5, "A-04"),
    (1004, "Claw hammer", "tools", 60, 20, "A-05"),
    (1005, "Safety gloves size M", "protective_gear", 140, 100, "B-01"),
    (1006, "Safety gloves size L", "protective_gear", 35, 100, "B-02"),
    (1007, "Safety goggles", "protective_gear", 80, 40, "B-03"),
    (1008, "Hard hat", "protective_gear", 22, 15, "B-05"),
    (1009, "Wood screws 4x40", "fixings", 320, 100, "C-01"),
    (1010, "Wall plugs 8mm", "fixings", 90, 120, "C-02"),
    (1011, "Hex bolts M8", "fixings", 200, 50, "C-04"),
    (1012, "White wall paint 10 L", "paint", 18, 12, "D-01"),
    (1013, "Primer 5 L", "paint", 9, 6, "D-02"),
    (1014, "Paint roller", "paint", 44, 20, "D-04"),
]
DELIVERIES = [
    (501, "Hartmann Tools", 1001, 40, "2026-11-05", "announced"),
    (502, "Nordfix", 1010, 300, "2026-11-06", "announced"),
    (503, "Lumen Paints", 1012, 30, "2026-11-04", "announced"),
    (504, "SafeHands", 1006, 200, "2026-11-05", "announced"),
    (505, "Nordfix", 1009, 500, "2026-11-10", "announced"),
    (506, "Keller Fasteners", 1011, 150, "2026-11-02", "received"),
    (507, "Brisco Supplies", 1014, 60, "2026-11-09", "announced"),
]
SHIPMENTS = [
    (801, "Bauer Construction", 1009, 40, "2026-11-05", "DHL", "picked", "Jonas", ""),
    (802, "Greenfield School", 1012, 4, "2026-11-05", "own_van", "open", "", ""),
    (803, "Ostrow Joinery", 1001, 2, "2026-11-06", "UPS", "open", "", ""),
    (804, "Meyer & Sons", 1007, 25, "2026-11-05", "DPD", "open", "", ""),
    (805, "Meyer Roofing", 1008, 10, "2026-11-09", "DHL", "open", "", ""),
    (806, "Harbour Hotel", 1014, 6, "2026-11-06", "UPS", "picked", "Amira", ""),
    (807, "Alvarez Electrical", 1011, 60, "2026-11-04", "DPD", "dispatched", "Jonas", "05212204471"),
    (808, "Tilda Berg", 1004, 1, "2026-11-03", "DHL", "cancelled", "", ""),
    (809, "Castle Theatre", 1013, 3, "2026-11-10", "own_van", "open", "", ""),
    (810, "Harbour Hotel", 1012, 2, "2026-11-11", "UPS", "open", "", ""),
]
ADD_DELIVERY = "INSERT INTO deliveries (supplier, product, quantity, expected) VALUES (?, ?, ?, ?)"
ADD_SHIPMENT = "INSERT INTO shipments (customer, product, quantity, ship_by, carrier) VALUES (?, ?, ?, ?, ?)"
app = App(
    "warehouse",
    "A small warehouse: products with their stock and shelf place, deliveries that come in, shipments that are picked and go out.",
    TABLES,
    [
        (
            "INSERT INTO products (id, name, category, stock, min_stock, shelf) VALUES (?, ?, ?, ?, ?, ?)",
            PRODUCTS,
        ),
        (
            "INSERT INTO deliveries (id, supplier, product, quantity, expected, status) VALUES (?, ?, ?, ?, ?, ?)",
            DELIVERIES,
        ),
        (
            "INSERT INTO shipments (id, customer, product, quantity, ship_by, carrier, state, picker, tracking) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            SHIPMENTS,
        ),
    ],
)

CATEGORY = text("The product group", enum=CATEGORIES)
STATUS = text("Whether the delivery is announced (still to come) or received", enum=["announced", "received"])
STATE = text(
    "How far the shipment is: open until it is picked, picked until it leaves",
    enum=["open", "picked", "dispatched", "cancelled"],
)
CARRIER = text("Who carries it: a parcel service or our own van", enum=CARRIERS)
REASON = text("Why the goods are written off", enum=REASONS)
SHELF = text(
    "The shelf place: aisle A to F, a dash and two digits, such as B-03", pattern="^[A-Fa-f]-[0-9]{2}$"
)
PRODUCT = record(
    id=number("The SKU, the product's number", "integer"),
    name=text("What the product is called"),
    category=CATEGORY,
    stock=number("How many are in stock", "integer"),
    min_stock=number("With fewer than this the product runs low", "integer"),
    shelf=text("The shelf place, such as B-03"),
)
DELIVERY = record(
    id=number("The delivery's number", "integer"),
    supplier=text("Who delivers"),
    sku=number("The product's SKU", "integer"),
    product=text("What is delivered"),
    quantity=number("How many are announced or, once received, came in", "integer"),
    expected=text("The day it is expected (YYYY-MM-DD)"),
    status=STATUS,
)
SHIPMENT = record(
    id=number("The shipment's number", "integer"),
    customer=text("Who gets it"),
    sku=number("The product's SKU", "integer"),
    product=text("What is shipped"),
    quantity=number("How many are shipped", "integer"),
    ship_by=text("The day it has to leave (YYYY-MM-DD)"),
    carrier=text("DHL, UPS, DPD, own_van, or nothing"),
    state=STATE,
    picker=text("Who picked it, or nothing"),
    tracking=text("The carrier's tracking number, or nothing"),
)
WRITE_OFF = record(
    id=number("The write-off's number", "integer"),
    sku=number("The product's SKU", "integer"),
    product=text("What was written off"),
    quantity=number("How many were written off", "integer"),
    reason=REASON,
    date=text("The day of the write-off (YYYY-MM-DD)"),
    stock=number("How many are left in stock", "integer"),
)
WHICH_PRODUCT = {
    "id": number("The SKU, the product's number", "integer", minimum=1),
    "name": text("The product's name, or words from it"),
}
WHICH_DELIVERY = {
    "id": number("The delivery's number", "integer", minimum=1),
    "supplier": text(
        "The supplier's name or a part of it, together with the product when the supplier sends several deliveries"
    ),
}
WHICH_SHIPMENT = {
    "id": number("The shipment's number", "integer", minimum=1),
    "customer": text(
        "The customer's name or a part of it, together with the product when the customer gets several shipments"
    ),
}
ALL_PRODUCTS = "SELECT id, name, category, stock, min_stock, shelf FROM products ORDER BY id"
ALL_DELIVERIES = """SELECT d.id, d.supplier, p.id AS sku, p.name AS product, d.quantity, d.expected, d.status
    FROM deliveries d JOIN products p ON p.id = d.product ORDER BY d.expected, d.id"""
ALL_SHIPMENTS = """SELECT s.id, s.customer, p.id AS sku, p.name AS product, s.quantity, s.ship_by, s.carrier, s.state, s.picker, s.tracking
    FROM shipments s JOIN products p ON p.id = s.product ORDER BY s.ship_by, s.id"""


def has(words, whole):
    """Whether all the words are found, a plural also by its singular."""
    whole = whole.casefold()
    return words is None or all(
        word in whole or (word.endswith("s") and word[:-1] in whole) for word in words.casefold().split()
    )


def one(kind, rows, label, more, id=None, words=None):
    """The row that an id or words mean. Words that equal the label win over words that are found in it, and these over what else tells it apart."""
    if id is None and not words:
        raise ToolError("field_required", f"id or {label}")
    if id is not None:
        found = [row for row in rows if row["id"] == id]
    else:
        found = [row for row in rows if row[label].casefold() == words.casefold()]
        found = found or [row for row in rows if has(words, row[label])]
        found = found or [row for row in rows if more and has(words, f"{row[label]} {row[more]}")]
    if not found:
        raise ToolError(
            "not_found", f"{kind} {id if id is not None else json.dumps(words, ensure_ascii=False)}"
        )
    if len(found) > 1:
        names = ", ".join(f'{row["id"]} "{row[label]}{", " + row[more] if more else ""}"' for row in found)
        raise ToolError("ambiguous", f"{kind} {json.dumps(words, ensure_ascii=False)} may be {names}")
    return found[0]


def which_product(id=None, name=None):
    return one("product", app.rows(ALL_PRODUCTS), "name", None, id, name)


def which_delivery(id=None, supplier=None):
    return one("delivery", app.rows(ALL_DELIVERIES), "supplier", "product", id, supplier)


def which_shipment(id=None, customer=None):
    return one("shipment", app.rows(ALL_SHIPMENTS), "customer", "product", id, customer)


def product_said(product):
    """The product that a text means: its SKU or its name."""
    return which_product(int(product), None) if product.isdecimal() else which_product(None, product)


def several(name, rows):
    return {name: rows, "count": len(rows)}


def take(product, quantity):
    """Takes pieces off the stock, which cannot fall below nothing."""
    if product["stock"] < quantity:
        raise ToolError("not_enough_stock", f"product {product['id']} has {product['stock']}, not {quantity}")
    app.change("products", product["id"], stock=product["stock"] - quantity)


@app.tool(
    "read",
    "Lists products with their stock and shelf place, optionally by words from the name, of one category, in one aisle or shelf place, or only those that run low.",
    {
        "name": text("Only products with these words in their name, such as gloves"),
        "category": CATEGORY,
        "shelf": text("Only what lies here: a shelf place such as B-03, or an aisle such as B"),
        "low_stock": {
            "type": "boolean",
            "description": "Only products whose stock is below their minimum, so that they have to be reordered",
        },
    },
    many("products", PRODUCT),
)
def list_products(name=None, category=None, shelf=None, low_stock=None):
    def lies(row):
        return shelf is None or row["shelf"] == shelf.upper() or row["shelf"].split("-")[0] == shelf.upper()

    return several(
        "products",
        [
            row
            for row in app.rows(ALL_PRODUCTS)
            if has(name, row["name"])
            and category in (None, row["category"])
            and lies(row)
            and low_stock in (None, row["stock"] < row["min_stock"])
        ],
    )


@app.tool(
    "read",
    "Shows one product by its SKU or name: how many are in stock, the minimum stock, and the shelf place where it lies.",
    WHICH_PRODUCT,
    PRODUCT,
)
def get_product(id=None, name=None):
    return which_product(id, name)


@app.tool(
    "set",
    "Relocates a product: moves it to another shelf place, which must be empty.",
    {**WHICH_PRODUCT, "shelf!": SHELF},
    PRODUCT,
)
def relocate_product(shelf, id=None, name=None):
    product, shelf = which_product(id, name), shelf.upper()
    if not re.fullmatch("[A-F]-[0-9]{2}", shelf):
        raise ToolError("field_invalid", "shelf must be like B-03")
    if taken := app.rows("SELECT id FROM products WHERE shelf = ? AND id != ?", shelf, product["id"]):
        raise ToolError("shelf_taken", f"{shelf} holds product {taken[0]['id']}")
    app.change("products", product["id"], shelf=shelf)
    return which_product(product["id"])


@app.tool(
    "set",
    "Corrects the stock of a product to the number that was counted on the shelf, as after a stocktake.",
    {**WHICH_PRODUCT, "counted!": number("How many there really are", "integer", minimum=0)},
    PRODUCT,
)
def correct_stock(counted, id=None, name=None):
    product = which_product(id, name)
    app.change("products", product["id"], stock=counted)
    return which_product(product["id"])


@app.tool(
    "delete",
    "Writes off goods that are damaged, expired, lost or stolen: takes that many pieces of a product off the stock for good.",
    {
        **WHICH_PRODUCT,
        "quantity!": number("How many are written off", "integer", minimum=1),
        "reason!": REASON,
    },
    WRITE_OFF,
)
def write_off_stock(quantity, reason, id=None, name=None):
    product, date = which_product(id, name), str(app.today())
    take(product, quantity)
    made = app.db.execute(
        "INSERT INTO write_offs (product, quantity, reason, date) VALUES (?, ?, ?, ?)",
        (product["id"], quantity, reason, date),
    ).lastrowid
    return {
        "id": made,
        "sku": product["id"],
        "product": product["name"],
        "quantity": quantity,
        "reason": reason,
        "date": date,
        "stock": product["stock"] - quantity,
    }


app.tools[-1]["annotations"]["idempotentHint"] = False  # twice takes off twice as many


@app.tool(
    "read",
    "Lists inbound deliveries, optionally of one supplier, with one product, expected on one day, only announced or received ones, or only late ones.",
    {
        "supplier": text("Only deliveries of this supplier: the name or a part of it"),
        "product": text("Only deliveries of this product: words from its name"),
        "expected": day("Only deliveries expected on this day, as YYYY-MM-DD"),
        "status": STATUS,
        "late": {
            "type": "boolean",
            "description": "Only deliveries that should have come before today and have not",
        },
    },
    many("deliveries", DELIVERY),
)
def list_deliveries(supplier=None, product=None, expected=None, status=None, late=None):
    def is_late(row):
        return row["status"] == "announced" and row["expected"] < str(app.today())

    return several(
        "deliveries",
        [
            row
            for row in app.rows(ALL_DELIVERIES)
            if has(supplier, row["supplier"])
            and has(product, row["product"])
            and expected in (None, row["expected"])
            and status in (None, row["status"])
            and late in (None, is_late(row))
        ],
    )


@app.tool(
    "add",
    "Announces a new inbound delivery: a supplier will bring a quantity of a product on a day.",
    {
        "supplier!": text("The supplier's name"),
        "product!": text("The product: its SKU or its name"),
        "quantity!": number("How many will come", "integer", minimum=1),
        "expected!": day("The day it is expected, as YYYY-MM-DD"),
    },
    DELIVERY,
)
def announce_delivery(supplier, product, quantity, expected):
    goods = product_said(product)
    return which_delivery(app.db.execute(ADD_DELIVERY, (supplier, goods["id"], quantity, expected)).lastrowid)


@app.tool(
    "set",
    "Receives a delivery that has arrived (goods in): puts what came on the stock. By the delivery's number or the supplier's name.",
    {
        **WHICH_DELIVERY,
        "quantity": number(
            "How many really came, when it is not the number that was announced", "integer", minimum=0
        ),
    },
    DELIVERY,
)
def receive_delivery(id=None, supplier=None, quantity=None):
    delivery = which_delivery(id, supplier)
    if delivery["status"] != "announced":
        raise ToolError("wrong_state", f"delivery {delivery['id']} is {delivery['status']}")
    came = delivery["quantity"] if quantity is None else quantity
    app.change("deliveries", delivery["id"], status="received", quantity=came)
    app.db.execute("UPDATE products SET stock = stock + ? WHERE id = ?", (came, delivery["sku"]))
    return which_delivery(delivery["id"])


@app.tool(
    "read",
    "Lists outbound shipments, optionally to one customer, of one state, that have to leave on one day, or with one carrier.",
    {
        "customer": text("Only shipments to this customer: the name or a part of it"),
        "state": STATE,
        "ship_by": day("Only shipments that have to leave on this day, as YYYY-MM-DD"),
        "carrier": CARRIER,
    },
    many("shipments", SHIPMENT),
)
def list_shipments(customer=None, state=None, ship_by=None, carrier=None):
    asked = {"state": state, "ship_by": ship_by, "carrier": carrier}
    return several(
        "shipments",
        [
            row
            for row in app.rows(ALL_SHIPMENTS)
            if has(customer, row["customer"])
            and all(value in (None, row[name]) for name, value in asked.items())
        ],
    )


@app.tool(
    "read",
    "Shows one outbound shipment (order) by its number or the customer's name: product, quantity, carrier, the day it has to leave, how far it is.",
    WHICH_SHIPMENT,
    SHIPMENT,
)
def get_shipment(id=None, customer=None):
    return which_shipment(id, customer)


@app.tool(
    "add",
    "Creates an outbound shipment (order) of a quantity of one product to a customer.",
    {
        "customer!": text("The customer's name"),
        "product!": text("The product: its SKU or its name"),
        "quantity!": number("How many are shipped", "integer", minimum=1),
        "ship_by": day("The day it has to leave, as YYYY-MM-DD; today when nothing is said"),
        "carrier": CARRIER,
    },
    SHIPMENT,
)
def create_shipment(customer, product, quantity, ship_by=None, carrier=""):
    goods = product_said(product)
    return which_shipment(
        app.db.execute(
            ADD_SHIPMENT, (customer, goods["id"], quantity, ship_by or str(app.today()), carrier)
        ).lastrowid
    )


@app.tool(
    "set",
    "Marks an open shipment as picked: its goods were taken from the shelf and are ready to leave.",
    {**WHICH_SHIPMENT, "picker": text("Who picked it")},
    SHIPMENT,
)
def pick_shipment(id=None, customer=None, picker=None):
    shipment = which_shipment(id, customer)
    if shipment["state"] not in ("open", "picked"):
        raise ToolError("wrong_state", f"shipment {shipment['id']} is {shipment['state']}")
    if shipment["state"] == "open":
        take(which_product(shipment["sku"]), shipment["quantity"])
    app.change("shipments", shipment["id"], state="picked", picker=picker)
    return which_shipment(shipment["id"])


@app.tool(
    "set",
    "Dispatches a picked shipment: it has left the warehouse with the carrier.",
    {**WHICH_SHIPMENT, "carrier": CARRIER, "tracking": text("The carrier's tracking number")},
    SHIPMENT,
)
def dispatch_shipment(id=None, customer=None, carrier=None, tracking=None):
    shipment = which_shipment(id, customer)
    if shipment["state"] not in ("picked", "dispatched"):
        raise ToolError("wrong_state", f"shipment {shipment['id']} is {shipment['state']}")
    app.change("shipments", shipment["id"], state="dispatched", carrier=carrier, tracking=tracking)
    return which_shipment(shipment["id"])


@app.tool(
    "delete",
    "Cancels a shipment (order) that the customer does not want any more and that has not left; picked goods go back on the shelf.",
    WHICH_SHIPMENT,
    record(cancelled=SHIPMENT),
)
def cancel_shipment(id=None, customer=None):
    shipment = which_shipment(id, customer)
    if shipment["state"] == "dispatched":
        raise ToolError("wrong_state", f"shipment {shipment['id']} is dispatched")
    if shipment["state"] == "picked":
        app.db.execute(
            "UPDATE products SET stock = stock + ? WHERE id = ?", (shipment["quantity"], shipment["sku"])
        )
    app.change("shipments", shipment["id"], state="cancelled")
    return {"cancelled": which_shipment(shipment["id"])}


if __name__ == "__main__":
    app.serve()
