#!/usr/bin/env python3
"""Tests the recipes of docs/web.md for proxies in front of `haricot web`: proxy_test.py HARICOT HARICOTD.

Debian's nginx, with TLS and below a path of another site; and the stunnel of docs/security.md. Only ports and folders
are others than in the documents.
"""

import http.client
import json
import pathlib
import re
import shlex
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

from watch_case import BINARY, Server, Web
from web_case import TOKEN, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/docs"), str(ROOT / "scripts/lib")]

import documents  # noqa: E402
import ports  # noqa: E402

HOST = "www.example.org"

# The configuration of nginx around the recipe.
NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        server_name {host};
        ssl_certificate {folder}/server.crt;
        ssl_certificate_key {folder}/server.key;
{recipe}
    }}
}}
"""


def replaced(text, changes):
    for old, new in changes.items():
        if old not in text:
            raise AssertionError(f"the recipe has no {old!r}")
        text = text.replace(old, new)
    return text


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Proxied(unittest.TestCase):
    """A server, haricot web in front of it, and a proxy in front of haricot web."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="haricot-proxy-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.server = Server(BINARY)
        self.addCleanup(self.server.__exit__)
        (commands,) = documents.blocks("security.md", "sh")
        subprocess.run(["sh", "-ec", replaced(commands, {"/etc/stunnel": self.folder})], check=True, capture_output=True)
        self.context = ssl.create_default_context(cafile=f"{self.folder}/server.crt")
        self.context.check_hostname = False

    def watch(self, *flags):
        token = pathlib.Path(self.folder, "token")
        token.write_text(TOKEN, encoding="ascii")
        token.chmod(0o600)
        self.web = Web("--token-file", str(token), "--allow-changes", "--interval", "1000", *flags, self.server.address)
        self.addCleanup(self.web.__exit__)
        self.web.wait_ready()

    def run_in_front(self, *words):
        log = pathlib.Path(self.folder, "front.log")
        with open(log, "wb") as output:
            front = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.addCleanup(front.wait, 60)
        self.addCleanup(front.kill)
        wait_until(lambda: can_connect(self.port) or front.poll() is not None)
        self.assertIsNone(front.poll(), log.read_text(encoding="utf-8"))

    def connect(self):
        client = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.context)
        self.addCleanup(client.close)
        return client

    def ask(self, path, method="GET", body=None, client=None, **headers):
        """Sends a request. Returns the response and its body."""
        client = client or self.connect()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        client.request(method, self.base + path, body, {"Host": f"{HOST}:{self.port}", **headers})
        response = client.getresponse()
        return response, response.read().decode()

    @property
    def origin(self):
        return f"https://{HOST}:{self.port}"

    def log_in(self):
        """Logs in. Returns the cookie and its attributes."""
        response, _ = self.ask("login", "POST", f"token={TOKEN}", Origin=self.origin)
        self.assertEqual((response.status, response.headers["Location"]), (303, "./"))
        cookie, _, attributes = response.headers["Set-Cookie"].partition("; ")
        return cookie, attributes

    def expect_all_works(self):
        response, login = self.ask("", Accept="text/html")
        self.assertEqual(response.status, 401)
        self.assertIn('action="login"', login)
        cookie, attributes = self.log_in()
        self.assertEqual(attributes, "HttpOnly; SameSite=Strict; Secure")
        self.expect_page(cookie)
        self.expect_events(cookie)
        self.expect_changes(cookie)
        response, _ = self.ask("", Cookie=cookie, Host="evil.example")
        self.assertEqual(response.status, 421)
        response, text = self.ask("metrics", Authorization=f"Bearer {TOKEN}")
        self.assertEqual(response.status, 200)
        self.assertIn("beanstalkd_up{", text)
        response, _ = self.ask("logout", "POST", "", Cookie=cookie, Origin=self.origin)
        self.assertEqual(response.status, 303)
        self.assertIn("Max-Age=0", response.headers["Set-Cookie"])

    def expect_page(self, cookie):
        client = self.connect()
        response, page = self.ask("", client=client, Cookie=cookie)
        self.assertEqual(response.status, 200)
        self.assertIn("script-src 'self'", response.headers["Content-Security-Policy"])
        files = re.findall(r'(?:href|src)="(page/[^"]+)"', page)
        self.assertGreater(len(files), 5)
        for name in files:
            response, _ = self.ask(name, client=client, Cookie=cookie)  # On the same connection.
            self.assertEqual(response.status, 200, name)

    def expect_events(self, cookie):
        client = self.connect()
        client.request("GET", self.base + "api/events", headers={"Host": f"{HOST}:{self.port}", "Cookie": cookie})
        response = client.getresponse()
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        # This event is the only one for a long time. A proxy that buffers it would never pass it on.
        while not (line := response.readline()).startswith(b"data: "):
            self.assertTrue(line, "the stream has ended")
        self.assertEqual(json.loads(line.removeprefix(b"data: "))["servers"][0]["name"], self.server.address)

    def expect_changes(self, cookie):
        order = json.dumps({"server": self.server.address, "action": "put", "tube": "mail", "body": "x"})
        for wanted, headers in ((200, {"Origin": self.origin}), (200, {"Sec_Fetch_Site": "same-origin"}), (403, {}),
                                (403, {"Origin": "https://evil.example"}), (403, {"Origin": f"https://{HOST}"}),
                                (403, {"Sec_Fetch_Site": "cross-site"})):
            response, answer = self.ask("api/actions", "POST", order, Cookie=cookie, X_Forwarded_For="6.6.6.6", **headers)
            self.assertEqual(response.status, wanted, (headers, answer))
        self.assertEqual(self.server.stat("current-jobs-ready", "stats-tube mail"), "2")


