"""six_doors.py BINARY: one approval, six surfaces, five ways it can end.

A call and a run that wait for a person are decided in the page's API, in Slack, over MCP, A2A and AG-UI, and on the
command line: approved, rejected, modified, after their time ran out, and with the process killed (SIGKILL) after the
decision was stored and before the call returned. The payments application writes each effect to a file, so exactly
one effect (or none) is counted, and its arguments are compared with the digest that was decided on. Notices are
counted at a webhook and in Slack. `--pick SURFACE` runs one surface.
"""

import argparse
import contextlib
import json
import signal
import subprocess
import threading
import time
import uuid
from http.client import HTTPException
from pathlib import Path
from types import SimpleNamespace

from access import Mcp
from fake_slack import FakeSlack, press
from harness import ROOT, Server, Tally, request, wait_for
from webhook import Webhook

# How long a slow payment takes, and how long something waits that is to run out of time.
SLOW, EXPIRES = 6, 25
FINAL = ("completed", "failed", "cancelled", "rejected")
SERVERS = """servers:
  - name: payments
    application_domain: payments
    category: payments
    transport: stdio
    config: {{ command: python3, args: [xtask/web/payments.py, --effects, {effects}], folder: {root} }}
    timeout_seconds: 60
"""
DOMAINS = """domains:
  - name: payments
    display_name: Payments
    description: "Payments: pay for items, and book amounts in the ledger."
    mcp_tools: [payments.pay, payments.book]
"""
TOOLS = """categories:
  payments:
    tools:
      payments.pay: { approval: always }
"""
WORKFLOW = """name: {name}
patterns: [react]
entry_point: review
nodes:
  review:
    type: human
    input: "Pay ${{input.amount}} for ${{input.item}}?"
    approvers: [finance]
    expires_seconds: {seconds}
    on_timeout: reject
  book:
    type: tool
    tool: payments.book
    arguments: {{ item: "${{input.item}}", amount: "${{input.amount}}", seconds: "${{input.seconds}}" }}
  book_changed:
    type: tool
    tool: payments.book
    arguments: {{ item: "${{input.item}}", amount: "${{state.amount}}" }}
edges:
  - {{ from: review, to: {{ approve: book, modify: book_changed, reject: __end__ }} }}
  - {{ from: book, to: __end__ }}
  - {{ from: book_changed, to: __end__ }}
"""


