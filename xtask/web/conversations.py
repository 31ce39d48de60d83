"""Conversations and their files over the HTTP API: python conversations.py STEWARD_BINARY

Files stay with their turn over a stop and a kill of the server; SQL that is said goes to the data as it
stands; what was taken over can be left out; titles, archive and restore; a stop leaves nothing behind.
"""

import signal
import sys

from harness import ROOT, Server, Tally, events, request, wait_for

CSV = ROOT / "examples/retail/sales.csv"


class Person:
    """Somebody at their own machine."""

    def __init__(self, server):
        self.server = server

    def __call__(self, method, path, body=None, kind=None):
        base = self.server.base
        token = request(base, "GET", "/api/v1/me").json()["csrf"]
        headers = {"X-CSRF-Token": token} | ({"Content-Type": kind} if kind else {})
        return request(base, method, f"/api/v1{path}", body, headers)

    def ask(self, message, conversation=None, data=()):
        body = {"message": message, "data": list(data)}
        if conversation:
            body["conversation_id"] = conversation
        return self("POST", "/ask", body).json()

    def files(self, conversation):
        messages = self("GET", f"/conversations/{conversation}").json()["messages"]
        return [message["files"] for message in messages if message["role"] == "agent"]


def files(server, person, check):
    upload = person("POST", "/uploads?name=sales.csv", CSV.read_bytes(), "application/octet-stream").json()
    [table] = upload["tables"]
    check(table["rows"] == 6542 and not table["rows_estimated"], "the rows are counted", table["rows"])
    check(len(table["preview"]) == 8 and table["columns"][0]["distinct"], "first rows and a profile")
    check(len(upload["questions"]) == 3, "three questions", upload["questions"])
    for question in upload["questions"]:
        answered = person.ask(question, data=[f"upload:{upload['id']}"])
        check(answered.get("outcome") == "answered", f"{question} is answered", answered.get("answer"))
    first = person.ask("total amount by month", data=[f"upload:{upload['id']}"])
    conversation = first["conversation_id"]
    follow = person.ask("and by state", conversation)
    check(follow["carried"] == ["data", "question"], "a follow-up says what it takes over", follow["carried"])
    for how, what in [(signal.SIGTERM, "a stop"), (signal.SIGKILL, "a kill")]:
        server.stop(how)
        server.start()
        kept = person.files(conversation)
        check(kept[0][0]["id"] == upload["id"], f"the file is with its turn after {what}", kept)
        check(kept[1] == [], f"and only with its own turn after {what}", kept)
        again = person.ask("total cost by month", conversation)
        check(again["outcome"] == "answered", f"it can be asked again after {what}", again)
    used = person("GET", f"/uploads/{upload['id']}").json()["asked"]
    check(any(one["question"] == "total cost by month" for one in used), "what was asked of it", used)
    return upload, conversation


def sql(person, check, conversation):
    statement = "SELECT category, sum(amount) AS amount FROM sales GROUP BY category"
    ran = person.ask(statement, conversation)
    found = ran["analyses"][0]
    check(found["planner"] == "sql" and len(found["tables"][0]["rows"]) == 4, "SQL runs as it stands", ran)
    hidden = person.ask("SELECT nothing FROM sales", conversation)
    check(hidden["outcome"] != "answered", "SQL is admitted like any", hidden["answer"])
    turn = person(
        "POST", "/turns?without=question", {"message": "and by state", "conversation_id": conversation}
    )
    heard = events(person.server.base, turn.json()["events"])
    reply = next(data for _, name, data in heard if name == "reply")
    check(
        "question" not in reply.get("carried", []), "asked without the question before", reply.get("carried")
    )
    refused = person("POST", "/turns?without=everything", {"message": "x"})
    check(refused.status == 422, "what cannot be left out is refused", refused)


def titles(person, check, conversation):
    def change(**body):
        return person("PATCH", f"/conversations/{conversation}", body).status

    def listed(query):
        return [one["title"] for one in person("GET", f"/conversations?{query}").json()["items"]]

    check(change(title="Amounts of the shop") == 204, "it is renamed")
    check("Amounts of the shop" in listed("search=of+the+shop"), "and found by its title")
    entries = person("GET", f"/audit/chains/{conversation}/entries").body
    check(b"of the shop" not in entries and b"renamed" in entries, "the journal says that, not the title")
    check(change(status="archived") == 204, "it is archived")
    check("Amounts of the shop" in listed("status=archived"), "and listed with the archived")
    check("Amounts of the shop" not in listed("status=active"), "and with no others")
    late = person("POST", "/ask", {"message": "hello", "conversation_id": conversation})
    check(late.status == 404, "an archived one takes no message", late)
    check(change(status="active") == 204, "it comes back")
    check(person.ask("hello", conversation)["outcome"] == "chat", "and takes messages")
    check(change() == 422, "a change says what changes")
    check(change(title="x" * 201) == 422, "a title has an end")


def stop(person, check):
    before = len(person("GET", "/conversations?status=all&limit=200").json()["items"])
    rows = "\n".join(f"{n},{n % 97},{n * 7 % 1013}" for n in range(200_000))
    data = f"id,part,amount\n{rows}\n".encode()
    upload = person("POST", "/uploads?name=large.csv", data, "application/octet-stream").json()
    body = {"message": "Analyze amount by part; trends + charts", "data": [f"upload:{upload['id']}"]}
    turn = person("POST", "/turns", body).json()["turn_id"]
    person("DELETE", f"/turns/{turn}")
    ended = wait_for(lambda: person("GET", f"/turns/{turn}").json()["status"] != "running")
    check(ended, "a stop ends the turn")
    if person("GET", f"/turns/{turn}").json()["status"] == "cancelled":
        after = len(person("GET", "/conversations?status=all&limit=200").json()["items"])
        check(after == before, "a stop leaves no conversation", (before, after))
        tasks = person("GET", "/tasks?search=Analyze+amount+by+part").json()["items"]
        check([one["status"] for one in tasks] == ["cancelled"], "and a cancelled task", tasks)


def main():
    check = Tally()
    server = Server(sys.argv[1], "--per-minute", "1000000")
    with server:
        person = Person(server)
        upload, conversation = files(server, person, check)
        sql(person, check, conversation)
        titles(person, check, conversation)
        stop(person, check)
        person("DELETE", f"/uploads/{upload['id']}")
        gone = person.files(conversation)[0]
        check(gone == [{"name": "sales.csv", "gone": True}], "a deleted file is named", gone)
    check.end("conversations")


if __name__ == "__main__":
    main()
