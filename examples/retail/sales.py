"""The retailer's sales space behind MCP: orders, revenue, margin, returns and stock. `python3 sales.py [--takes SECONDS]`."""

from space import Space

space = Space(
    "sales",
    "It knows orders, revenue, margin, discounts, returns, best sellers, and the stock in the warehouses.",
    ["sales", "products", "inventory"],
)
PERIODS = {"month": "substr(order_date, 1, 7)", "year": "substr(order_date, 1, 4)"}


@space.report(
    "stock inventory warehouse available supply shortage units",
    "Stock of each product over all warehouses, lowest against its reorder level first.",
    by=("product", "warehouse"),
)
def stock(by):
    key = "product" if by == "product" else "product, warehouse"
    return (
        "Stock",
        f"""SELECT {key}, sum(stock) AS stock, sum(reorder_level) AS reorder_level, sum(stock < reorder_level) AS places_short
        FROM inventory JOIN products USING (product_id) WHERE {{only}} GROUP BY {key} ORDER BY places_short DESC, 1.0 * sum(stock) / sum(reorder_level), product""",
    )


@space.report(
    "replenish restock reorder delivery deliveries",
    "When each product was last restocked in each warehouse, oldest first.",
)
def restocking(by):
    return (
        "Last restocked",
        """SELECT product, warehouse, last_restocked, stock FROM inventory JOIN products USING (product_id)
        WHERE {only} ORDER BY last_restocked, product, warehouse""",
    )


@space.report(
    "return returned refund complaint",
    "How often each product comes back, worst first.",
    by=("product", "category", "state"),
)
def returns(by):
    return (
        f"Returns by {by}",
        f"""SELECT {by}, round(avg(returned = 'yes'), 3) AS return_rate, count(*) AS orders
        FROM sales WHERE {{only}} GROUP BY {by} ORDER BY return_rate DESC, {by}""",
    )


@space.report(
    "margin profit profitable cost earn",
    "Revenue, cost and margin, most profitable first.",
    by=("product", "category", "state", "segment", "year", "month"),
)
def margin(by):
    key = PERIODS.get(by, by)
    return (
        f"Margin by {by}",
        f"""SELECT {key} AS {by}, round(sum(amount) - sum(cost), 2) AS profit, round((sum(amount) - sum(cost)) / sum(amount), 3) AS margin
        FROM sales WHERE amount IS NOT NULL AND {{only}} GROUP BY {key} ORDER BY profit DESC, 1""",
    )


@space.report(
    "sales sell sold selling seller revenue order orders buy buying bought popular purchase",
    "Revenue, orders and units sold, largest first.",
    by=("product", "category", "state", "segment", "city", "year", "month"),
)
def revenue(by):
    key = PERIODS.get(by, by)
    order = "1" if by in PERIODS else "revenue DESC, 1"
    return (
        f"Revenue by {by}",
        f"""SELECT {key} AS {by}, round(sum(amount), 2) AS revenue, count(*) AS orders, sum(quantity) AS units
        FROM sales WHERE {{only}} GROUP BY {key} ORDER BY {order}""",
    )


if __name__ == "__main__":
    space.serve()