class Office:
    """A home with an asker, an approver with the role `finance`, and a colleague who may not decide."""

    def __init__(self, binary, slack, hook):
        self.hook = hook
        self.server = Server(binary, "--per-minute", "1000000", apps=False)
        self.server.environment |= {
            "STEWARD_WEBHOOK_SECRET": hook.secret,
            "STEWARD_SLACK_BOT_TOKEN": "xoxb-test",
            "STEWARD_SLACK_SIGNING_SECRET": slack.secret,
            "STEWARD_SLACK_BASE_URL": slack.base,
        }
        self.slack = slack
        self.effects_file = Path(self.server.folder) / "effects.jsonl"
        self.effects_file.touch()
        config = self.server.home / "config"
        (config / "mcp_servers.yaml").write_text(SERVERS.format(effects=self.effects_file, root=ROOT))
        (config / "domains.yaml").write_text(DOMAINS)
        (config / "tools.yaml").write_text(TOOLS)
        (self.server.home / "workflows").mkdir(exist_ok=True)
        for name, seconds in [("payment", 3600), ("short_payment", EXPIRES)]:
            text = WORKFLOW.format(name=name, seconds=seconds)
            (self.server.home / f"workflows/{name}.yaml").write_text(text)
        steward = self.server.steward
        steward(
            "grants", "add", "asker", "--domain", "payments", "--run", "payment", "--run", "short_payment"
        )
        steward("grants", "add", "finance", "--domain", "payments", "--approve", "payments.*")
        # Kim may approve tools, but is not of the role that the workflow names.
        steward("grants", "add", "clerk", "--domain", "payments", "--approve", "other.*")
        steward("users", "add", "ana", "--role", "asker", "--slack", "T1/UANA")
        steward("users", "add", "fay", "--role", "finance", "--slack", "T1/UFAY")
        steward("users", "add", "kim", "--role", "clerk", "--slack", "T1/UKIM")
        self.keys = {name: self.server.key(name)[1] for name in ("ana", "fay", "kim")}
        self.number, self.asked, self.died = 0, [], set()

    def __call__(self, method, path, body=None, user="ana", **more):
        return request(self.server.base, method, path, body, key=self.keys[user], **more)

    def settings(self, seconds):
        """How long a single call waits."""
        path = self.server.home / "config/steward.yaml"
        ours = ("approvals:", "delivery:", "serve:")
        lines = [line for line in path.read_text().splitlines() if not line.startswith(ours)]
        lines.append(f"approvals: {{ expires_seconds: {seconds}, webhooks: ['{self.hook.address}'] }}")
        lines.append("delivery: { allow: ['127.0.0.1:%d'], allow_private: true }" % self.hook.port)
        lines.append("serve: { public_url: 'https://steward.example' }")
        path.write_text("\n".join(lines) + "\n")

    def effects(self, item):
        if not self.effects_file.exists():
            return []
        lines = self.effects_file.read_text().splitlines()
        return [one for one in map(json.loads, lines) if one["item"] == item]

    def ask(self, kind, seconds=0, short=False):
        """Something that waits for a person: (task, digest, item)."""
        self.number += 1
        item = f"item-{self.number}"
        given = {"item": item, "amount": 5, "seconds": seconds}
        if kind == "call":
            got = wait_for(lambda: self._call(given), 60, 0.5)
            assert got, "the payments application did not start"
            return self.keep(SimpleNamespace(task=got["waiting"], digest=got["digest"], item=item, kind=kind))
        name = "short_payment" if short else "payment"
        got = self("POST", f"/api/v1/workflows/{name}/runs", {"input": given})
        assert got.status in (200, 202), got
        task = got.json()["task_id"]
        line = wait_for(lambda: self.waiting(task), 60, 0.2)
        assert line, self.task(task)
        return self.keep(SimpleNamespace(task=task, digest=line["digest"], item=item, kind=kind))

    def keep(self, one):
        """What waits is decided after its notice was sent: what is decided within a second has none."""
        self.asked.append(one)
        waits = ("approval_waiting", one.task)
        wait_for(lambda: waits in [(told["event"], told["task_id"]) for told in self.hook.told()], 30, 0.1)
        return one

    def _call(self, given):
        got = self("POST", "/api/v1/tools/payments.pay/calls", {"arguments": given})
        return got.json() if got.status == 202 else None

    def waiting(self, task, user="fay"):
        items = self("GET", "/api/v1/approvals", user=user).json()["items"]
        return next((one for one in items if one["task"] == task), None)

    def task(self, task):
        return self("GET", f"/api/v1/tasks/{task}").json()["task"]

    def ended(self, task, seconds=60):
        """The status of the task once it has ended, or as it is."""
        wait_for(lambda: self.task(task)["status"] in FINAL, seconds, 0.1)
        return self.task(task)["status"]

    def decision(self, task):
        got = self("GET", "/api/v1/notices").json()["decided"]
        return next((one for one in got if one["task"] == task), None)


class Refused(Exception):
    """A surface refused the decision; its words."""


class Http:
    name = "page, HTTP"

    def __init__(self, office):
        self.office = office

    def decide(self, one, action, user="fay"):
        body = {"decision": action, "digest": one.digest} | more_of(action)
        got = self.office("POST", f"/api/v1/approvals/{one.task}", body, user=user)
        if got.status != 200:
            raise Refused(got.json()["detail"])


class Slack(Http):
    name = "Slack"

    def decide(self, one, action, user="fay"):
        office, label = self.office, {"approve": "Approve", "reject": "Reject"}.get(action)
        name = f"U{user.upper()}"
        post = wait_for(lambda: office.slack.find("UFAY", one.task), 20, 0.1)
        assert post, "Slack has not told the approver"
        if label is None:
            raise Refused("there is no button for it; the message names the page")
        button = post.button(label) or one.__dict__.get("button")
        if button is None:
            raise Refused(post.text)
        one.button = button
        said, before = office.slack.count(name), post.text
        assert press(office.server.base, office.slack.secret, "T1", name, post, button) == 200
        wait_for(lambda: office.slack.count(name) > said or post.text != before, 60)
        whisper = office.slack.whispers(name)
        if len(whisper) and whisper[-1].number > said:
            raise Refused(whisper[-1].text)
        if "no longer waits" in post.text:
            raise Refused(post.text)


class OverMcp(Http):
    name = "MCP"

    def decide(self, one, action, user="fay"):
        client = Mcp(self.office, self.office.keys[user])
        given = {"task": one.task, "digest": one.digest, "decision": action} | more_of(action)
        told = client.call("tools/call", {"name": "approvals_decide", "arguments": given})
        if "error" in told or told["result"].get("isError"):
            raise Refused(json.dumps(told.get("error") or told["result"]["content"]))


