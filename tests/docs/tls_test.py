#!/usr/bin/env python3
"""Runs the TLS recipe of docs/security.md: its commands and its files, with other folders and ports.

    tls_test.py HARICOTD
"""

import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "monitors"), str(HERE.parents[1] / "scripts/lib")]

import documents
import ports
from servers import Connection, Server

PATIENCE_SECONDS = 60


def replaced(text, changes):
    for old, new in changes.items():
        assert old in text, f"the recipe has no {old!r}"
        text = text.replace(old, new)
    return text


def start_stunnel(folder, name, text):
    """Starts stunnel in the foreground, with its log in a file."""
    head = f"foreground = yes\npid =\noutput = {folder}/{name}.log\n"
    (folder / f"{name}.conf").write_text(head + text)
    return subprocess.Popen(
        ["stunnel4", str(folder / f"{name}.conf")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for_port(port, process, log):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"stunnel does not listen:\n{log.read_text() if log.exists() else ''}")


def use_tunnel(port):
    """Sends jobs of all sizes to a waiting worker."""
    with Connection(port) as worker, Connection(port) as producer:
        worker.socket.sendall(b"reserve\r\n")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "\ncurrent-waiting: 1\n" not in producer.ask("stats"):
            assert time.monotonic() < deadline, "the worker does not wait"
            time.sleep(0.02)
        for size in (0, 1, 1000, 65535):
            body = "x" * size
            answer = producer.ask(f"put 0 0 60 {size}", body).split()
            assert answer[0] == "INSERTED", answer
            assert worker.ask() == f"RESERVED {answer[1]} {size}\r\n{body}\r\n"
            assert worker.ask(f"delete {answer[1]}") == "DELETED\r\n"
            worker.socket.sendall(b"reserve\r\n")


def expect_nothing(port, context):
    """Checks that a client without a valid certificate gets no answer, at whatever time it is refused."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as plain:
            if context is None:
                plain.sendall(b"stats\r\n")
                answer = plain.recv(100)
            else:
                with context.wrap_socket(plain) as tunnel:
                    tunnel.sendall(b"stats\r\n")
                    answer = tunnel.recv(100)
    except OSError:
        return
    assert not answer.startswith(b"OK"), "an unauthorized client got an answer"


def strangers(folder):
    """Yields the contexts of unauthorized clients: without TLS, without a certificate, and with an unknown one."""
    yield None
    anonymous = ssl.create_default_context()
    anonymous.check_hostname = False
    anonymous.verify_mode = ssl.CERT_NONE
    yield anonymous
    other = ssl.create_default_context()
    other.check_hostname = False
    other.verify_mode = ssl.CERT_NONE
    other.load_cert_chain(folder / "server.crt", folder / "server.key")
    yield other


def main(haricotd):
    server_file, client_file = documents.blocks("security.md", "ini")
    (commands,) = documents.blocks("security.md", "sh")
    tunnels = []
    with tempfile.TemporaryDirectory() as name, Server(haricotd, []) as server:
        folder = pathlib.Path(name)
        commands = replaced(commands, {"/etc/stunnel": name})
        subprocess.run(["sh", "-ec", commands], check=True, capture_output=True)
        outside, inside = ports.choose_port(), ports.choose_port()
        try:
            text = replaced(
                server_file,
                {
                    "/etc/stunnel": name,
                    "accept = 11301": f"accept = 127.0.0.1:{outside}",
                    "127.0.0.1:11300": f"127.0.0.1:{server.port}",
                },
            )
            tunnels.append(start_stunnel(folder, "server", text))
            wait_for_port(outside, tunnels[0], folder / "server.log")
            text = replaced(
                client_file,
                {
                    "/etc/stunnel": name,
                    "127.0.0.1:11300": f"127.0.0.1:{inside}",
                    "queue.example:11301": f"127.0.0.1:{outside}",
                },
            )
            tunnels.append(start_stunnel(folder, "client", text))
            wait_for_port(inside, tunnels[1], folder / "client.log")
            use_tunnel(inside)
            for context in strangers(folder):
                expect_nothing(outside, context)
            use_tunnel(inside)
        finally:
            for tunnel in tunnels:
                tunnel.kill()
                tunnel.wait()
        server.stop()
    print("jobs passed the tunnel; unauthorized clients were refused")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(os.path.abspath(sys.argv[1])))