class Nginx(Proxied):
    def setUp(self):
        super().setUp()
        self.base = "/queue/"
        text = documents.section("web.md", "Behind a proxy")
        recipe = re.search(r"```nginx\n(.*?)```", text, re.DOTALL).group(1)
        (flags,) = re.findall(r"`haricot web (--base-path [^`]+)`", text)
        self.watch(*shlex.split(flags))
        self.port = ports.choose_port()
        recipe = replaced(recipe, {"127.0.0.1:11380": f"127.0.0.1:{self.web.port}"})
        conf = pathlib.Path(self.folder, "nginx.conf")
        conf.write_text(NGINX.format(folder=self.folder, port=self.port, host=HOST, recipe=recipe), encoding="ascii")
        self.run_in_front("/usr/sbin/nginx", "-p", self.folder, "-e", f"{self.folder}/nginx.log", "-c", str(conf))

    def test_the_page_below_a_path_of_a_site_with_tls(self):
        self.expect_all_works()
        self.assertRegex(self.web.log(), r"peer=127\.0\.0\.1 action=put ")
        self.assertNotIn("6.6.6.6", self.web.log())

    def test_the_path_without_its_slash_leads_to_the_page(self):
        self.base = "/queue"
        response, _ = self.ask("")
        self.assertIn(response.status, (301, 308))
        self.assertTrue(response.headers["Location"].endswith("/queue/"), response.headers["Location"])


class Stunnel(Proxied):
    def setUp(self):
        super().setUp()
        self.base = "/"
        self.watch("--host", HOST)
        self.port = ports.choose_port()
        recipe = documents.blocks("security.md", "ini")[0]
        recipe = "".join(line for line in recipe.splitlines(keepends=True) if not line.startswith(("CAfile", "verifyPeer")))
        recipe = replaced(recipe, {"/etc/stunnel": self.folder, "accept = 11301": f"accept = 127.0.0.1:{self.port}",
                                   "127.0.0.1:11300": f"127.0.0.1:{self.web.port}"})
        conf = pathlib.Path(self.folder, "stunnel.conf")
        conf.write_text("foreground = yes\npid =\n" + recipe, encoding="ascii")
        self.run_in_front("stunnel4", str(conf))

    def test_the_page_with_tls(self):
        self.expect_all_works()


if __name__ == "__main__":
    unittest.main()
