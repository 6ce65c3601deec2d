"""Base of the tests of `haricot web` with real servers. Their command line is HARICOT SERVER [FLAG...]."""

import base64
import http.client
import json
import pathlib
import socket
import sys
import unittest
import urllib.parse

TOOL, BINARY, *FLAGS = sys.argv[1:]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tool"))

from key_relay import FullRelay  # noqa: E402
from operator_server import Scripted, Server  # noqa: E402
from web_case import Site, wait_until  # noqa: E402

del sys.argv[1:]


class Web(Site):
    """haricot web, which watches the servers."""

    def __init__(self, *words):
        super().__init__(*words, program=(TOOL, "web"))

    def fetch(self, path, method="GET", body=None, headers=None, **parameters):
        """Sends a request. Returns status, headers and bytes of the response."""
        query = urllib.parse.urlencode(parameters)
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            client.request(method, path + ("?" + query if query else ""), body, headers or {})
            response = client.getresponse()
            return response.status, response.headers, response.read()
        finally:
            client.close()

    def text(self, path, **parameters):
        status, _, body = self.fetch(path, **parameters)
        if status != 200:
            raise AssertionError(f"{path} {parameters}: {status} {body}")
        return body.decode()

    def json(self, path, **parameters):
        return json.loads(self.text(path, **parameters))

    def error(self, path, **parameters):
        """Sends a request. Returns status and error text of the response."""
        status, _, body = self.fetch(path, **parameters)
        return status, json.loads(body)["error"]

    def act(self, server, action, **members):
        """Runs an action. Returns status and answer."""
        status, _, body = self.fetch("/api/actions", "POST",
                                     json.dumps({"server": server, "action": action, **members}),
                                     {"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"})
        return status, json.loads(body)

    def wait_ready(self):
        wait_until(lambda: self.fetch("/readyz")[0] == 200)


class WatchTest(unittest.TestCase):
    WORDS = ["--allow-changes", "--interval", "0.2"]

    def setUp(self):
        self.server = Server(BINARY, *FLAGS)
        self.addCleanup(self.server.__exit__)
        self.web = Web(*self.WORDS, self.server.address)
        self.addCleanup(self.web.__exit__)
        self.web.wait_ready()
        self.name = self.server.address
        self.is_haricot = self.web.json("/api/servers")["servers"][0]["is_haricot"]

    def row(self):
        return self.web.json("/api/servers")["servers"][0]

    def tubes(self, **parameters):
        return self.web.json("/api/tubes", **parameters)

    def wait_tube(self, name, holds):
        def is_so():
            found = [tube for tube in self.tubes(filter=name)["tubes"] if tube["name"] == name]
            return found and holds(found[0])
        wait_until(is_so)

    def good(self, action, **members):
        status, answer = self.web.act(self.name, action, **members)
        self.assertEqual(status, 200, answer)
        return answer

    def client(self):
        client = socket.socket(socket.AF_UNIX)
        client.connect(self.server.path)
        self.addCleanup(client.close)
        return client


def body_of(job):
    return base64.b64decode(job["body_base64"])
