#!/usr/bin/env python3
"""Tests clients, the jobs that they hold, and groups, in the API: clients_test.py HARICOT SERVER [FLAG...]."""

import pathlib
import tempfile
import unittest

from watch_case import Scripted, Web, WatchTest, wait_until


def answered(client, command):
    """Sends a command. Returns the first line of the answer."""
    client.sendall(command.encode("ascii") + b"\r\n")
    answer = b""
    while not answer.endswith(b"\r\n"):
        answer += client.recv(4096)
    return answer.split(b"\r\n")[0].decode("ascii")


class ClientsTest(WatchTest):
    def setUp(self):
        super().setUp()
        wait_until(lambda: self.row()["state"] == "up")
        self.can = "list-clients" in self.row()["capabilities"]

    def clients(self, **parameters):
        return self.web.json("/api/clients", **parameters)


class Clients(ClientsTest):
    def test_each_connection_is_reported(self):
        if not self.can:
            status, why = self.web.error("/api/clients")
            self.assertEqual((status, why), (501, "the server cannot list clients; only haricotd can"))
            return
        client = self.client()
        self.assertEqual(answered(client, "use 12"), "USING 12")
        self.assertEqual(answered(client, "watch mail"), "WATCHING 2")
        self.server.put("x", "mail")
        self.assertEqual(answered(client, "reserve"), "RESERVED 1 1")
        answer = self.clients()
        self.assertIsNone(answer["next"])
        # haricot web has two more connections: one takes samples, and one runs this command.
        states = sorted(one["state"] for one in answer["clients"])
        self.assertEqual(states, ["idle", "idle", "running"])
        shown = next(one for one in answer["clients"] if one["used"] == "12")
        self.assertEqual({key: shown[key] for key in ("address", "used", "watching", "jobs", "commands")},
                         {"address": "unix", "used": "12", "watching": 2, "jobs": 1, "commands": 3})
        self.assertTrue(0 <= shown["idle"] <= shown["age"])
        waiting = self.client()
        waiting.sendall(b"reserve\r\n")
        wait_until(lambda: "waiting" in (one["state"] for one in self.clients()["clients"]))

    def test_pages_have_each_connection_once(self):
        if not self.can:
            return
        for _ in range(30):
            answered(self.client(), "use mail")
        everyone = [one["id"] for one in self.clients(count=1000)["clients"]]
        self.assertEqual(len(everyone), 32)
        self.assertEqual(everyone, sorted(everyone))
        found, after, pages = [], 0, 0
        while after is not None:
            answer = self.clients(**{"from": after}, count=7)
            self.assertLessEqual(len(answer["clients"]), 7)
            found += [one["id"] for one in answer["clients"]]
            after, pages = answer["next"], pages + 1
        self.assertEqual((found, pages), (everyone, 5))
        self.assertEqual(self.clients(**{"from": everyone[3]}, count=1)["clients"][0]["id"], everyone[3])
        self.assertEqual(self.clients(**{"from": everyone[-1] + 1}), {"clients": [], "next": None})

    def test_invalid_requests_get_a_reason(self):
        for path, parameters in (
                ("/api/clients", {"count": "0"}), ("/api/clients", {"count": "1001"}),
                ("/api/clients", {"from": "-1"}), ("/api/clients", {"from": "18446744073709551616"}),
                ("/api/clients", {"from": "1 2"}), ("/api/group", {}), ("/api/group", {"group": "a b"}),
                ("/api/group", {"group": "a\r\nstats"}), ("/api/group", {"group": "x" * 101})):
            status, why = self.web.error(path, **parameters)
            self.assertEqual((status, bool(why)), (400, True), (path, parameters, why))
        self.assertEqual(self.web.error("/api/clients", server="nobody:1")[0], 404)
        self.assertEqual(self.web.fetch("/api/clients", "POST", "{}")[0], 405)


class Holders(ClientsTest):
    def test_a_reserved_job_names_its_holder(self):
        self.server.put("needle")
        worker = self.client()
        self.assertEqual(answered(worker, "reserve"), "RESERVED 1 6")
        job = self.web.json("/api/job", id=1)
        hit = self.web.json("/api/search", contains="needle")["hits"][0]
        self.assertEqual((job["state"], job["holder"], hit["holder"]), ("reserved", hit["holder"], job["holder"]))
        if not self.can:
            self.assertEqual((job["holder"], job["is_held"]), (None, None))
            return
        self.assertEqual([one["id"] for one in self.clients()["clients"] if one["jobs"] == 1], [job["holder"]])
        answered(worker, "release 1 0 0")
        self.assertIsNone(self.web.json("/api/job", id=1)["holder"])

    def test_a_group_and_its_held_jobs(self):
        if not self.can:
            self.assertEqual(self.web.error("/api/group", group="g"), (501, "the server does not have groups"))
            return
        self.assertEqual(self.web.error("/api/group", group="g"), (404, "the group has no jobs"))
        self.server.ask("put 0 0 60 1 grp:g", "x", "put 0 100 60 1 grp:g", "x", "put 0 0 60 1 aft:g", "x")
        self.assertEqual(self.web.json("/api/group", group="g"),
                         {"group": "g", "ready": 1, "reserved": 0, "delayed": 1, "buried": 0, "waiting_jobs": 1})
        first, last = self.web.json("/api/job", id=1), self.web.json("/api/job", id=3)
        self.assertEqual((first["tags"], first["is_held"]), ({"grp": "g"}, False))
        self.assertEqual((last["tags"], last["is_held"], last["state"]), ({"aft": "g"}, True, "delayed"))
        listed = self.web.json("/api/jobs", tube="default", state="delayed")["jobs"]
        self.assertEqual([(job["id"], job["is_held"]) for job in listed], [(2, False), (3, True)])
        self.server.ask("delete 1", "delete 2")
        self.assertEqual(self.web.error("/api/group", group="g")[0], 404)
        self.assertFalse(self.web.json("/api/job", id=3)["is_held"])


