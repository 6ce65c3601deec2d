"""Servers and connections for the tests of this folder."""

import importlib.machinery
import importlib.util
import pathlib
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True


def load_runner():
    """Loads tests/clients/run, which starts servers and always ends them."""
    path = HERE.parent / "clients" / "run"
    loader = importlib.machinery.SourceFileLoader("run_clients", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_clients", loader))
    loader.exec_module(module)
    return module


Server = load_runner().Server


class Connection:
    """A connection that reads whole answers."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.input = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.input.close()
        self.socket.close()

    def ask(self, *lines):
        """Sends a command (a put with its body has two lines). Returns the unchanged answer."""
        self.socket.sendall("".join(line + "\r\n" for line in lines).encode())
        answer = self.input.readline().decode()
        words = answer.split()
        if words and words[0] in ("OK", "FOUND", "RESERVED"):
            answer += self.input.read(int(words[-1]) + 2).decode()
        return answer
