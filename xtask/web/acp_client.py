"""acp_client.py BINARY: the official client of the agent client protocol starts `steward acp` and talks to it.

Initialize, a new session, a prompt with streamed updates, a decision asked for with request_permission (rejected, then allowed), a
session loaded by a second process, and what is refused.
"""

import asyncio
import sys

import acp
from acp import schema
from harness import Server


class Editor(acp.Client):
    """Collects updates, and decides as it is told."""

    def __init__(self):
        self.updates, self.asked, self.decide = [], [], "reject_once"

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call.title, [option.name for option in options]))
        chosen = next(option for option in options if option.kind == self.decide)
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    def kinds(self):
        return {update.session_update for update in self.updates}

    def text(self):
        chunks = [one for one in self.updates if one.session_update == "agent_message_chunk"]
        return "".join(one.content.text for one in chunks)


async def connected(server, talk):
    editor = Editor()
    environment = dict(server.environment)
    async with acp.spawn_agent_process(editor, server.binary, "acp", env=environment) as (agent, process):
        ready = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert ready.protocol_version == 1 and ready.agent_capabilities.load_session, ready
        return await talk(agent, editor)


async def first(agent, editor):
    session = await agent.new_session(cwd="/", mcp_servers=[])

    async def say(text):
        editor.updates.clear()
        return await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])

    done = await say("Add a task called polish the trumpet")
    assert done.stop_reason == "end_turn" and "polish the trumpet" in editor.text(), editor.updates
    assert "tool_call" in editor.kinds() and "tool_call_update" in editor.kinds(), editor.kinds()
    # A deletion asks first: a no leaves it, a yes does it.
    await say('delete the task "polish the trumpet"')
    assert editor.asked and "polish the trumpet" in editor.asked[-1][0], editor.asked
    await say("show my tasks")
    before = int(editor.text().split()[0])
    editor.decide = "allow_once"
    await say('delete the task "polish the trumpet"')
    assert len(editor.asked) == 2, editor.asked
    await say("show my tasks")
    assert int(editor.text().split()[0]) == before - 1, editor.text()
    for wrong in (
        agent.prompt(session_id="nothing", prompt=[acp.text_block("hi")]),
        agent.load_session(session_id="nothing", cwd="/", mcp_servers=[]),
    ):
        try:
            await wrong
            raise AssertionError("an unknown session was taken")
        except acp.RequestError as error:
            assert error.code == -32002, error
    return session.session_id


async def main(binary):
    server = Server(binary)
    session = await connected(server, first)

    async def second(agent, editor):
        await agent.load_session(session_id=session, cwd="/", mcp_servers=[])
        assert {"user_message_chunk", "agent_message_chunk"} <= editor.kinds(), editor.kinds()
        return len(editor.updates)

    shown = await connected(server, second)
    print(f"acp: a session with decisions, loaded again by a second process with {shown} messages")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
