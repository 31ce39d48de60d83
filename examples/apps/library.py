"""A lending library behind MCP: `python3 library.py [--db FILE]`. The options for tests are listed by `--help`.

Nothing in Steward knows this domain. It shows that tools alone are enough for a new one.
"""

import datetime

from mcp_stdio import ToolError, many, number, record, text
from sqlite_app import App

TABLES = [
    """CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, author TEXT NOT NULL, genre TEXT NOT NULL, year INTEGER,
        borrower TEXT NOT NULL DEFAULT '', due TEXT NOT NULL DEFAULT '', reserved_by TEXT NOT NULL DEFAULT '')""",
]
BOOKS = [
    ("Dune", "Frank Herbert", "science fiction", 1965, "Mira", "2026-03-10", ""),
    ("Dune Messiah", "Frank Herbert", "science fiction", 1969, "", "", ""),
    ("Emma", "Jane Austen", "classics", 1815, "", "", ""),
    ("Persuasion", "Jane Austen", "classics", 1817, "Jon", "2026-02-25", "Ada"),
    ("The Hobbit", "J. R. R. Tolkien", "fantasy", 1937, "", "", ""),
    ("A Wizard of Earthsea", "Ursula K. Le Guin", "fantasy", 1968, "", "", ""),
    ("The Dispossessed", "Ursula K. Le Guin", "science fiction", 1974, "Ada", "2026-03-18", ""),
    ("Salt, Fat, Acid, Heat", "Samin Nosrat", "cooking", 2017, "", "", ""),
    ("Gone Girl", "Gillian Flynn", "crime", 2012, "", "", ""),
    ("The Moonstone", "Wilkie Collins", "crime", 1868, "Mira", "2026-03-12", ""),
    ("Sapiens", "Yuval Noah Harari", "history", 2011, "", "", ""),
    ("The Silk Roads", "Peter Frankopan", "history", 2015, "", "", ""),
]
LOAN_DAYS = 21
COLUMNS = (
    "INSERT INTO books (title, author, genre, year, borrower, due, reserved_by) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
app = App(
    "library",
    "A lending library: books, who has borrowed them until when, and who waits for them.",
    TABLES,
    [(COLUMNS, BOOKS)],
)

BOOK = record(
    id=number("The book's number", "integer"),
    title=text("Its title"),
    author=text("Who wrote it"),
    genre=text("Like fantasy or history"),
    year=number("When it came out, or 0", "integer"),
    borrower=text("Who has it, or nothing when it is on the shelf"),
    due=text("When it comes back (YYYY-MM-DD), or nothing"),
    reserved_by=text("Who waits for it, or nothing"),
)
WHICH = {
    "id": number("The book's number", "integer", minimum=1),
    "title": text("Its title, or words from it"),
}
MEMBER = text("The member's name")
ALL = "SELECT id, title, author, genre, coalesce(year, 0) AS year, borrower, due, reserved_by FROM books ORDER BY title"


def which(id, title):
    return app.one("book", ALL, "title", id, title)


def several(rows):
    return {"books": rows, "count": len(rows)}


def lent(id, title):
    book = which(id, title)
    if not book["borrower"]:
        raise ToolError("not_borrowed", f"book {book['id']} {book['title']!r} is on the shelf")
    return book


def until(start):
    return str(start + datetime.timedelta(days=LOAN_DAYS))


@app.tool(
    "read",
    "Searches the library's catalogue for books by words from the title, the author or the genre.",
    {"query!": text("Words to look for")},
    many("books", BOOK),
)
def search_books(query):
    words = query.casefold().split()
    return several(
        [
            row
            for row in app.rows(ALL)
            if all(w in f"{row['title']} {row['author']} {row['genre']}".casefold() for w in words)
        ]
    )


@app.tool(
    "read",
    "Lists the books of the library, optionally only of one author or genre, or only those on the shelf.",
    {
        "genre": text("Only books of this genre"),
        "author": text("Only books of this author"),
        "available": {
            "type": "boolean",
            "description": "true: only what is on the shelf; false: only what is lent out",
        },
    },
    many("books", BOOK),
)
def list_books(genre=None, author=None, available=None):
    return several(
        [
            row
            for row in app.rows(ALL)
            if (genre or "").casefold() in row["genre"]
            and (author or "").casefold() in row["author"].casefold()
            and available in (None, not row["borrower"])
        ]
    )


@app.tool(
    "read",
    "Shows one book of the library: author, genre, who has borrowed it, until when, and who waits for it.",
    WHICH,
    BOOK,
)
def get_book(id=None, title=None):
    return which(id, title)


@app.tool(
    "read",
    "Lists loans of the library: which books are lent out, to whom and until when; optionally of one member or only overdue ones.",
    {
        "member": MEMBER,
        "overdue": {"type": "boolean", "description": "true: only what should be back by now"},
    },
    many("books", BOOK),
)
def list_loans(member=None, overdue=None):
    rows = app.rows(
        "SELECT * FROM books WHERE borrower <> '' AND borrower = coalesce(?, borrower) COLLATE NOCASE ORDER BY due",
        member,
    )
    return several([row for row in rows if overdue is None or (row["due"] < str(app.today())) == overdue])


@app.tool(
    "add",
    "Lends a book of the library to a member for three weeks (checks it out).",
    {**WHICH, "member!": MEMBER},
    BOOK,
)
def lend_book(member, id=None, title=None):
    book = which(id, title)
    if book["borrower"]:
        raise ToolError(
            "already_lent",
            f"book {book['id']} {book['title']!r} is with {book['borrower']} until {book['due']}",
        )
    if book["reserved_by"] not in ("", member):
        raise ToolError("reserved", f"book {book['id']} {book['title']!r} is kept for {book['reserved_by']}")
    app.change("books", book["id"], borrower=member, due=until(app.today()), reserved_by="")
    return which(book["id"], None)


@app.tool(
    "set",
    "Takes a borrowed book back into the library: it is returned and stands on the shelf again.",
    WHICH,
    BOOK,
)
def return_book(id=None, title=None):
    book = lent(id, title)
    app.change("books", book["id"], borrower="", due="")
    return which(book["id"], None)


@app.tool(
    "add",
    "Renews the loan of a borrowed book: it may be kept three weeks longer, unless somebody waits for it.",
    WHICH,
    BOOK,
)
def renew_loan(id=None, title=None):
    book = lent(id, title)
    if book["reserved_by"]:
        raise ToolError("reserved", f"{book['reserved_by']} waits for book {book['id']} {book['title']!r}")
    app.change("books", book["id"], due=until(datetime.date.fromisoformat(book["due"])))
    return which(book["id"], None)


@app.tool(
    "set",
    "Reserves a book for a member, who gets it as soon as it is back in the library.",
    {**WHICH, "member!": MEMBER},
    BOOK,
)
def reserve_book(member, id=None, title=None):
    book = which(id, title)
    if book["reserved_by"] not in ("", member):
        raise ToolError(
            "reserved", f"{book['reserved_by']} already waits for book {book['id']} {book['title']!r}"
        )
    app.change("books", book["id"], reserved_by=member)
    return which(book["id"], None)


@app.tool(
    "add",
    "Adds a new book to the library's catalogue, with its author, genre and year.",
    {
        "title!": text("Its title"),
        "author!": text("Who wrote it"),
        "genre": text("Like fantasy or history"),
        "year": number("When it came out", "integer"),
    },
    BOOK,
)
def add_book(title, author, genre="", year=None):
    return which(app.db.execute(COLUMNS, (title, author, genre, year, "", "", "")).lastrowid, None)


@app.tool(
    "delete",
    "Removes a book from the library's catalogue for good, by its number or by words from its title.",
    WHICH,
    record(removed=BOOK),
)
def remove_book(id=None, title=None):
    book = which(id, title)
    app.db.execute("DELETE FROM books WHERE id = ?", (book["id"],))
    return {"removed": book}


if __name__ == "__main__":
    app.serve()
