"""A relay that adds the tag idp of put to a server that lacks it.

It stores the keys itself, and passes all other work to the server, so that the tool can be tested with a
server of which only the duplicates are simulated.
"""

import re
import socket
import threading

from operator_server import DEADLINE_S


class KeyRelay:
    """A unix socket in front of a server, which has the commands and jobs."""

    def __init__(self, server):
        self.server, self.folder = server, server.folder
        self.path = server.folder.name + "/keys"
        self.address = "unix:" + self.path
        self.keys = {}  # (tube, key) -> id
        self.tags = {}  # id -> the value of its tag
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:  # The listener is closed.
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as behind:
            behind.settimeout(DEADLINE_S)
            behind.connect(self.server.path)
            tube = "default"
            with client.makefile("rb") as lines, behind.makefile("rb") as answers:
                for line in lines:
                    words = line.decode().split()
                    body = lines.read(int(words[4]) + 2) if words[0] == "put" else b""
                    tube = words[1] if words[0] == "use" else tube
                    client.sendall(self.answer(words, tube, body, behind, answers))

    def answer(self, words, tube, body, behind, answers):
        tag = next((word[4:] for word in words if word.startswith("idp:")), None)
        if words[0] != "put" or tag is None:
            answer = ask(behind, answers, " ".join(words), body)
            if words[0] == "capabilities":
                answer = with_text(answer, lambda text: text + b"- idp\n")
            if words[0] in ("list-jobs", "scan-jobs"):
                answer = with_text(answer, self.show_keys)
            return answer
        job = self.keys.get((tube, tag))
        if job is not None:
            stats = ask(behind, answers, f"stats-job {job}", b"")
            state = re.search(rb"^state: (\w+)$", stats, re.MULTILINE)
            if state:
                return b"INSERTED %d %s\r\n" % (job, state[1].upper())
        plain = " ".join(word for word in words if not word.startswith("idp:"))
        answer = ask(behind, answers, plain, body)
        if answer.startswith(b"INSERTED "):
            job = int(answer.split()[1])
            self.keys[(tube, tag)] = job
            self.tags[job] = tag
        return answer

    def show_keys(self, text):
        def show(item):
            tag = self.tags.get(int(item[1]))
            return item[0] + (f'  idp: "{tag}"\n'.encode() if tag else b"")

        return re.sub(rb"^- id: (\d+)\n(?:  .*\n)*", show, text, flags=re.MULTILINE)


class FullRelay(KeyRelay):
    """A relay whose server has no memory for the tube `full`."""

    def answer(self, words, *more):
        return b"OUT_OF_MEMORY\r\n" if words == ["use", "full"] else super().answer(words, *more)


def ask(behind, answers, line, body):
    behind.sendall(line.encode() + b"\r\n" + body)
    answer = answers.readline()
    if answer.startswith((b"OK ", b"RESERVED ", b"FOUND ")):
        answer += answers.read(int(answer.split()[-1]) + 2)
    return answer


def with_text(answer, change):
    """Returns the answer with a changed text."""
    if not answer.startswith(b"OK "):
        return answer
    text = change(answer.split(b"\r\n", 1)[1][:-2])
    return b"OK %d\r\n%s\r\n" % (len(text), text)
