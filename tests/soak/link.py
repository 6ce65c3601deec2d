"""A connection that sends commands as bytes, and assigns the answers to them in order."""

import collections
import select
import socket
import time

READ_BYTES = 256 * 1024


class Gone(Exception):
    """The server has closed the connection."""


class Link:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.under_way = collections.deque()  # Unanswered commands.
        self._out = bytearray()
        self._in = bytearray()

    def fileno(self):
        return self.socket.fileno()

    def ask(self, text, command):
        """Appends a command with its body, which flush() sends. `command` is returned with the answer."""
        self._out += text
        self.under_way.append(command)

    def wants_to_write(self):
        return bool(self._out)

    def flush(self):
        try:
            while self._out:
                sent = self.socket.send(memoryview(self._out)[:READ_BYTES])
                del self._out[:sent]
        except BlockingIOError:
            pass
        except OSError as error:
            raise Gone from error

    def receive(self):
        """Returns the received answers, each as (command, words of the line, body or None)."""
        try:
            received = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except TimeoutError:
            raise
        except OSError as error:
            raise Gone from error
        if not received:
            raise Gone
        self._in += received
        return self._take_answers()

    def answers(self, seconds):
        """Sends the remaining commands, and yields the answers to all."""
        deadline = time.monotonic() + seconds
        while self.under_way:
            self.flush()
            poller = select.poll()
            poller.register(self, select.POLLIN | (select.POLLOUT if self._out else 0))
            if not poller.poll(max(0, (deadline - time.monotonic()) * 1000)):
                raise TimeoutError(f"no answer within {seconds} s")
            yield from self.receive()

    def receive_rest(self):
        """Returns the answers that arrived before the connection ended."""
        answers = []
        self.socket.settimeout(1)
        try:
            while True:
                answers += self.receive()
        except (Gone, TimeoutError):
            return answers

    def _take_answers(self):
        answers = []
        at = 0
        while self.under_way:
            end = self._in.find(b"\r\n", at)
            if end < 0:
                break
            words = self._in[at:end].split()
            body = None
            behind = end + 2
            if words and words[0] in (b"RESERVED", b"FOUND", b"OK"):
                size = int(words[-1])
                if len(self._in) < behind + size + 2:
                    break
                body = bytes(self._in[behind : behind + size])
                behind += size + 2
            answers.append((self.under_way.popleft(), words, body))
            at = behind
        del self._in[:at]
        return answers

    def close(self):
        self.socket.close()
