"""A client of debugpy, as an editor is one: it stops at a breakpoint and reads what is there.

It speaks the Debug Adapter Protocol: a header with a length, then JSON.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.interpreter import OUTER


def stop_at(breakpoint: tuple[Path, int], folder: Path, *command: str) -> tuple[dict, str, int]:
    """Run `python COMMAND...` in a folder under debugpy; stop once at a line of a file.

    Returns:
        the local variables there, as text; what the command printed, and its exit code.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ("--listen", f"127.0.0.1:{port}", "--wait-for-client")
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:  # the debugger keeps pipes open
        ran = subprocess.Popen(
            [sys.executable, "-X", "frozen_modules=off", "-m", "debugpy", *options, *command],
            cwd=folder,
            env={k: v for k, v in os.environ.items() if k not in OUTER},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            with Client(port) as client:
                values = client.values_at(*breakpoint)
                code = ran.wait()
        finally:
            ran.kill()
            ran.wait()
        output.seek(0)
        return values, output.read(), code


class Client:
    """A connection to a debugger."""

    def __init__(self, port: int) -> None:
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        self._stream, self._number = self._socket.makefile("rb"), 0

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()

    def values_at(self, path: Path, line: int) -> dict[str, str]:
        """Run to a line; return the local variables there; then remove the breakpoint, go on."""
        source = {"path": str(path)}
        self._send("initialize", adapterID="tests", pathFormat="path")
        self._send("attach", justMyCode=True)
        self._receive(event="initialized")
        self._ask("setBreakpoints", source=source, breakpoints=[{"line": line}])
        self._send("configurationDone")
        thread = self._receive(event="stopped")["body"]["threadId"]
        frame = self._ask("stackTrace", threadId=thread)["stackFrames"][0]
        assert (frame["source"]["path"], frame["line"]) == (str(path), line)
        scope = self._ask("scopes", frameId=frame["id"])["scopes"][0]
        known = self._ask("variables", variablesReference=scope["variablesReference"])
        self._ask("setBreakpoints", source=source, breakpoints=[])
        self._ask("continue", threadId=thread)
        return {variable["name"]: variable["value"] for variable in known["variables"]}

    def _ask(self, command: str, **arguments: object) -> dict:
        number = self._send(command, **arguments)
        response = self._receive(request_seq=number)
        assert response["success"], response
        return response["body"]

    def _send(self, command: str, **arguments: object) -> int:
        self._number += 1
        request = {"seq": self._number, "type": "request", "command": command}
        content = json.dumps(request | {"arguments": arguments}).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        return self._number

    def _receive(self, **values: object) -> dict:
        """Return the next message that has these values; ignore those before it."""
        while True:
            length = 0
            while header := self._stream.readline().strip():
                length = int(header.split(b":")[1])
            assert length, "the debugger has ended"
            message = json.loads(self._stream.read(length))
            if values.items() <= message.items():
                return message
