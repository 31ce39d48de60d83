"""clients.py BINARY [--only NAME] [--node NODE --npm FOLDER]: the clients that people use, against `steward` and an agent.

Each client does the same five things: a plain answer, a streamed one, a call of its own tool with the result sent back, an answer
in a form, and a second turn that knows the first. Behind the server stands a scripted model (fake_model.py). The outcome is a table.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from fake_model import PERSON, FakeModel
from harness import Server, request

MODELS = ["steward", "steward/helper"]
THINGS = ["plain", "stream", "tools", "structured", "multi-turn"]
HELLO, WEATHER, ASK_PERSON = "Please greet me warmly.", "What is the weather in Paris?", "Describe a person."
NAME, ASK_NAME = "Hello, my name is Ada, remember it.", "What is my name?"
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def user(text):
    return {"role": "user", "content": text}


def expect(true, found):
    if not true:
        raise AssertionError(f"unexpected: {found!r}"[:500])


def openai_chat(base, model):
    import openai

    client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0, timeout=60)
    create = client.chat.completions.create
    tool = {
        "type": "function",
        "function": {"name": "get_weather", "description": "Weather of a city", "parameters": PARAMETERS},
    }

    def plain():
        got = create(model=model, messages=[{"role": "system", "content": "Be kind."}, user(HELLO)])
        expect(got.choices[0].message.content == "Hello from the model.", got)
        expect((got.usage.prompt_tokens, got.usage.completion_tokens) == (11, 7), got.usage)
        short = create(model=model, messages=[user(HELLO)], max_completion_tokens=2, temperature=0.2, seed=7)
        expect(short.choices[0].finish_reason == "length", short)
        stopped = create(model=model, messages=[user(HELLO)], stop=" the", top_p=0.9)
        expect(stopped.choices[0].message.content == "Hello from", stopped)
        try:
            create(model=model, messages=[user(HELLO)], n=2)
            expect(False, "n=2 was taken")
        except openai.BadRequestError as error:
            expect(error.param == "n" and error.type == "invalid_request_error", error)

    def stream():
        chunks = list(
            create(
                model=model,
                messages=[{"role": "system", "content": "Be kind."}, user(HELLO)],
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        parts = [
            one.choices[0].delta.content for one in chunks if one.choices and one.choices[0].delta.content
        ]
        expect("".join(parts) == "Hello from the model." and len(parts) > 1, parts)
        expect(chunks[-1].usage and chunks[-1].usage.completion_tokens == 7, chunks[-1])

    def tools():
        first = create(model=model, messages=[user(WEATHER)], tools=[tool], parallel_tool_calls=False)
        call = first.choices[0].message.tool_calls[0]
        expect(
            call.function.name == "get_weather" and json.loads(call.function.arguments) == {"city": "Paris"},
            call,
        )
        history = [user(WEATHER), first.choices[0].message.model_dump(exclude_none=True)]
        history.append({"role": "tool", "tool_call_id": call.id, "content": '{"celsius": 21}'})
        second = create(model=model, messages=history, tools=[tool])
        expect(
            "21" in second.choices[0].message.content
            and "unverified" not in second.choices[0].message.content,
            second,
        )
        forced = {"type": "function", "function": {"name": "get_weather"}}
        third = create(model=model, messages=[user(WEATHER)], tools=[tool], tool_choice=forced)
        expect(third.choices[0].finish_reason == "tool_calls", third)
        none = create(model=model, messages=[user(WEATHER)], tools=[tool], tool_choice="none")
        expect(not none.choices[0].message.tool_calls, none)
        names = [
            call.function.name
            for one in create(model=model, messages=[user(WEATHER)], tools=[tool], stream=True)
            for choice in one.choices
            for call in choice.delta.tool_calls or []
        ]
        expect(names == ["get_weather"], names)

    def structured():
        form = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
        got = create(model=model, messages=[user(ASK_PERSON)], response_format=form)
        expect(json.loads(got.choices[0].message.content) == PERSON, got)
        got = create(model=model, messages=[user(ASK_PERSON)], response_format={"type": "json_object"})
        expect(json.loads(got.choices[0].message.content) == PERSON, got)
        got = create(model=model, messages=[user(f"{ASK_PERSON} (wrong once)")], response_format=form)
        expect(json.loads(got.choices[0].message.content) == PERSON, got)
        parts = create(model=model, messages=[user(ASK_PERSON)], response_format=form, stream=True)
        text = "".join(one.choices[0].delta.content or "" for one in parts if one.choices)
        expect(json.loads(text) == PERSON, text)

    def turns():
        first = create(model=model, messages=[user(NAME)])
        history = [user(NAME), first.choices[0].message.model_dump(exclude_none=True), user(ASK_NAME)]
        second = create(model=model, messages=[{"role": "system", "content": "Be brief."}, *history])
        expect("Ada" in second.choices[0].message.content, second)

    return [plain, stream, tools, structured, turns]


def openai_responses(base, model):
    import openai

    client = openai.OpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0, timeout=60)
    create = client.responses.create
    tool = {
        "type": "function",
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": PARAMETERS,
        "strict": False,
    }

    def plain():
        got = create(model=model, input=HELLO, instructions="Be kind.")
        expect(got.output_text == "Hello from the model." and got.usage.input_tokens == 11, got)
        cut = create(model=model, input=HELLO, max_output_tokens=2)
        expect(cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens", cut)

    def stream():
        seen = list(create(model=model, input=HELLO, instructions="Be kind.", stream=True))
        deltas = [event.delta for event in seen if event.type == "response.output_text.delta"]
        expect("".join(deltas) == "Hello from the model." and len(deltas) > 1, deltas)
        expect(seen[0].type == "response.created" and seen[-1].type == "response.completed", seen[-1])
        expect(seen[0].response.id == seen[-1].response.id, seen[0])
        expect([event.sequence_number for event in seen] == list(range(len(seen))), "numbers")

    def tools():
        first = create(model=model, input=WEATHER, tools=[tool])
        call = first.output[0]
        expect(call.type == "function_call" and call.name == "get_weather", first)
        output = {"type": "function_call_output", "call_id": call.call_id, "output": '{"celsius": 21}'}
        second = create(model=model, previous_response_id=first.id, input=[output], tools=[tool])
        expect("21" in second.output_text, second)
        whole = [user(WEATHER), call.model_dump(exclude_none=True), output]
        third = create(model=model, input=whole, tools=[tool])
        expect("21" in third.output_text, third)

    def structured():
        form = {"format": {"type": "json_schema", "name": "person", "schema": SCHEMA, "strict": True}}
        got = create(model=model, input=ASK_PERSON, text=form)
        expect(json.loads(got.output_text) == PERSON, got)

    def turns():
        first = create(model=model, input=NAME, instructions="Be brief.")
        second = create(model=model, input=ASK_NAME, previous_response_id=first.id, instructions="Be brief.")
        expect("Ada" in second.output_text, second)

    return [plain, stream, tools, structured, turns]


def langchain(base, model):
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        age: int

    chat = ChatOpenAI(model=model, base_url=f"{base}/v1", api_key="none", max_retries=0)

    def get_weather(city: str) -> str:
        """Weather of a city"""
        return '{"celsius": 21}'

    def plain():
        got = chat.invoke([SystemMessage("Be kind."), HumanMessage(HELLO)])
        expect(got.content == "Hello from the model." and got.usage_metadata["input_tokens"] == 11, got)
        # As it is by default: texts are sent as tokens.
        vectors = OpenAIEmbeddings(
            model="steward-embed", base_url=f"{base}/v1", api_key="none"
        ).embed_documents(["a cat", "a cat"])
        plain = OpenAIEmbeddings(
            model="steward-embed", base_url=f"{base}/v1", api_key="none", check_embedding_ctx_length=False
        ).embed_query("a cat")
        expect(
            len(vectors[0]) == 384 and max(abs(a - b) for a, b in zip(vectors[0], plain)) < 1e-5, "embeddings"
        )

    def stream():
        parts = [
            one.text for one in chat.stream([SystemMessage("Be kind."), HumanMessage(HELLO)]) if one.text
        ]
        expect("".join(parts) == "Hello from the model." and len(parts) > 1, parts)

    def tools():
        bound = chat.bind_tools([get_weather])
        first = bound.invoke(WEATHER)
        expect(first.tool_calls[0]["args"] == {"city": "Paris"}, first)
        result = ToolMessage('{"celsius": 21}', tool_call_id=first.tool_calls[0]["id"])
        expect("21" in bound.invoke([HumanMessage(WEATHER), first, result]).content, "result")

    def structured():
        for method in ("json_schema", "json_mode"):
            named = chat.with_structured_output(Person, method=method)
            expect(named.invoke(ASK_PERSON) == Person(**PERSON), method)

    def turns():
        got = chat.invoke([HumanMessage(NAME), AIMessage("Hello Ada."), HumanMessage(ASK_NAME)])
        expect("Ada" in got.content, got)

    return [plain, stream, tools, structured, turns]


def agents(base, model, responses):
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    set_tracing_disabled(True)

    class Person(BaseModel):
        name: str
        age: int

    @function_tool
    def get_weather(city: str) -> str:
        """Weather of a city"""
        return f'{{"city": "{city}", "celsius": 21}}'

    def agent(**more):
        client = AsyncOpenAI(base_url=f"{base}/v1", api_key="none", max_retries=0)
        kind = OpenAIResponsesModel if responses else OpenAIChatCompletionsModel
        return Agent(
            name="helper", instructions="Be kind.", model=kind(model=model, openai_client=client), **more
        )

    def run(given, **more):
        return asyncio.run(Runner.run(agent(**more), given))

    def plain():
        expect(run(HELLO).final_output == "Hello from the model.", "plain")

    def stream():
        async def all():
            result = Runner.run_streamed(agent(), HELLO)
            return [
                event.data.delta
                async for event in result.stream_events()
                if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
            ]

        parts = asyncio.run(all())
        expect("".join(parts) == "Hello from the model." and len(parts) > 1, parts)

    def tools():
        expect("21" in run(WEATHER, tools=[get_weather]).final_output, "tools")

    def structured():
        expect(run(ASK_PERSON, output_type=Person).final_output == Person(**PERSON), "structured")

    def turns():
        first = run(NAME)
        expect("Ada" in run(first.to_input_list() + [user(ASK_NAME)]).final_output, "turns")

    return [plain, stream, tools, structured, turns]


def pydantic(base, model):
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Person(BaseModel):
        name: str
        age: int

    def agent(**more):
        provider = OpenAIProvider(base_url=f"{base}/v1", api_key="none")
        return Agent(OpenAIChatModel(model, provider=provider), instructions="Be kind.", **more)

    def plain():
        got = agent().run_sync(HELLO)
        expect(got.output == "Hello from the model.", got)

    def stream():
        async def all():
            async with agent().run_stream(HELLO) as result:
                return [part async for part in result.stream_text(delta=True, debounce_by=None)]

        parts = asyncio.run(all())
        expect("".join(parts) == "Hello from the model." and len(parts) > 1, parts)

    def tools():
        one = agent()

        @one.tool_plain
        def get_weather(city: str) -> str:
            """Weather of a city"""
            return '{"celsius": 21}'

        expect("21" in one.run_sync(WEATHER).output, "tools")

    def structured():
        expect(agent(output_type=Person).run_sync(ASK_PERSON).output == Person(**PERSON), "tool output")
        expect(
            agent(output_type=NativeOutput(Person)).run_sync(ASK_PERSON).output == Person(**PERSON), "native"
        )

    def turns():
        one = agent()
        first = one.run_sync(NAME)
        expect("Ada" in one.run_sync(ASK_NAME, message_history=first.all_messages()).output, "turns")

    return [plain, stream, tools, structured, turns]


def litellm(base, model):
    import litellm as lite

    def ask(messages, **more):
        return lite.completion(
            model=f"openai/{model}",
            messages=messages,
            api_base=f"{base}/v1",
            api_key="none",
            num_retries=0,
            **more,
        )

    tool = {
        "type": "function",
        "function": {"name": "get_weather", "description": "Weather of a city", "parameters": PARAMETERS},
    }

    def plain():
        got = ask([{"role": "system", "content": "Be kind."}, user(HELLO)])
        expect(
            got.choices[0].message.content == "Hello from the model." and got.usage.prompt_tokens == 11, got
        )

    def stream():
        parts = [
            one.choices[0].delta.content
            for one in ask([{"role": "system", "content": "Be kind."}, user(HELLO)], stream=True)
            if one.choices and one.choices[0].delta.content
        ]
        expect("".join(parts) == "Hello from the model." and len(parts) > 1, parts)

    def tools():
        first = ask([user(WEATHER)], tools=[tool])
        call = first.choices[0].message.tool_calls[0]
        result = {"role": "tool", "tool_call_id": call.id, "content": '{"celsius": 21}'}
        second = ask([user(WEATHER), first.choices[0].message.model_dump(), result], tools=[tool])
        expect("21" in second.choices[0].message.content, second)

    def structured():
        form = {"type": "json_schema", "json_schema": {"name": "person", "schema": SCHEMA, "strict": True}}
        expect(
            json.loads(ask([user(ASK_PERSON)], response_format=form).choices[0].message.content) == PERSON,
            "form",
        )

    def turns():
        got = ask([user(NAME), {"role": "assistant", "content": "Hello Ada."}, user(ASK_NAME)])
        expect("Ada" in got.choices[0].message.content, got)

    return [plain, stream, tools, structured, turns]


CLIENTS = {
    "openai": openai_chat,
    "openai responses": openai_responses,
    "langchain-openai": langchain,
    "openai-agents": lambda base, model: agents(base, model, False),
    "openai-agents responses": lambda base, model: agents(base, model, True),
    "pydantic-ai": pydantic,
    "litellm": litellm,
}
LIGHT = ["openai", "openai responses"]


def offline_tokens():
    """LangChain counts tokens with a vocabulary that its library would download; LiteLLM's package has it."""
    import importlib.util

    found = importlib.util.find_spec("litellm")
    if found and found.origin:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(found.origin).parent / "litellm_core_utils/tokenizers")
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