class OverA2a(Http):
    name = "A2A"

    def decide(self, one, action, user="fay"):
        data = {"task": one.task, "digest": one.digest, "decision": action} | more_of(action)
        said = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"data": {"approval": data}}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": said}}
        told = self.office("POST", "/a2a", body, user=user).json()
        if "error" in told:
            raise Refused(told["error"]["message"])


class OverAgui(Http):
    name = "AG-UI"

    def decide(self, one, action, user="fay"):
        payload = {"decision": action} | more_of(action)
        entry = {"interruptId": f"{one.task}:{one.digest}", "status": "resolved", "payload": payload}
        given = {
            "threadId": str(uuid.uuid4()),
            "runId": "1",
            "messages": [{"id": "1", "role": "user", "content": ""}],
        }
        given |= {"resume": [entry], "tools": [], "context": [], "state": {}, "forwardedProps": {}}
        got = self.office("POST", "/agui", given, user=user, headers={"Accept": "text/event-stream"})
        if got.status != 200:
            raise Refused(got.json()["detail"])
        assert b"RUN_FINISHED" in got.body, got


class CommandLine(Http):
    name = "command line"
    process = None

    def decide(self, one, action, user="fay"):
        words = ["approvals", action, one.task, "--digest", one.digest]
        if action == "modify":
            words += ["--message", "cheaper", "--set", '{"amount": 7}']
        environment = self.office.server.environment | {"STEWARD_USER": user}
        self.process = subprocess.Popen(
            [self.office.server.binary, *words],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        _, said = self.process.communicate(timeout=120)
        if self.process.returncode:
            raise Refused(said.strip())


def more_of(action):
    return {"message": "cheaper", "updates": {"amount": 7}} if action == "modify" else {}


DOORS = [Http, Slack, OverMcp, OverA2a, OverAgui, CommandLine]


def refusal(door, one, action, user="fay"):
    try:
        door.decide(one, action, user)
    except Refused as why:
        return str(why)
    return None


def approve(check, office, door, kind):
    one, what = office.ask(kind), f"{door.name}, {kind}"
    seen = {user: office("GET", f"/api/v1/tasks/{one.task}", user=user).status for user in ("fay", "kim")}
    check(seen == {"fay": 200, "kim": 404}, f"{what}: the approver sees the task, a colleague does not", seen)
    no = refusal(door, one, "approve", "kim")
    check(no and not office.effects(one.item), f"{what}: a colleague without the role may not approve", no)
    door.decide(one, "approve")
    status = office.ended(one.task)
    effects = office.effects(one.item)
    check(status == "completed", f"{what}: the task is completed", office.task(one.task))
    check(effects == [{"item": one.item, "amount": 5}], f"{what}: one effect with what was shown", effects)
    bound(check, office, one, "approved", what)
    again = refusal(door, one, "approve")
    check(again and len(office.effects(one.item)) == 1, f"{what}: a second yes is refused", again)
    return "1 effect"


def reject(check, office, door, kind):
    one, what = office.ask(kind), f"{door.name}, {kind}"
    door.decide(one, "reject")
    status = office.ended(one.task)
    check(status == "rejected", f"{what}: the task is rejected", status)
    bound(check, office, one, "rejected", what)
    again = refusal(door, one, "approve")
    check(again and not office.effects(one.item), f"{what}: no yes after the no", again)
    return "no effect"


def modify(check, office, door, kind):
    one, what = office.ask(kind), f"{door.name}, {kind}"
    why = refusal(door, one, "modify")
    if kind == "call" or isinstance(door, Slack):
        check(
            why and office.waiting(one.task),
            f"{what}: modify is refused with the reason, and it still waits",
            why,
        )
        check(not office.effects(one.item), f"{what}: no effect of a refused change")
        door.decide(one, "reject")
        return "refused, with the reason"
    check(why is None and office.ended(one.task) == "completed", f"{what}: the changed run is completed", why)
    effects = office.effects(one.item)
    check(effects == [{"item": one.item, "amount": 7}], f"{what}: one effect, as modified", effects)
    bound(check, office, one, "modified", what)
    return "1 effect, as modified"


def expired(check, office, door, one):
    what = f"{door.name}, {one.kind}"
    status = office.ended(one.task, EXPIRES + 30)
    why = refusal(door, one, "approve")
    check(why, f"{what}: a yes after its time is refused", why)
    check(status in ("failed", "rejected"), f"{what}: it ended when its time ran out", status)
    check(not office.effects(one.item), f"{what}: no effect after its time")
    return "no effect, refused"


def crash(check, office, door, kind):
    """The process is killed after the decision was stored and before the call returned."""
    one, what = office.ask(kind, seconds=SLOW), f"{door.name}, {kind}"
    deciding = threading.Thread(target=lambda: quiet(door, one), daemon=True)
    deciding.start()
    began = wait_for(lambda: office.effects(one.item), 30, 0.02)
    check(began, f"{what}: the call began")
    if isinstance(door, CommandLine):
        door.process.send_signal(signal.SIGKILL)
    else:
        office.server.stop(signal.SIGKILL)
        office.server.start()
    deciding.join(30)
    ended, asks = wait_for(lambda: settled(office, one), 60, 0.2) or (False, None)
    check(ended or asks, f"{what}: the task ends after the crash, or asks what came of the call", asks)
    status = office.task(one.task)["status"] if ended else "asks what came of it"
    if asks:
        office.died.add(one.task)
    bound(check, office, one, "approved", what)
    again = refusal(door, one, "approve")
    # What a repetition would do is done by now.
    time.sleep(1)
    effects = office.effects(one.item)
    check(
        again and effects == [{"item": one.item, "amount": 5}],
        f"{what}: one effect, not repeated",
        (again, effects),
    )
    return f"1 effect, task {status}" if ended else f"1 effect, {status}"


def settled(office, one):
    """Whether a task has ended, or asks a person about a call whose outcome is unknown."""
    if office.task(one.task)["status"] in FINAL:
        return True, None
    line = office.waiting(one.task)
    return (False, line) if line and line["digest"] != one.digest else None


def notices(check, office):
    """The signed webhooks: one for each thing that waits, and one when it was decided."""
    asked = [(one.task, one.kind) for one in office.asked]
    got = lambda: office.hook.told()  # noqa: E731
    wait_for(lambda: sum(told["event"] == "approval_decided" for told in got()) >= len(asked), 30, 0.2)
    for task, kind in asked:
        of = sorted((told["event"], told["digest"]) for told in got() if told["task_id"] == task)
        events = [event for event, _ in of]
        # A run that died in its call waits a second time, for a person who knows what came of it.
        waits = 1 if task not in office.died else 2
        check(
            events == ["approval_decided"] + ["approval_waiting"] * waits and len(set(of)) == len(of),
            f"{kind} {task}: {waits + 1} notices, once each",
            of,
        )
    links = {told["link"].split("#")[0] for told in got()}
    check(links == {"https://steward.example/"}, "notices have links to the page", links)
    check(not office.hook.wrong, "each request is signed", office.hook.wrong[:3])
    check(not any("item-" in json.dumps(told) for told in got()), "a notice holds no arguments")
    said = [post.text for post in office.slack.all("UANA")]
    check(any("was approved by" in text for text in said), "the asker hears of a yes in Slack", said[:3])
    check(any("was rejected by" in text for text in said), "and of a no", said[:3])


def quiet(door, one):
    with contextlib.suppress(Refused, OSError, HTTPException, AssertionError, ValueError):
        door.decide(one, "approve")


def bound(check, office, one, verdict, what):
    """The decision is kept, for exactly what was shown."""
    kept = wait_for(lambda: office.decision(one.task), 10)
    same = kept and (kept["decision"], kept["digest"]) == (verdict, one.digest)
    check(same, f"{what}: the decision is bound to the digest", kept)
    check(kept and kept["by"].split()[0] == "fay", f"{what}: the decision names who took it", kept)


def show(table):
    columns = ["surface", "what", "approve", "reject", "modify", "expire", "crash"]
    rows = [columns] + [
        [door, kind, *[cells.get(name, "") for name in columns[2:]]] for (door, kind), cells in table.items()
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("binary")
    options.add_argument("--pick", help="one surface, by the beginning of its name")
    arguments = options.parse_args()
    check, table = Tally(), {}
    with FakeSlack() as slack, Webhook() as hook:
        office = Office(arguments.binary, slack, hook)
        doors = [door(office) for door in DOORS if door.name.startswith(arguments.pick or "")]
        kinds = ("call", "run")
        office.settings(EXPIRES)
        with office.server:
            late = [(door, office.ask(kind, short=True)) for door in doors for kind in kinds]
            wait_for(lambda: all(slack.find("UFAY", one.task) for _, one in late), EXPIRES)
            for door, one in late:
                table[door.name, one.kind] = {"expire": expired(check, office, door, one)}
            office.server.stop()
            office.settings(3600)
            office.server.start()
            for door in doors:
                for kind in kinds:
                    cells = table[door.name, kind]
                    for cell in (approve, reject, modify, crash):
                        cells[cell.__name__] = cell(check, office, door, kind)
            notices(check, office)
    show(table)
    check.end("six doors")


if __name__ == "__main__":
    main()
