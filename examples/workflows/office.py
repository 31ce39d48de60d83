"""The tools of the example workflows behind MCP: `python3 office.py [--outbox FILE]`.

Every tool answers from a small table or writes one line to the outbox, so that each workflow of this folder runs as it is, with no
account and no network. Weather is known for a few cities; `weather_now` fails for the others, which is what fallbacks are for.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
from mcp_stdio import Server, ToolError, number, record, text  # noqa: E402

NOW = {"oslo": ("snow", -4), "lisbon": ("sun", 19), "berlin": ("rain", 7)}
USUAL = {"oslo": -3, "lisbon": 16, "berlin": 5, "paris": 8, "madrid": 11}
NEWS = {
    "oslo": "The ferry line to Nesodden runs every ten minutes again.",
    "lisbon": "Tram 28 is diverted until Friday.",
}
FACTS = {
    "tea": [
        "Tea is made from the leaves of Camellia sinensis.",
        "Black tea is fully oxidised, green tea is not.",
    ],
    "bees": [
        "A honey bee visits up to 1,500 flowers to fill its stomach once.",
        "Bees see ultraviolet light.",
    ],
}


class Office(Server):
    def options(self, parser):
        parser.add_argument(
            "--outbox", help="append what is sent, refunded or saved to this file, a JSON line each"
        )

    def note(self, kind, **what):
        """Writes one effect to the outbox and returns it."""
        line = {"kind": kind, **what}
        if self.set.outbox:
            with open(os.path.expanduser(self.set.outbox), "a", encoding="utf-8") as out:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
        return line


office = Office("office", "Weather, news, facts, refunds, mail and texts for the example workflows.")
WEATHER = record(city=text("The city"), sky=text("Sun, rain or snow"), celsius=number("The temperature"))


@office.tool("read", "The weather in a city now.", {"city!": text("The city's name")}, WEATHER)
def weather_now(city):
    if city.lower() not in NOW:
        raise ToolError("unavailable", f"no weather station answers for {city}")
    sky, celsius = NOW[city.lower()]
    return {"city": city, "sky": sky, "celsius": celsius}


@office.tool(
    "read",
    "The usual weather of a city at this time of the year.",
    {"city!": text("The city's name")},
    WEATHER,
)
def weather_usual(city):
    if city.lower() not in USUAL:
        raise ToolError("not_found", f"city {city}")
    return {"city": city, "sky": "unknown", "celsius": USUAL[city.lower()]}


@office.tool(
    "read", "Today's news about a place.", {"about!": text("The place")}, record(news=text("One sentence"))
)
def news_today(about):
    return {"news": NEWS.get(about.lower(), f"Nothing new about {about}.")}


@office.tool(
    "read", "Collects facts about a topic.", {"topic!": text("The topic")}, record(facts=text("Sentences"))
)
def find_facts(topic):
    known = next((facts for word, facts in FACTS.items() if word in topic.lower()), None)
    return {"facts": " ".join(known) if known else f"No facts are kept about {topic}."}


@office.tool(
    "read",
    "Writes a text from notes: one paragraph with a title.",
    {"notes!": text("What the text is written from")},
    record(text=text("The text")),
)
def write_text(notes):
    return {"text": f"{notes.strip().rstrip('.')}."}


@office.tool(
    "read",
    "Criticises a text: OK, or what to change.",
    {"text!": text("The text")},
    record(verdict=text("OK, or what to change")),
)
def review_text(text):
    long_enough = len(text.split()) >= 5
    return {"verdict": "OK" if long_enough else "Too short: say more."}


@office.tool(
    "read",
    "Says whether a customer's message asks for a refund or is a question.",
    {"message!": text("The message")},
    record(kind=text("refund or question")),
)
def classify_message(message):
    return {
        "kind": "refund"
        if any(word in message.lower() for word in ("refund", "money back", "broken"))
        else "question"
    }


@office.tool(
    "add",
    "Pays an amount back for an order.",
    {"order!": text("The order's number"), "amount!": number("Euros", minimum=0)},
    record(refunded=number("Euros"), order=text("The order's number")),
)
def refund_order(order, amount):
    office.note("refund", order=order, amount=amount)
    return {"refunded": amount, "order": order}


@office.tool(
    "add",
    "Sends a mail.",
    {"to!": text("The address"), "text!": text("The text")},
    record(sent=text("The address")),
)
def send_mail(to, text):
    office.note("mail", to=to, text=text)
    return {"sent": to}


@office.tool(
    "add", "Saves a text.", {"text!": text("The text")}, record(saved=number("Characters", "integer"))
)
def save_text(text):
    office.note("text", text=text)
    return {"saved": len(text)}


if __name__ == "__main__":
    office.serve()
