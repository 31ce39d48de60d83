"""A notebook behind MCP: `python3 notes.py [--db FILE]`. The options for tests are listed by `--help`."""

from mcp_stdio import ToolError, many, number, record, text
from sqlite_app import App

TABLES = [
    "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL, changed TEXT NOT NULL)",
    """CREATE TABLE tags (
        note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, tag TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY (note, tag))""",
]
NOTES = [
    ("Meeting with Acme", "They want the pilot in April. Open: price per seat.", "2026-02-10"),
    ("Meeting with the board", "Budget approved. Hiring plan is due in March.", "2026-02-17"),
    ("Pancake recipe", "250 g flour, 3 eggs, half a litre of milk, a pinch of salt.", "2026-01-05"),
    ("Gift ideas", "Mum: the ceramic bowl. Leo: a kite.", "2026-02-01"),
    ("Lisbon trip", "Tram 28, pastel de nata in Belem, day trip to Sintra.", "2026-02-20"),
    ("Wifi at the cabin", "The router is behind the bookshelf; reset it with a pin.", "2025-12-28"),
    ("Book quotes", '"We read to know we are not alone."', "2026-01-19"),
    ("Garden plan", "Tomatoes along the south wall, beans by the fence.", "2026-02-22"),
    ("Standup 2 March", "Ana: release notes. Ben: flaky test. Me: quarterly report.", "2026-03-02"),
]
TAGS = [
    (1, "work"),
    (1, "sales"),
    (2, "work"),
    (3, "recipes"),
    (4, "family"),
    (5, "travel"),
    (7, "books"),
    (8, "home"),
    (9, "work"),
]
app = App(
    "notes",
    "A notebook: notes with a title, a text and tags.",
    TABLES,
    [
        ("INSERT INTO notes (title, body, changed) VALUES (?, ?, ?)", NOTES),
        ("INSERT INTO tags VALUES (?, ?)", TAGS),
    ],
)

TAG_LIST = {"type": "array", "items": {"type": "string"}, "description": "Tags, like work or recipes"}
NOTE = record(
    id=number("The note's number", "integer"),
    title=text("Its title"),
    body=text("Its text"),
    tags=TAG_LIST,
    changed=text("When it was last changed (YYYY-MM-DD)"),
)
WHICH = {
    "id": number("The note's number", "integer", minimum=1),
    "title": text("Its title, or words from it, when the number is not known"),
}
ALL = "SELECT * FROM notes ORDER BY changed DESC, id"


def tagged(note):
    return {
        **note,
        "tags": [
            row["tag"] for row in app.rows("SELECT tag FROM tags WHERE note = ? ORDER BY tag", note["id"])
        ],
    }


def which(id, title):
    return tagged(app.one("note", ALL, "title", id, title))


def several(rows):
    return {"notes": [tagged(row) for row in rows], "count": len(rows)}


def add_tags(note, tags):
    app.db.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", [(note, tag.lstrip("#")) for tag in tags])


@app.tool(
    "add",
    "Writes a new note into the notebook, with a title, a text and optional tags.",
    {"title!": text("Its title"), "body": text("Its text"), "tags": TAG_LIST},
    NOTE,
)
def create_note(title, body="", tags=()):
    made = app.db.execute(
        "INSERT INTO notes (title, body, changed) VALUES (?, ?, ?)", (title, body, str(app.today()))
    ).lastrowid
    add_tags(made, tags)
    return which(made, None)


@app.tool(
    "read",
    "Searches the notebook for words in titles, texts and tags of the notes and gives all that match.",
    {"query!": text("Words to look for")},
    many("notes", NOTE),
)
def search_notes(query):
    words = query.casefold().split()

    def has_all(note):
        inside = " ".join([note["title"], note["body"], *note["tags"]]).casefold()
        return all(word in inside for word in words)

    return several([note for note in map(tagged, app.rows(ALL)) if has_all(note)])


@app.tool(
    "read",
    "Lists the notes of the notebook, newest first, optionally only those with one tag.",
    {"tag": text("Only notes with this tag"), "limit": number("At most so many", "integer", minimum=1)},
    many("notes", NOTE),
)
def list_notes(tag=None, limit=100):
    return several(
        app.rows(
            "SELECT * FROM notes WHERE ? IS NULL OR id IN (SELECT note FROM tags WHERE tag = ?) ORDER BY changed DESC, id LIMIT ?",
            tag,
            tag and tag.lstrip("#"),
            limit,
        )
    )


@app.tool(
    "read",
    "Lists all tags that are used in the notebook, with how many notes each has.",
    {},
    record(
        tags={
            "type": "array",
            "items": record(tag=text("The tag"), notes=number("How many notes have it", "integer")),
        }
    ),
)
def list_tags():
    return {"tags": app.rows("SELECT tag, count(*) AS notes FROM tags GROUP BY tag ORDER BY notes DESC, tag")}


@app.tool(
    "read",
    "Opens one note of the notebook and gives its whole text, by its number or by words from its title.",
    WHICH,
    NOTE,
)
def get_note(id=None, title=None):
    return which(id, title)


@app.tool(
    "add",
    "Appends text to the end of a note that is already in the notebook.",
    {**WHICH, "text!": text("What is added")},
    NOTE,
)
def append_to_note(text, id=None, title=None):
    note = which(id, title)
    app.change("notes", note["id"], body=f"{note['body']}\n{text}".lstrip(), changed=str(app.today()))
    return which(note["id"], None)


@app.tool("set", "Puts one or more tags on a note of the notebook.", {**WHICH, "tags!": TAG_LIST}, NOTE)
def tag_note(tags, id=None, title=None):
    note = which(id, title)
    add_tags(note["id"], tags)
    return which(note["id"], None)


@app.tool(
    "set",
    "Takes a tag off a note of the notebook; the note itself stays.",
    {**WHICH, "tag!": text("The tag that goes")},
    NOTE,
)
def untag_note(tag, id=None, title=None):
    note = which(id, title)
    gone = app.db.execute(
        "DELETE FROM tags WHERE note = ? AND tag = ?", (note["id"], tag.lstrip("#"))
    ).rowcount
    if not gone:
        raise ToolError("not_found", f"tag {tag!r} on note {note['id']}")
    return which(note["id"], None)


@app.tool(
    "delete",
    "Deletes a note from the notebook for good, by its number or by words from its title.",
    WHICH,
    record(deleted=NOTE),
)
def delete_note(id=None, title=None):
    note = which(id, title)
    app.db.execute("DELETE FROM notes WHERE id = ?", (note["id"],))
    return {"deleted": note}


if __name__ == "__main__":
    app.serve()
