"""A space of retail data that is asked in plain words: a question is handed in, and its answer is fetched when it is there.

It stands in for a hosted service of this kind. Which report a question means is told by its words alone, so it understands
little and always the same. The files beside it are loaded into memory at the start; emails, phones and names of people are
not loaded at all. Each report is a tool of its own, too.
"""

import csv
import re
import sqlite3
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "apps"))
from mcp_stdio import Server, ToolError, number, record, text  # noqa: E402

PERSONAL = {"name", "email", "phone"}
TABLE = {
    "columns": {"type": "array", "items": {"type": "string"}},
    "rows": {"type": "array", "items": {"type": "array"}},
}
REPORT = record(
    title=text("What is shown"),
    answer=text("The first rows in words"),
    sql_query=text("How it was found"),
    **TABLE,
)
STATE = record(
    status=text("EXECUTING_QUERY or COMPLETED"),
    conversation_id=text("The talk"),
    message_id=text("The question"),
)
STATE["properties"].update(
    {
        "title": text("What is shown"),
        "answer": text("The answer in words"),
        "sql_query": text("How it was found"),
        **TABLE,
    }
)


class Space(Server):
    """Reports over tables, asked by name or in plain words."""

    def __init__(self, name, about, tables):
        super().__init__(name, about)
        self.reports, self.asked, self.talks = [], {}, {}
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        for table in tables:
            self.load(table)
        self.products = [row[0] for row in self.db.execute("SELECT product FROM products")]
        question = {
            "query!": text("The question in plain words"),
            "conversation_id": text(
                "Goes on with an earlier talk, so that `their` and `those` are understood"
            ),
        }
        self.offer(
            "read",
            f"query_space_{name}",
            f"Asks the {name} space a question in plain words. {about} The answer is fetched with poll_response_{name}.",
            question,
            STATE,
            self.query,
        )
        answer = {
            "conversation_id!": text("As query_space gave it"),
            "message_id!": text("As query_space gave it"),
        }
        self.offer(
            "read",
            f"poll_response_{name}",
            f"Fetches the answer to a question that was handed to query_space_{name}, or says that it still runs.",
            answer,
            STATE,
            self.poll,
        )

    def offer(self, effect, name, description, takes, gives, function):
        def tool(**arguments):
            return function(**arguments)

        tool.__name__ = name
        self.tool(effect, description, takes, gives)(tool)

    def options(self, parser):
        parser.add_argument(
            "--takes",
            type=float,
            default=0.3,
            metavar="SECONDS",
            help="how long a question runs before its answer is there",
        )

    def load(self, table):
        with open(HERE / f"{table}.csv", newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            columns = [column for column in lines.fieldnames if column not in PERSONAL]
            # NUMERIC keeps texts as they are and makes numbers of what looks like one.
            self.db.execute(f"CREATE TABLE {table} ({', '.join(f'{column} NUMERIC' for column in columns)})")
            marks = ", ".join("?" for _ in columns)
            self.db.executemany(
                f"INSERT INTO {table} VALUES ({marks})",
                ([line[column] or None for column in columns] for line in lines),
            )

    def report(self, words, description, by=()):
        """Offers a report under the name of its function, and to questions that have one of its words."""
        takes = {
            "products": {"type": "array", "items": {"type": "string"}, "description": "Only these products"},
            "limit": number("At most so many rows", "integer", minimum=1),
        }
        if by:
            takes["by"] = text(f"What it is split by; {by[0]} when nothing is said", enum=list(by))

        def offered(function):
            def run(products=(), limit=10, by=by[0] if by else None):
                unknown = [
                    name for name in products if name.casefold() not in map(str.casefold, self.products)
                ]
                if unknown:
                    raise ToolError("not_found", f"product {unknown[0]!r}")
                title, statement = function(by)
                marks = ", ".join("?" for _ in products)
                statement = statement.replace(
                    "{only}", f"product COLLATE NOCASE IN ({marks})" if products else "1"
                ).strip()
                cursor = self.db.execute(f"{statement} LIMIT {limit}", list(products))
                columns = [column[0] for column in cursor.description]
                rows = [list(row) for row in cursor]
                return {
                    "title": title,
                    "answer": told(title, columns, rows),
                    "sql_query": re.sub(r"\s+", " ", statement),
                    "columns": columns,
                    "rows": rows,
                }

            self.reports.append((words.split(), by, run))
            self.offer("read", function.__name__, description, takes, REPORT, run)
            return run

        return offered

    def read(self, question, talk):
        """What a question means: the report with most of its words, the products it names, how it is split."""
        said = re.findall(r"[a-z0-9]+", question.casefold())

        def has(word):
            return any(each == word or (len(word) > 3 and each.startswith(word)) for each in said)

        score, place = max((sum(map(has, words)), -place) for place, (words, _, _) in enumerate(self.reports))
        if not score:
            raise ToolError("not_answerable", f"the {self.name} space knows nothing of this. {self.about}")
        _, by, run = self.reports[-place]
        meant = {"products": [name for name in self.products if name.casefold() in question.casefold()]}
        if not meant["products"] and {"their", "those", "these", "them", "they"} & set(said):
            meant["products"] = self.talks.get(talk, [])
        split = [each for each in by if has(each.split("_")[0])]
        if split:
            meant["by"] = split[0]
        if top := re.search(r"\b(?:top|first|best|worst)\s+(\d+)", question.casefold()):
            meant["limit"] = max(1, int(top[1]))
        return run(**meant)

    def query(self, query, conversation_id=None):
        talk = conversation_id or f"talk_{len(self.asked) + 1}"
        answer = self.read(query, talk)
        if "product" in answer["columns"]:
            place = answer["columns"].index("product")
            self.talks[talk] = list(dict.fromkeys(row[place] for row in answer["rows"]))[:5]
        message = f"msg_{len(self.asked) + 1}"
        self.asked[talk, message] = (time.monotonic() + self.set.takes, answer)
        return {"status": "EXECUTING_QUERY", "conversation_id": talk, "message_id": message}

    def poll(self, conversation_id, message_id):
        known = {"conversation_id": conversation_id, "message_id": message_id}
        if (conversation_id, message_id) not in self.asked:
            raise ToolError("not_found", f"question {message_id} of {conversation_id}")
        ready, answer = self.asked[conversation_id, message_id]
        if time.monotonic() < ready:
            return {"status": "EXECUTING_QUERY", **known}
        return {"status": "COMPLETED", **known, **answer}


def told(title, columns, rows):
    """The first five rows in words."""
    if not rows:
        return f"{title}: nothing."
    shown = [
        f"{row[0]} ({', '.join(f'{column} {value}' for column, value in zip(columns[1:], row[1:]))})"
        for row in rows[:5]
    ]
    return f"{title}: {'; '.join(shown)}."
