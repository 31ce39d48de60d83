"""The retailer's web space behind MCP: carts, visits, conversion and demographics. `python3 web_analytics.py [--takes SECONDS]`."""

from space import Space

space = Space(
    "web_analytics",
    "It knows carts that were left behind, visits of the web shop by channel and device, conversion, and the demographics of customers.",
    ["carts", "products", "sessions", "visitors", "customers"],
)


@space.report(
    "demographic demographics age ages old young gender women men who",
    "Who leaves carts behind: customers with abandoned carts by age group, gender, segment or state.",
    by=("age_group", "gender", "segment", "state"),
)
def demographics(by):
    return (
        f"Customers with abandoned carts by {by}",
        f"""SELECT {by}, count(DISTINCT customer_id) AS customers, count(*) AS abandoned_carts
        FROM carts JOIN products USING (product_id) JOIN visitors USING (customer_id) JOIN customers USING (customer_id)
        WHERE status = 'abandoned' AND {{only}} GROUP BY {by} ORDER BY abandoned_carts DESC, {by}""",
    )


@space.report(
    "abandon abandoned abandonment cart carts basket checkout hesitate leave buy buying",
    "Cart abandonment: how often carts with each product are left behind, most often first.",
    by=("product", "category", "month", "segment", "state"),
)
def abandonment(by):
    key = "substr(created_at, 1, 7)" if by == "month" else by
    return (
        f"Cart abandonment by {by}",
        f"""SELECT {key} AS {by}, round(avg(status = 'abandoned'), 3) AS abandonment_rate, sum(status = 'abandoned') AS abandoned, count(*) AS carts
        FROM carts JOIN products USING (product_id) JOIN customers USING (customer_id) WHERE {{only}} GROUP BY {key} ORDER BY abandonment_rate DESC, 1""",
    )


@space.report(
    "conversion convert converted converting",
    "Conversion: which share of the visits ends with a purchase, best first.",
    by=("channel", "device", "month", "product"),
)
def conversion(by):
    key = "substr(started_at, 1, 7)" if by == "month" else by
    return (
        f"Conversion by {by}",
        f"""SELECT {key} AS {by}, round(avg(converted = 'yes'), 4) AS conversion_rate, count(*) AS visits
        FROM sessions JOIN products USING (product_id) WHERE {{only}} GROUP BY {key} ORDER BY conversion_rate DESC, 1""",
    )


@space.report(
    "visit visits visitor visitors session sessions traffic page pages view views viewed web website channel device browse",
    "Visits of the web shop with pages and minutes, most visits first.",
    by=("channel", "device", "month", "hour", "product"),
)
def visits(by):
    key = {"month": "substr(started_at, 1, 7)", "hour": "substr(started_at, 12, 2)"}.get(by, by)
    return (
        f"Visits by {by}",
        f"""SELECT {key} AS {by}, count(*) AS visits, round(avg(pages), 1) AS pages, round(avg(minutes), 1) AS minutes
        FROM sessions JOIN products USING (product_id) WHERE {{only}} GROUP BY {key} ORDER BY visits DESC, 1""",
    )


if __name__ == "__main__":
    space.serve()