class Burials(ClientsTest):
    def test_a_buried_job_has_the_cause_and_the_time_of_its_burial(self):
        self.server.put("needle")
        worker = self.client()
        self.assertEqual(answered(worker, "reserve"), "RESERVED 1 6")
        self.assertEqual(answered(worker, "bury 1 0"), "BURIED")
        job = self.web.json("/api/job", id=1)
        hit = self.web.json("/api/search", contains="needle")["hits"][0]
        for shown in (job, hit):
            self.assertEqual((shown["state"], shown["last_try"]), ("buried", None))
            self.assertEqual(shown["buried_by"], "client" if self.can else None)
            self.assertEqual(shown["buried_ago"] is None, not self.can)


HOSTILE = '<img src=x onerror=1>\t\x01\x7f\\"\'&amp;\u202e\u2028'


class Strange(unittest.TestCase):
    """Tests servers with invalid lists of clients."""

    PAGES = {
        "garbage": "502", "---\n": "502", "---\nnext: 0\n": "502", "---\nclients:\n- address: x\n": "502",
        "---\nnext: x\nclients: []\n": "502", "---\nnext: 0\nclients:\n  id: 1\n": "502",
        "---\nnext: 7\nclients: []\nmore:\n- a: 1\n": '{"clients":[],"next":7}',
        "---\nnext: 0\nclients:\n- id: 1\n": '{"clients":[{"id":1,"address":null,"used":null,"state":null,"age":null,'
                                           '"idle":null,"watching":null,"jobs":null,"commands":null}],"next":null}',
    }

    def setUp(self):
        self.asked = tempfile.NamedTemporaryFile(prefix="haricot-asked-", mode="a+", encoding="utf-8")
        self.addCleanup(self.asked.close)

    def answer(self, line):
        self.asked.write(line + "\n")
        self.asked.flush()

        def text(body):
            data = body.encode("utf-8")
            return b"OK %d\r\n%b\r\n" % (len(data), data)
        if line == "capabilities":
            return text("---\n- list-clients\n- stats-group\n")
        if line.startswith("list-clients "):
            number = int(line.split()[1])
            if number < len(self.PAGES):
                return text(list(self.PAGES)[number])
            if number == 100:
                return text(f'---\nnext: 0\nclients:\n- id: 1\n  address: "{HOSTILE}"\n  used: "{HOSTILE}"\n  state: {HOSTILE}\n')
            return b"INTERNAL_ERROR\r\n"
        if line.startswith("stats-group "):
            return text("---\nready: many\n") if line.endswith("odd") else text("nothing")
        return text('---\nversion: "1.13"\n')

    def test_invalid_lists_are_refused_and_their_names_are_escaped(self):
        with Scripted(self.answer) as server, Web("--interval", "0.2", server.address) as web:
            wait_until(lambda: web.json("/api/servers")["servers"][0]["capabilities"])
            for number, wanted in enumerate(self.PAGES.values()):
                status, _, body = web.fetch("/api/clients", **{"from": number})
                self.assertEqual(str(status) if wanted == "502" else body.decode(), wanted, (number, body))
            text = web.text("/api/clients", **{"from": 100})
            self.assertNotRegex(text, "[\x00-\x1f]")
            shown = web.json("/api/clients", **{"from": 100})["clients"][0]
            self.assertEqual((shown["address"], shown["used"], shown["state"]), (HOSTILE, HOSTILE, HOSTILE))
            self.assertEqual(web.error("/api/clients", **{"from": 101}), (502, "the server answered: INTERNAL_ERROR"))
            self.assertEqual(web.error("/api/group", group="g")[0], 502)
            self.assertIsNone(web.json("/api/group", group="odd")["ready"])
            self.assertEqual(web.json("/api/servers")["servers"][0]["state"], "up")

    def test_clients_are_listed_only_for_a_viewer(self):
        def asked():
            return pathlib.Path(self.asked.name).read_text(encoding="utf-8").split("\n")

        with Scripted(self.answer) as server, Web("--interval", "0.1", server.address) as web:
            for path in ("/api/servers", "/api/tubes", "/api/search", "/metrics", "/metrics/tubes"):
                web.fetch(path, contains="x")
            wait_until(lambda: asked().count("stats") > 5)
            self.assertEqual([line for line in asked() if line.startswith(("list-clients", "stats-group"))], [])
            web.fetch("/api/clients")
            web.fetch("/api/clients", **{"from": 100}, count=7)
            stats = asked().count("stats")
            wait_until(lambda: asked().count("stats") > stats + 5)
            self.assertEqual([line for line in asked() if line.startswith("list-clients")],
                             ["list-clients 0 100", "list-clients 100 7"])


if __name__ == "__main__":
    unittest.main()
