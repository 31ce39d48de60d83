"""A to-do list behind MCP: `python3 todo.py [--db FILE]`. The options for tests are listed by `--help`."""

from mcp_stdio import day, many, number, record, text
from sqlite_app import App

TABLE = """CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open', priority TEXT NOT NULL DEFAULT 'normal',
    project TEXT NOT NULL DEFAULT '', due TEXT NOT NULL DEFAULT '')"""
SAMPLES = [
    ("Buy milk", "open", "normal", "home", "2026-03-02"),
    ("Call the dentist", "open", "high", "home", "2026-03-03"),
    ("Write the quarterly report", "open", "high", "work", "2026-03-06"),
    ("Review the budget report", "open", "normal", "work", "2026-03-10"),
    ("Book flights to Lisbon", "open", "normal", "travel", "2026-03-15"),
    ("Renew passport", "open", "high", "travel", "2026-04-01"),
    ("Water the plants", "done", "low", "home", "2026-02-27"),
    ("Prepare slides for Monday", "open", "high", "work", "2026-03-09"),
    ("Pay the electricity bill", "done", "normal", "home", "2026-02-28"),
    ("Clean the garage", "open", "low", "home", ""),
    ("Send invoice to Nordwind", "open", "normal", "work", "2026-03-05"),
    ("Read 'The Left Hand of Darkness'", "open", "low", "", ""),
]
INSERT = "INSERT INTO tasks (title, status, priority, project, due) VALUES (?, ?, ?, ?, ?)"
app = App(
    "todo", "A to-do list: tasks with a due date, a priority and a project.", [TABLE], [(INSERT, SAMPLES)]
)

STATUS = text("open or done", enum=["open", "done"])
PRIORITY = text("How much it matters", enum=["low", "normal", "high"])
TASK = record(
    id=number("The task's number", "integer"),
    title=text("What is to be done"),
    status=STATUS,
    priority=PRIORITY,
    project=text("What it belongs to, or nothing"),
    due=text("When it is due (YYYY-MM-DD), or nothing"),
)
WHICH = {
    "id": number("The task's number", "integer", minimum=1),
    "title": text("Its title, or words from it, when the number is not known"),
}
ALL = "SELECT * FROM tasks ORDER BY id"


def which(id, title):
    return app.one("task", ALL, "title", id, title)


def several(rows):
    return {"tasks": rows, "count": len(rows)}


@app.tool(
    "add",
    "Creates a new task on the to-do list, with an optional due date, priority and project.",
    {
        "title!": text("What is to be done"),
        "due": day("When it is due, as YYYY-MM-DD"),
        "priority": PRIORITY,
        "project": text("What it belongs to, like home or work"),
    },
    TASK,
)
def create_task(title, due="", priority="normal", project=""):
    made = app.db.execute(INSERT, (title, "open", priority, project, due)).lastrowid
    return which(made, None)


@app.tool(
    "read",
    "Lists tasks of the to-do list, optionally only open or done ones, of one priority or project, or due within dates.",
    {
        "status": STATUS,
        "priority": PRIORITY,
        "project": text("Only tasks of this project"),
        "due_before": day("Only tasks due on this date or earlier"),
        "due_after": day("Only tasks due on this date or later"),
        "limit": number("At most so many", "integer", minimum=1),
    },
    many("tasks", TASK),
)
def list_tasks(status=None, priority=None, project=None, due_before=None, due_after=None, limit=100):
    return several(
        app.rows(
            """SELECT * FROM tasks WHERE status = coalesce(?, status) AND priority = coalesce(?, priority)
           AND project = coalesce(?, project) COLLATE NOCASE
           AND (? IS NULL OR due <> '' AND due <= ?) AND (? IS NULL OR due >= ?)
           ORDER BY due = '', due, id LIMIT ?""",
            status,
            priority,
            project,
            due_before,
            due_before,
            due_after,
            due_after,
            limit,
        )
    )


@app.tool(
    "read",
    "Searches the tasks of the to-do list for words in their titles and gives all that match.",
    {"query!": text("Words to look for in the titles")},
    many("tasks", TASK),
)
def search_tasks(query):
    words = query.casefold().split()
    return several([row for row in app.rows(ALL) if all(word in row["title"].casefold() for word in words)])


@app.tool(
    "read",
    "Shows one task of the to-do list with all its details, by its number or by words from its title.",
    WHICH,
    TASK,
)
def get_task(id=None, title=None):
    return which(id, title)


@app.tool(
    "set",
    "Changes a task of the to-do list: its title, due date, priority, project, or whether it is open or done.",
    {
        **WHICH,
        "new_title": text("The title it gets"),
        "due": day("The new due date, as YYYY-MM-DD"),
        "priority": PRIORITY,
        "project": text("The project it moves to"),
        "status": STATUS,
    },
    TASK,
)
def update_task(id=None, title=None, new_title=None, **values):
    task = which(id, title)
    app.change("tasks", task["id"], title=new_title, **values)
    return which(task["id"], None)


@app.tool(
    "set", "Marks a task of the to-do list as done, by its number or by words from its title.", WHICH, TASK
)
def complete_task(id=None, title=None):
    task = which(id, title)
    app.change("tasks", task["id"], status="done")
    return which(task["id"], None)


@app.tool(
    "delete",
    "Deletes a task from the to-do list for good, by its number or by words from its title.",
    WHICH,
    record(deleted=TASK),
)
def delete_task(id=None, title=None):
    task = which(id, title)
    app.db.execute("DELETE FROM tasks WHERE id = ?", (task["id"],))
    return {"deleted": task}


if __name__ == "__main__":
    app.serve()