def attempt(thing):
    try:
        thing()
        return "ok"
    except Exception as error:  # A client fails in its own ways; all of them are told.
        return f"{type(error).__name__}: {error}"[:600]


def ai_sdk(base, model, given):
    done = subprocess.run(
        [given.node, str(Path(__file__).parent / "ai_sdk.mjs"), base, model, str(given.npm)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        return [f"{done.stdout}{done.stderr}"[-600:]] * len(THINGS)


def unknown_paths(base):
    """Errors and unknown paths have OpenAI's form, whoever finds them."""
    for method, path, body, status in [
        ("GET", "/v1/nothing", None, 404),
        ("POST", "/v1/audio/speech", {}, 404),
        ("PUT", "/v1/models", {}, 405),
        ("POST", "/v1/chat/completions", {"model": 1}, 400),
        ("POST", "/v1/responses", {"model": "steward", "input": "x", "background": True}, 400),
        ("POST", "/v1/embeddings", {"input": "x", "dimensions": 8}, 400),
        ("POST", "/v1/embeddings", {"input": [4000000]}, 400),
    ]:
        got = request(base, method, path, body)
        error = got.json().get("error", {})
        if got.status != status or not {"message", "type", "param", "code"} <= set(error):
            raise SystemExit(f"{method} {path}: {got}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("binary")
    options.add_argument("--only", action="append")
    options.add_argument("--light", action="store_true")
    options.add_argument("--node")
    options.add_argument("--npm", type=Path)
    given = options.parse_args()
    offline_tokens()
    server = Server(given.binary, "--per-minute", "1000000")
    rows, bad = [], []
    with FakeModel() as model:
        model.configure(server.home)
        with server:
            unknown_paths(server.base)
            names = given.only or (LIGHT if given.light else list(CLIENTS))
            for name in names:
                for target in MODELS:
                    rows.append(
                        (name, target, [attempt(thing) for thing in CLIENTS[name](server.base, target)])
                    )
            if given.npm:
                for target in MODELS:
                    rows.append(("@ai-sdk/openai-compatible", target, ai_sdk(server.base, target, given)))
        log = server.told() if any(one != "ok" for *_, cells in rows for one in cells) else ""
    width = max(len(name) for name, *_ in rows)
    print(f"{'client':{width}} {'model':15} " + " ".join(f"{thing:10}" for thing in THINGS))
    for name, target, cells in rows:
        marks = ["ok" if cell == "ok" else "WRONG" for cell in cells]
        print(f"{name:{width}} {target:15} " + " ".join(f"{mark:10}" for mark in marks))
        bad += [f"{name}, {target}, {thing}: {cell}" for thing, cell in zip(THINGS, cells) if cell != "ok"]
    for one in bad:
        print(f"  WRONG {one}")
    if bad and log:
        print(log[-1500:])
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
