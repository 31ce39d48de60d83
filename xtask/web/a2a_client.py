"""Talks to a running server with the official A2A client: python a2a_client.py BASE_URL

Card, a message and its answer, the stream, a question back answered in the same task, tasks and what is refused.
"""

import asyncio
import sys
import uuid

import httpx
from a2a.client import ClientConfig, ClientFactory, create_client
from a2a.client.card_resolver import A2ACardResolver
from a2a.types import a2a_pb2 as pb


def message(text, context="", task=""):
    return pb.Message(message_id=str(uuid.uuid4()), role=pb.ROLE_USER, parts=[pb.Part(text=text)], context_id=context, task_id=task)


def words(message):
    return "\n".join(part.text for part in message.parts if part.text)


async def say(client, text, context="", task=""):
    """The events of one message, the last task state and its words."""
    events, state, told = [], None, ""
    async for event in client.send_message(pb.SendMessageRequest(message=message(text, context, task))):
        events.append(event)
        kind = event.WhichOneof("payload")
        status = {"task": lambda: event.task.status, "status_update": lambda: event.status_update.status}.get(kind)
        if status:
            state = status().state
            told = words(status().message) or told
        if kind == "task":
            context, task = event.task.context_id, event.task.id
    return events, state, told, context, task


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
        old = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {
            "kind": "message", "messageId": "m1", "role": "user", "parts": [{"kind": "text", "text": "show my tasks"}]}}}
        answer = (await http.post(f"{base}/a2a", json=old)).json()["result"]
        assert answer["kind"] == "task" and answer["status"]["state"] == "completed", answer
        print("revision 0.3: completed")


asyncio.run(main(sys.argv[1].rstrip("/")))
