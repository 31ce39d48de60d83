"""Talks to a running server with the official A2A client: python a2a_client.py BASE_URL

Card, a message and its answer, the stream, a question back answered in the same task, tasks and what is refused.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import ClientConfig, ClientFactory, create_client
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import a2a_pb2 as pb


def message(text, context="", task=""):
    return pb.Message(
        message_id=str(uuid.uuid4()),
        role=pb.ROLE_USER,
        parts=[pb.Part(text=text)],
        context_id=context,
        task_id=task,
    )


def words(message):
    return "\n".join(part.text for part in message.parts if part.text)


async def say(client, text, context="", task=""):
    """The events of one message, the last task state and its words."""
    events, state, told = [], None, ""
    async for event in client.send_message(pb.SendMessageRequest(message=message(text, context, task))):
        events.append(event)
        kind = event.WhichOneof("payload")
        status = {"task": lambda: event.task.status, "status_update": lambda: event.status_update.status}.get(
            kind
        )
        if status:
            state = status().state
            told = words(status().message) or told
        if kind == "task":
            context, task = event.task.context_id, event.task.id
    return events, state, told, context, task


async def letters(http, base):
    """What the revisions ask for to the letter: numbers and names of errors, roles, versions, kinds of parts, pages, tags."""

    def sent(method="SendMessage", params=None, id=1, **more):
        said = {
            "messageId": str(uuid.uuid4()),
            "role": "ROLE_USER",
            "parts": [{"text": "show my tasks"}],
        } | more
        return {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {"message": said}}

    async def post(body, path="/a2a", **headers):
        return (
            await http.post(
                base + path,
                json=body,
                headers={name.replace("_", "-"): value for name, value in headers.items()},
            )
        ).json()

    text = [{"text": "hello"}]
    for body, code, headers in [
        (sent(role=""), -32602, {}),
        (sent(role="ROLE_AGENT"), -32602, {}),
        (sent(parts=[]), -32602, {}),
        (sent(parts=[*text, {"raw": "aGVsbG8=", "mediaType": "image/png"}]), -32005, {}),
        (sent(id={"a": 1}), -32600, {}),
        (sent(), -32009, {"A2A_Version": "1.9"}),
        (sent(), -32009, {"A2A_Version": "0.35"}),
        (sent("GetTask", {"id": "nothing"}), -32001, {}),
        (sent("GetExtendedAgentCard"), -32004, {}),
        (sent("agent/getAuthenticatedExtendedCard"), -32007, {}),
        (sent("SetTaskPushNotificationConfig"), -32003, {}),
        (sent("Nothing"), -32601, {}),
    ]:
        error = (await post(body, **headers)).get("error", {})
        assert error.get("code") == code, (body, error)
        named = [info["reason"] for info in error.get("data", []) if info["domain"] == "a2a-protocol.org"]
        assert bool(named) == (-32009 <= code <= -32001), (code, named)
    assert (await post(sent(), "/a2a?A2A-Version=99.0"))["error"]["code"] == -32009
    for headers in ({"A2A_Version": ""}, {"A2A_Version": "1.0"}, {"A2A_Version": "0.3"}):
        assert "result" in await post(sent(parts=[*text, {"data": {"a": 1}}]), "/a2a/", **headers)
    context = str(uuid.uuid4())
    begun = [(await post(sent(contextId=context)))["result"]["task"]["id"] for _ in range(3)]
    first = (await post(sent("ListTasks", {"contextId": context, "pageSize": 2})))["result"]
    begun.append((await post(sent(contextId=context)))["result"]["task"]["id"])
    second = (
        await post(
            sent("ListTasks", {"contextId": context, "pageSize": 2, "pageToken": first["nextPageToken"]})
        )
    )["result"]
    assert [task["id"] for page in (first, second) for task in page["tasks"]] == begun[2::-1], (
        "what came between moved nothing"
    )
    bare = (await post(sent("GetTask", {"id": begun[0], "history_length": 0})))["result"]
    assert "history" not in bare, bare
    card = await http.get(f"{base}/.well-known/agent-card.json")
    same = await http.get(
        f"{base}/.well-known/agent-card.json", headers={"If-None-Match": card.headers["etag"]}
    )
    assert same.status_code == 304 and "max-age" in card.headers["cache-control"], same
    print("to the letter: errors, versions, roles, pages, tags")


async def followed(http, base):
    """Whoever subscribes to a task that asks something hears its answer, and nothing of what was before."""

    def rpc(method, params):
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    def said(text, **more):
        return {
            "message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]} | more
        }

    task = (await http.post(f"{base}/a2a", json=rpc("SendMessage", said("delete the report task")))).json()[
        "result"
    ]["task"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task
    states = []
    async with http.stream("POST", f"{base}/a2a", json=rpc("SubscribeToTask", {"id": task["id"]})) as stream:
        async for line in stream.aiter_lines():
            if not line.startswith("data: "):
                continue
            event = json.loads(line[6:])["result"]
            status = event.get("task", event.get("statusUpdate", {})).get("status")
            states += [status["state"]] if status else []
            if len(states) == 1:
                await http.post(
                    f"{base}/a2a", json=rpc("SendMessage", said("the quarterly one", taskId=task["id"]))
                )
                await http.post(f"{base}/a2a", json=rpc("CancelTask", {"id": task["id"]}))
    assert states[0] == "TASK_STATE_INPUT_REQUIRED" and states[-1] in (
        "TASK_STATE_COMPLETED",
        "TASK_STATE_CANCELED",
    ), states
    print(f"subscribed: {' '.join(state.removeprefix('TASK_STATE_').lower() for state in states)}")


async def main(base):
    async with httpx.AsyncClient(timeout=60) as http:
        card = await A2ACardResolver(http, base).get_agent_card()
        assert card.name == "Steward" and card.capabilities.streaming, card
        assert {skill.id for skill in card.skills} >= {"ask", "todo"}, card.skills
        print(f"card: {len(card.skills)} skills")
        for streaming in (False, True):
            client = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)
            events, state, told, context, task = await say(client, "show my tasks")
            assert state == pb.TASK_STATE_COMPLETED and "tasks" in told, (state, told)
            assert (len(events) > 1) == streaming, events
            print(f"{'stream' if streaming else 'send'}: {len(events)} events, {told[:60]!r}")
            _, state, told, same, _ = await say(client, "mark the first one done", context)
            assert state == pb.TASK_STATE_COMPLETED and same == context, (state, told)
            print(f"context goes on: {told[:60]!r}")
        _, state, told, context, task = await say(client, "mark the report as done")
        assert state == pb.TASK_STATE_INPUT_REQUIRED and "?" in told, (state, told)
        found = await client.get_task(pb.GetTaskRequest(id=task))
        assert found.status.state == pb.TASK_STATE_INPUT_REQUIRED and found.context_id == context
        _, state, told, _, again = await say(client, "the quarterly one", context, task)
        assert state == pb.TASK_STATE_COMPLETED and again == task, (state, told)
        print(f"question answered in the same task: {told[:60]!r}")
        listed = await client.list_tasks(pb.ListTasksRequest(context_id=context))
        assert [one.id for one in listed.tasks] == [task], listed
        for wrong in (
            lambda: client.cancel_task(pb.CancelTaskRequest(id=task)),
            lambda: client.get_task(pb.GetTaskRequest(id=str(uuid.uuid4()))),
        ):
            try:
                await wrong()
                raise SystemExit("a wrong request was taken")
            except Exception as refused:  # the client has an error class for each
                print(f"refused: {type(refused).__name__}")
        old = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "message/send",
            "params": {
                "message": {
                    "kind": "message",
                    "messageId": "m1",
                    "role": "user",
                    "parts": [{"kind": "text", "text": "show my tasks"}],
                }
            },
        }
        answer = (await http.post(f"{base}/a2a", json=old)).json()["result"]
        assert answer["kind"] == "task" and answer["status"]["state"] == "completed", answer
        print("revision 0.3: completed")
    # A client of its own: the official one leaves its headers behind.
    async with httpx.AsyncClient(timeout=60) as http:
        await letters(http, base)
        await followed(http, base)


asyncio.run(main(sys.argv[1].rstrip("/")))
