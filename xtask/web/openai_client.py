"""openai_client.py BASE_URL [--key KEY]: the official `openai` client talks to the server as to any other.

Models, chat completions (whole, streamed, a history that goes on, the client's own tools), responses (whole, streamed, continued
by their id, with tools), embeddings in both encodings, and errors as the client's own exceptions.
"""

import argparse
import json

import openai
from harness import Tally, request

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Current weather of a city",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The city"}},
                "required": ["city"],
            },
        },
    }
]


def user(text):
    return {"role": "user", "content": text}


def conversations(base, key):
    return {
        one["id"] for one in request(base, "GET", "/api/v1/conversations?limit=200", key=key).json()["items"]
    }


def models(client, check):
    names = [model.id for model in client.models.list()]
    check("steward" in names, "models.list names steward", names)
    print(f"models: {', '.join(names)}")


def completions(client, check, base, key):
    first = client.chat.completions.create(
        model="steward", messages=[user("Add a task called water the plants")]
    )
    said = first.choices[0].message
    check(
        first.object == "chat.completion" and first.choices[0].finish_reason == "stop",
        "a whole completion",
        first,
    )
    check("water the plants" in said.content, "it did what was said", said.content)
    check(
        first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens,
        "usage adds up",
        first.usage,
    )

    before = conversations(base, key)
    history = [user("Add a task called water the plants"), {"role": "assistant", "content": said.content}]
    second = client.chat.completions.create(model="steward", messages=history + [user("Mark it as done")])
    told = second.choices[0].message.content
    check(
        conversations(base, key) == before,
        "a history that goes on keeps its conversation",
        conversations(base, key) - before,
    )
    check("water the plants" in told or "done" in told.lower(), '"it" is what was said before', told)
    print(f"completions: {said.content!r}, then {told!r}")

    chunks = list(
        client.chat.completions.create(
            model="steward",
            messages=[user("What is on my to-do list?")],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
    check(text.strip(), "a streamed completion has words", text)
    check(len({one.id for one in chunks}) == 1, "all chunks have one id")
    ends = [one.choices[0].finish_reason for one in chunks if one.choices and one.choices[0].finish_reason]
    check(ends == ["stop"], "it ends once, with stop", ends)
    check(chunks[-1].usage is not None and not chunks[-1].choices, "the last chunk counts", chunks[-1])
    print(f"streamed: {len(chunks)} chunks, {text[:60]!r}…")

    parts = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is on my to-do list?"}]},
    ]
    whole = client.chat.completions.create(
        model="steward", messages=parts, temperature=0, max_completion_tokens=200
    )
    check(whole.choices[0].message.content, "content in parts, system messages and options are taken")


def tools(client, check):
    asked = user("What is the weather in Paris?")
    first = client.chat.completions.create(model="steward", messages=[asked], tools=TOOLS)
    calls = first.choices[0].message.tool_calls
    if not check(
        calls and first.choices[0].finish_reason == "tool_calls", "the client's own tool is named", first
    ):
        return
    arguments = json.loads(calls[0].function.arguments)
    check(
        calls[0].function.name == "get_weather" and "paris" in arguments.get("city", "").lower(),
        "with its arguments",
        calls[0],
    )
    result = {
        "role": "tool",
        "tool_call_id": calls[0].id,
        "content": json.dumps({"city": "Paris", "celsius": 21, "sky": "clear"}),
    }
    second = client.chat.completions.create(
        model="steward", messages=[asked, first.choices[0].message.model_dump(), result], tools=TOOLS
    )
    told = second.choices[0].message.content or ""
    check(second.choices[0].finish_reason == "stop" and "21" in told, "what the tool gave is told", told)
    print(f"tools: {calls[0].function.name}({calls[0].function.arguments}) -> {told!r}")

    chunks = list(client.chat.completions.create(model="steward", messages=[asked], tools=TOOLS, stream=True))
    named = [
        call.function.name
        for one in chunks
        for call in (one.choices[0].delta.tool_calls or [])
        if one.choices
    ]
    check(
        named == ["get_weather"] and chunks[-1].choices[0].finish_reason == "tool_calls",
        "streamed, too",
        named,
    )
    other = client.chat.completions.create(
        model="steward", messages=[user("What is on my to-do list?")], tools=TOOLS
    )
    check(
        other.choices[0].message.content and not other.choices[0].message.tool_calls,
        "a tool that does not fit is left alone",
        other,
    )

    flat = [{"type": "function", **TOOLS[0]["function"], "strict": False}]
    response = client.responses.create(model="steward", input="What is the weather in Paris?", tools=flat)
    item = response.output[0]
    if check(
        item.type == "function_call" and item.name == "get_weather",
        "responses name the tool",
        response.output,
    ):
        output = {"type": "function_call_output", "call_id": item.call_id, "output": '{"celsius": 21}'}
        after = client.responses.create(
            model="steward", previous_response_id=response.id, input=[output], tools=flat
        )
        check("21" in after.output_text, "and tell its result", after.output_text)
        then = client.responses.create(
            model="steward", previous_response_id=after.id, input="What is on my to-do list?"
        )
        check(then.output_text, "and go on after it", then)


def responses(client, check, base, key):
    first = client.responses.create(model="steward", input="Add a task called call the bank")
    check(
        first.status == "completed" and "call the bank" in first.output_text,
        "a whole response",
        first.output_text,
    )
    before = conversations(base, key)
    second = client.responses.create(model="steward", input="Delete it", previous_response_id=first.id)
    check(
        conversations(base, key) == before,
        "previous_response_id keeps the conversation",
        conversations(base, key) - before,
    )
    check(second.previous_response_id == first.id and second.output_text, "it goes on", second.output_text)
    seen = list(client.responses.create(model="steward", input="What is on my to-do list?", stream=True))
    kinds = [event.type for event in seen]
    text = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
    check(
        kinds[0] == "response.created" and kinds[-1] == "response.completed",
        "a streamed response begins and ends",
        kinds,
    )
    check(text and text == seen[-1].response.output_text, "its pieces are the whole", text)
    check([event.sequence_number for event in seen] == list(range(len(seen))), "numbered without gaps")
    with client.responses.stream(model="steward", input="What is on my to-do list?") as stream:
        for _ in stream:
            pass
        check(stream.get_final_response().output_text, "the client's own accumulator reads the stream")
    print(f"responses: {first.output_text!r}, then {second.output_text!r}, streamed in {len(seen)} events")


def embeddings(client, check):
    texts = ["the cat sat on the mat", "a cat sits on a mat", "quarterly revenue of the group"]
    packed = client.embeddings.create(model="steward-embed", input=texts)
    plain = client.embeddings.create(model="steward-embed", input=texts, encoding_format="float")
    one, two, three = (item.embedding for item in packed.data)
    near = all(abs(a - b) < 1e-6 for a, b in zip(one, plain.data[0].embedding, strict=True))
    check(near, "base64 and float are the same numbers")
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    check(dot(one, two) > dot(one, three), "what means the same is near")
    single = client.embeddings.create(model="steward-embed", input=texts[0])
    check(len(single.data) == 1 and len(single.data[0].embedding) == len(one), "one text alone")
    print(f"embeddings: {len(one)} numbers each, near {dot(one, two):.2f}, far {dot(one, three):.2f}")


def errors(client, check):
    for what, wanted, call in [
        (
            "an unknown model",
            openai.NotFoundError,
            lambda: client.chat.completions.create(model="gpt-4", messages=[user("hi")]),
        ),
        (
            "an unknown model, streamed",
            openai.NotFoundError,
            lambda: list(client.chat.completions.create(model="gpt-4", messages=[user("hi")], stream=True)),
        ),
        (
            "no messages",
            openai.BadRequestError,
            lambda: client.chat.completions.create(model="steward", messages=[]),
        ),
        (
            "an unknown response",
            openai.NotFoundError,
            lambda: client.responses.create(model="steward", input="hi", previous_response_id="resp_x"),
        ),
        (
            "an empty text",
            openai.BadRequestError,
            lambda: client.embeddings.create(model="steward-embed", input=""),
        ),
        (
            "an unknown embedding model",
            openai.NotFoundError,
            lambda: client.embeddings.create(model="gpt-4", input="x"),
        ),
    ]:
        try:
            found = call()
        except openai.APIStatusError as error:
            found = error
            check(
                isinstance(error, wanted) and error.message and error.code,
                f"{what} is {wanted.__name__}",
                error,
            )
        except openai.APIError as error:
            check(False, f"{what} is {wanted.__name__}", error)
        else:
            check(False, f"{what} is {wanted.__name__}", found)
    print("errors: each is the client's own exception")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("base")
    arguments.add_argument("--key")
    given = arguments.parse_args()
    client = openai.OpenAI(
        base_url=f"{given.base}/v1", api_key=given.key or "unused", max_retries=0, timeout=120
    )
    check = Tally()
    at = (given.base, given.key)
    for part, more in [
        (models, ()),
        (completions, at),
        (tools, ()),
        (responses, at),
        (embeddings, ()),
        (errors, ()),
    ]:
        try:
            part(client, check, *more)
        except openai.APIError as error:
            check(False, f"{part.__name__} goes through", error)
    check.end(f"openai {openai.__version__}")


if __name__ == "__main__":
    main()
