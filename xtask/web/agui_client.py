"""agui_client.py BINARY: front ends that speak AG-UI 1.0, checked with the official types (`ag-ui-protocol`).

Every event is one of the protocol; a tool of the front end is called by its name, and its result comes with the next run, with a
scripted model and without one.
"""

import json
import sys

from ag_ui.core import Event, RunAgentInput
from fake_model import FakeModel
from harness import Server, request
from pydantic import TypeAdapter

EVENT = TypeAdapter(Event)
TOOL = {
    "name": "get_weather",
    "description": "Current weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city"}},
        "required": ["city"],
    },
}


def run(base, thread, number, messages, **more):
    given = {"threadId": thread, "runId": f"{thread}-{number}", "messages": messages} | more
    RunAgentInput.model_validate(given)
    got = request(base, "POST", "/agui", given, {"Accept": "text/event-stream"})
    assert got.status == 200, got
    lines = [line[6:] for line in got.body.decode().splitlines() if line.startswith("data: ")]
    events = [json.loads(line) for line in lines]
    for event in events:
        EVENT.validate_python(event)
    kinds = [event["type"] for event in events]
    assert kinds[0] == "RUN_STARTED" and kinds[-1] == "RUN_FINISHED", kinds
    return events


def user(text, number=1):
    return {"id": f"u{number}", "role": "user", "content": text}


def tools(base, thread):
    asked = user("What is the weather in Paris?")
    events = run(base, thread, 1, [asked], tools=[TOOL], context=[], state={}, forwardedProps={})
    start = next(event for event in events if event["type"] == "TOOL_CALL_START")
    arguments = "".join(event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS")
    assert start["toolCallName"] == "get_weather" and "paris" in arguments.lower(), events
    call = {
        "id": start["toolCallId"],
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }
    history = [
        asked,
        {"id": "a1", "role": "assistant", "toolCalls": [call]},
        {"id": "t1", "role": "tool", "toolCallId": start["toolCallId"], "content": '{"celsius": 21}'},
    ]
    events = run(base, thread, 2, history, tools=[TOOL])
    text = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert "21" in text, events


def main(binary):
    with Server(binary, "--per-minute", "100000") as server:
        events = run(server.base, "plain", 1, [user("show my tasks")])
        assert any(event["type"] == "TEXT_MESSAGE_CONTENT" for event in events)
        tools(server.base, "without")
    server = Server(binary, "--per-minute", "100000")
    with FakeModel() as model:
        model.configure(server.home)
        with server:
            tools(server.base, "with")
            context = [{"description": "city of the person", "value": "Rome"}]
            run(server.base, "context", 1, [user("Please greet me warmly.")], context=context)
            assert "city of the person: Rome" in json.dumps(model.seen[-1][1]), model.seen[-1]
    print("ag-ui: events of the official types, tools of the front end with and without a model")


if __name__ == "__main__":
    main(sys.argv[1])
