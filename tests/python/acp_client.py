"""A client of ACP on the official Python SDK: sends one prompt, allows what is asked, serves files, and prints what it was told as one JSON object.

usage: acp_client.py FOLDER PROMPT COMMAND [ARGUMENT...]
"""

import asyncio
import json
import pathlib
import sys

import acp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)


class Client(acp.Client):
    def __init__(self):
        self.asked, self.text, self.ended, self.written = [], [], [], []

    async def request_permission(self, options, session_id, tool_call, **kwargs):
        self.asked.append(tool_call.title)
        option = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def session_update(self, session_id, update, **kwargs):
        if update.session_update == "agent_message_chunk":
            self.text.append(update.content.text)
        elif update.session_update == "tool_call_update" and update.status in ("completed", "failed"):
            self.ended.append(update.status)

    async def read_text_file(self, path, session_id, limit=None, line=None, **kwargs):
        return ReadTextFileResponse(content=pathlib.Path(path).read_text())

    async def write_text_file(self, content, path, session_id, **kwargs):
        pathlib.Path(path).write_text(content)
        self.written.append(path)
        return WriteTextFileResponse()


async def main():
    folder, prompt, *command = sys.argv[1:]
    client = Client()
    async with acp.spawn_agent_process(client, *command, cwd=folder) as (connection, process):
        files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        agent = await connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION, client_capabilities=ClientCapabilities(fs=files)
        )
        session = await connection.new_session(cwd=folder, mcp_servers=[])
        answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(prompt)])
    told = {
        "agent": agent.agent_info.name,
        "stopReason": answer.stop_reason,
        "asked": client.asked,
        "text": "".join(client.text),
        "ended": client.ended,
        "written": client.written,
    }
    print(json.dumps(told))


asyncio.run(main())
