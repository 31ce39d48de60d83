"""The work of `bench runtime` with pydantic-ai: a stub model asks for the tool `add` ten times, then answers; 21 steps a task.

argv: `none N`. N tasks, one at a time, without persistence. Prints one JSON object.
"""

import asyncio
import json
import sys
import time

begun = time.perf_counter()
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

IMPORT = time.perf_counter() - begun
CALLS = 10


def model(messages, _info):
    # One request, then an answer of the model and a result of the tool in turns.
    done = len(messages) // 2
    if done < CALLS:
        return ModelResponse(parts=[ToolCallPart("add", {"a": done, "b": 1})])
    return ModelResponse(parts=[TextPart("done")])


agent = Agent(FunctionModel(model))


@agent.tool_plain
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def run(tasks):
    begun = time.perf_counter()
    for _ in range(tasks):
        ended = await agent.run("add")
        assert len(ended.all_messages()) == 2 * CALLS + 2, "the task did not end as it should"
    return time.perf_counter() - begun


mode, tasks = sys.argv[1], int(sys.argv[2])
assert mode == "none", "only `none` is known"
seconds = asyncio.run(run(tasks))
print(
    json.dumps(
        {"tasks": tasks, "steps": tasks * (2 * CALLS + 1), "seconds": seconds, "import_seconds": IMPORT}
    )
)
