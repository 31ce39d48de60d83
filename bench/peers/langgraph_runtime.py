"""The work of `bench runtime` with LangGraph: a stub model asks for the tool `add` ten times, then answers; 21 steps a task.

    none N                      steps a second without persistence, one task at a time
    durable N FOLDER            the same with a SQLite saver that has every step on disk before the next one begins
      --at-once K --by HOW      K tasks at once, as coroutines (async) or threads
      --synchronous NORMAL      SQLite waits for the disk at checkpoints only: a loss of power may take the last steps
    paused N [FOLDER]           memory of N tasks that wait for a person: in the memory saver, or in a SQLite file of FOLDER
    first FOLDER                one durable step; whoever started the process takes the time
    storage STEPS FOLDER        bytes on disk of one task of so many steps
      --delta                   with the beta channel that stores what was added instead of the whole state

Prints one JSON object.
"""

import argparse
import asyncio
import contextlib
import json
import operator
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypedDict

begun = time.perf_counter()
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

# What only some ways of running need is imported there, so that the first step does not wait for it.
IMPORT = time.perf_counter() - begun
CALLS = 10
# A task of very many steps is cut short after so many seconds or bytes, and says how far it came.
SECONDS, BYTES = 50, 3_000_000_000


class State(TypedDict):
    messages: Annotated[list, operator.add]


def delta_state():
    from langgraph.channels import DeltaChannel

    def join(known, added):
        return [*known, *(message for some in added for message in some)]

    return TypedDict("DeltaState", {"messages": Annotated[list, DeltaChannel(join)]})


def graph(calls=CALLS, state=State, asks=False, enough=lambda: False):
    """The loop of model and tool. With `asks`, the tool waits for a person's word first."""

    def model(state):
        # One question, then an answer of the model and a result of the tool in turns.
        done = len(state["messages"]) // 2
        if done < calls and not enough():
            call = {"id": str(done), "tool": "add", "arguments": {"a": done, "b": 1}}
            return {"messages": [{"by": "model", "content": "", "tool_calls": [call]}]}
        return {"messages": [{"by": "model", "content": "done"}]}

    def tool(state):
        numbers = state["messages"][-1]["tool_calls"][0]["arguments"]
        if asks:
            interrupt(numbers)
        return {"messages": [{"by": "tool", "content": str(numbers["a"] + numbers["b"])}]}

    def route(state):
        return "tool" if state["messages"][-1].get("tool_calls") else END

    built = StateGraph(state)
    built.add_node("model", model)
    built.add_node("tool", tool)
    built.add_edge(START, "model")
    built.add_conditional_edges("model", route)
    built.add_edge("tool", "model")
    return built


def request():
    return {"messages": [{"by": "user", "content": "add"}]}


def config(name, steps=100):
    return {"configurable": {"thread_id": str(name)}, "recursion_limit": steps}


def checked(state, calls=CALLS):
    assert len(state["messages"]) == 2 * calls + 2, "the task did not end as it should"
    return state


@contextlib.contextmanager
def saver(folder, synchronous):
    """The saver's own settings are WAL and whatever SQLite was built with; mostly that is FULL (2), as here."""
    with SqliteSaver.from_conn_string(os.path.join(folder, "langgraph.db")) as made:
        made.setup()
        as_it_comes = made.conn.execute("pragma synchronous").fetchone()[0]
        made.conn.execute(f"pragma synchronous={synchronous}")
        yield made, as_it_comes


def rate(tasks, seconds, **more):
    return {
        "tasks": tasks,
        "steps": tasks * (2 * CALLS + 1),
        "seconds": seconds,
        "import_seconds": IMPORT,
        **more,
    }


def none(tasks):
    app = graph().compile()
    begun = time.perf_counter()
    for number in range(tasks):
        checked(app.invoke(request(), config(number)))
    return rate(tasks, time.perf_counter() - begun)


def durable(tasks, folder, synchronous, at_once):
    with saver(folder, synchronous) as (saves, as_it_comes), ThreadPoolExecutor(at_once) as threads:
        app = graph().compile(checkpointer=saves)

        def task(number):
            checked(app.invoke(request(), config(number), durability="sync"))

        begun = time.perf_counter()
        for _ in threads.map(task, range(tasks)) if at_once > 1 else map(task, range(tasks)):
            pass
        return rate(tasks, time.perf_counter() - begun, synchronous_as_it_comes=as_it_comes)


async def durable_async(tasks, folder, synchronous, at_once):
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(os.path.join(folder, "langgraph.db")) as saves:
        await saves.setup()
        await saves.conn.execute(f"pragma synchronous={synchronous}")
        app = graph().compile(checkpointer=saves)
        waiting = iter(range(tasks))

        async def worker():
            for number in waiting:
                checked(await app.ainvoke(request(), config(number), durability="sync"))

        begun = time.perf_counter()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        return rate(tasks, time.perf_counter() - begun)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def disk(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


def paused(tasks, folder):
    def pause(saves):
        app = graph(asks=True).compile(checkpointer=saves)
        # The first task brings in what is loaded late; it is not counted.
        app.invoke(request(), config("first"), durability="sync")
        before = resident()
        for number in range(tasks):
            state = app.invoke(request(), config(number), durability="sync")
            assert "__interrupt__" in state, "the task does not wait"
        return {"tasks": tasks, "rss_before": before, "rss_after": resident()}

    if folder is None:
        from langgraph.checkpoint.memory import InMemorySaver

        return {**pause(InMemorySaver()), "disk": 0}
    # How sure the bytes are does not change how many there are.
    with saver(folder, "OFF") as (saves, _):
        measured = pause(saves)
    return {**measured, "disk": disk(folder)}


def first(folder):
    with saver(folder, "FULL") as (saves, _):
        app = graph().compile(checkpointer=saves, interrupt_after=["model"])
        state = app.invoke(request(), config("first"), durability="sync")
        assert len(state["messages"]) == 2, "one step was asked for"
    return {"steps": 1}


def storage(steps, folder, state):
    begun = time.perf_counter()

    def enough():
        return time.perf_counter() - begun > SECONDS or disk(folder) > BYTES

    # Model and tool in turns, and the model once more.
    calls = steps // 2
    with saver(folder, "OFF") as (saves, _):
        app = graph(calls, state, enough=enough).compile(checkpointer=saves)
        ended = app.invoke(request(), config("long", steps + 10), durability="sync")
        done = len(ended["messages"]) - 1
    return {"steps": done, "bytes": disk(folder), "cut_short": done < 2 * calls}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["none", "durable", "paused", "first", "storage"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--by", choices=["async", "threads"], default="threads")
    parser.add_argument("--synchronous", choices=["FULL", "NORMAL"], default="FULL")
    parser.add_argument("--delta", action="store_true")
    given = parser.parse_args()
    match given.mode, given.rest:
        case "none", [tasks]:
            told = none(int(tasks))
        case "durable", [tasks, folder] if given.by == "async":
            told = asyncio.run(durable_async(int(tasks), folder, given.synchronous, given.at_once))
        case "durable", [tasks, folder]:
            told = durable(int(tasks), folder, given.synchronous, given.at_once)
        case "paused", [tasks, *folder]:
            told = paused(int(tasks), folder[0] if folder else None)
        case "first", [folder]:
            told = first(folder)
        case "storage", [steps, folder]:
            told = storage(int(steps), folder, delta_state() if given.delta else State)
        case _:
            parser.error("see the top of this file")
    print(json.dumps(told), flush=True)
    # Taking an interpreter apart is no part of anybody's work.
    os._exit(0)


main()
