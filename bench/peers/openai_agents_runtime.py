"""The work of `bench runtime` with the OpenAI Agents SDK: a stub model asks for the tool `add` ten times, then answers; 21 steps a task.

argv: `none N`. N tasks, one at a time, without persistence and tracing. Prints one JSON object.
"""

import asyncio
import json
import sys
import time

begun = time.perf_counter()
from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

IMPORT = time.perf_counter() - begun
CALLS = 10


class Stub(Model):
    async def get_response(self, system_instructions, input, *_more, **_named):
        # One request, then a call and its result in turns.
        done = len(input) // 2 if isinstance(input, list) else 0
        if done < CALLS:
            numbers = json.dumps({"a": done, "b": 1})
            output = ResponseFunctionToolCall(
                type="function_call", call_id=str(done), name="add", arguments=numbers
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(
                type="message", id="answer", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_more, **_named):
        raise NotImplementedError("nothing here is streamed")


@function_tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def run(tasks):
    agent = Agent(name="adds", model=Stub(), tools=[add])
    begun = time.perf_counter()
    for _ in range(tasks):
        ended = await Runner.run(agent, "add", max_turns=CALLS + 2)
        assert len(ended.new_items) == 2 * CALLS + 1, "the task did not end as it should"
    return time.perf_counter() - begun


mode, tasks = sys.argv[1], int(sys.argv[2])
assert mode == "none", "only `none` is known"
set_tracing_disabled(True)
seconds = asyncio.run(run(tasks))
print(
    json.dumps(
        {"tasks": tasks, "steps": tasks * (2 * CALLS + 1), "seconds": seconds, "import_seconds": IMPORT}
    )
)
