#!/usr/bin/env python3
"""Tests the API of `haricot web` with a server: api_test.py HARICOT SERVER [FLAG...]."""

import base64
import concurrent.futures
import contextlib
import json
import pathlib
import signal
import socket
import threading
import time
import unittest

from watch_case import BINARY, FLAGS, FullRelay, Scripted, Server, Web, WatchTest, body_of, wait_until


class Servers(WatchTest):
    def test_a_server_is_reported(self):
        for i in range(3):
            self.server.put(f"job {i}", "mail", priority=0)
        worker = self.client()
        worker.sendall(b"reserve-with-timeout 1000\r\n")
        wait_until(lambda: self.row()["jobs"]["ready"] == 3 and self.row()["workers_waiting"] == 1)
        answer = self.web.json("/api/servers")
        self.assertEqual((answer["allow_changes"], answer["interval_seconds"]), (True, 0.2))
        row = answer["servers"][0]
        self.assertEqual((row["name"], row["state"], row["error"]), (self.name, "up", None))
        self.assertEqual(row["jobs"], {"ready": 3, "urgent": 3, "reserved": 0, "delayed": 0, "buried": 0})
        self.assertEqual(row["pid"], self.server.process.pid)
        self.assertEqual(row["stats"]["total-jobs"], 3)
        self.assertFalse(row["is_draining"] or row["is_refusing"] or row["binlog"]["is_on"])
        self.assertIn("stats-tubes" if self.is_haricot else "beanstalkd",
                      row["capabilities"] if self.is_haricot else row["software"])
        # The next sample replaces a rate, so the puts continue.
        wait_until(lambda: self.server.put("more", "mail") and self.row()["rates"]["puts"])

    def test_a_server_that_goes_is_down_and_comes_back(self):
        self.server.put("x", "mail")
        self.server.stop()
        wait_until(lambda: self.row()["state"] == "down")
        row = self.row()
        self.assertTrue(row["error"])
        self.assertIsNotNone(row["down_seconds"])
        self.assertEqual(self.web.fetch("/readyz")[0], 200)
        self.assertEqual(self.web.error("/api/job", id=1)[0], 502)
        pathlib.Path(self.server.path).unlink(missing_ok=True)
        self.server.start()
        wait_until(lambda: self.row()["state"] == "up")
        self.assertIsNone(self.row()["error"])

    def test_a_server_may_become_one_of_another_kind(self):
        if not self.is_haricot:
            return
        for flags, is_haricot in ((("--no-extensions",), False), ((), True)):
            self.server.stop()
            wait_until(lambda: self.row()["state"] == "down")
            pathlib.Path(self.server.path).unlink(missing_ok=True)
            self.server.flags = flags
            self.server.start()
            self.server.put("x", "mail")
            wait_until(lambda: self.row()["state"] == "up")
            self.assertEqual(self.row()["is_haricot"], is_haricot)
            self.wait_tube("mail", lambda tube: tube["ready"] == 1)
            self.assertEqual("scan-jobs" in self.row()["capabilities"], is_haricot)
            self.assertEqual(self.web.fetch("/api/jobs", tube="mail")[0], 200 if is_haricot else 501)
            self.assertEqual(len(self.web.json("/api/search", contains="x")["hits"]), 1)
            self.wait_tube("mail", lambda tube: (tube["oldest_ready_seconds"] is not None) == is_haricot)

    def test_one_that_hangs_costs_nothing_but_its_own_row(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        silent = f"127.0.0.1:{listener.getsockname()[1]}"
        # On a busy machine, the silent server may be given up before the other one is asked.
        for attempt in range(5):
            with self.subTest(attempt=attempt), Web(silent, self.name) as web:
                wait_until(lambda: web.json("/api/servers")["servers"][1]["state"] == "up")
                self.assertIn(f'beanstalkd_up{{server="{silent}"}} 0', web.text("/metrics"))
                if web.json("/api/servers")["servers"][0]["state"] == "unknown":
                    break
        else:
            self.fail("each answer came after the silent server was given up")
        with Web(silent, self.name) as web:
            wait_until(lambda: web.json("/api/servers")["servers"][0]["state"] == "down")
            self.assertIn("did not answer in time", web.json("/api/servers")["servers"][0]["error"])
            web.wait_ready()

    def test_a_stopped_server_is_given_up_in_the_middle_of_an_answer(self):
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            status, why = self.web.error("/api/job", id=1)
            self.assertEqual(status, 502, why)
            wait_until(lambda: self.row()["state"] == "down")
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        wait_until(lambda: self.row()["state"] == "up")

    def test_history_has_a_point_for_the_server(self):
        history = self.web.json("/api/history", server=self.name)
        wait_until(lambda: self.web.json("/api/history", server=self.name)["points"] > 0)
        self.assertEqual(history["step_seconds"], 15)
        history = self.web.json("/api/history", server=self.name)
        self.assertEqual(len(history["ready"]), history["points"])
        self.assertEqual(len(history["timeout_rate"]), history["points"])
        self.assertAlmostEqual(history["end"], time.time(), delta=60)

    def test_tubes_are_sampled_without_a_viewer(self):
        if not self.is_haricot or FLAGS:
            self.skipTest("only haricotd reports its tubes at once")
        wait_until(lambda: self.row()["paused_tubes"] is not None)
        self.server.put("x", "mail")
        self.assertIsNone(self.row()["warning"])
        day = self.web.json("/api/history", range="day")
        self.assertEqual((day["step_seconds"], len(day["ready"])), (120, day["points"]))
        self.assertEqual(self.web.error("/api/history", range="year")[0], 400)

    def test_events_report_each_change(self):
        client = socket.create_connection(("127.0.0.1", self.web.port))
        self.addCleanup(client.close)
        client.settimeout(60)
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        text = b""
        while text.count(b"event: servers\n") < 3:
            text += client.recv(65536)
        self.assertIn(b"text/event-stream", text)
        begin = text.index(b"data: ") + 6
        event = json.loads(text[begin:text.index(b"\n", begin)])
        self.assertEqual(event["servers"][0]["name"], self.name)

    def test_a_stream_of_events_is_never_silent_for_long(self):
        with Web("--interval", "3600", self.name) as web:
            web.wait_ready()
            client = web.connect()
            self.addCleanup(client.close)
            client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            text, end = b"", time.monotonic() + 60
            while text.count(b"event: servers\n") < 4:
                self.assertLess(time.monotonic(), end, text)
                text += client.recv(65536)

    def test_invalid_requests_get_a_reason(self):
        for wanted, path, parameters in (
                (404, "/api/tubes", {"server": "nobody:1"}),
                (404, "/api/tube", {"tube": "no-such"}),
                (404, "/api/job", {"id": "77"}),
                (404, "/api/events", {"server": "nobody:1"}),
                (400, "/api/job", {}),
                (400, "/api/job", {"id": "x"}),
                (400, "/api/job", {"id": "1", "bytes": "99999999"}),
                (400, "/api/tube", {}),
                (400, "/api/tube", {"tube": "a b"}),
                (400, "/api/tubes", {"sort": "colour"}),
                (400, "/api/tubes", {"count": "501"}),
                (400, "/api/tubes", {"from": "-1"}),
                (400, "/api/tubes", {"reverse": "2"}),
                (400, "/api/jobs", {"tube": "x", "state": "lost"}),
                (400, "/api/jobs", {"tube": "x", "state": "reserved"}),
                (400, "/api/jobs", {"tube": "x", "count": "0"}),
                (400, "/api/search", {"after": "nonsense"}),
                (400, "/api/search", {"contains_base64": "%"}),
                (400, "/api/search", {"tube": "a\r\nb"}),
                (400, "/api/history", {"tube": "\x01"})):
            status, why = self.web.error(path, **parameters)
            self.assertEqual((status, bool(why)), (wanted, True), (path, parameters, why))


class Strange(unittest.TestCase):
    """Tests programs that are not beanstalk servers, invalid answers, and an answer that never ends."""

    ANSWERS = {b"OK 1000\r\n---\nabc": "did not answer in time", b"OK 18446744073709551615\r\nx": "not a beanstalk server",
               b"OK -5\r\n": "not a beanstalk server", b"OK 5\nhello\n": "not a beanstalk server",
               b"\0" * 300: "not a beanstalk server", b"A" * 100_000: "not a beanstalk server",
               b"HTTP/1.1 400 Bad Request\r\n\r\n": "not a beanstalk server",
               b"OK 4\r\n---\n\r\nMORE\r\n": "not a beanstalk server", b"OK 0\r\n\r\n": "does not report",
               b"DRAINING\r\n": "does not report", b"OUT_OF_MEMORY\r\n": "does not report"}

    def test_each_is_down_with_a_reason(self):
        with contextlib.ExitStack() as all_of_them:
            servers = [all_of_them.enter_context(Scripted(lambda _, printed=printed: printed)) for printed in self.ANSWERS]
            good = all_of_them.enter_context(Server(BINARY))
            web = all_of_them.enter_context(Web("--interval", "0.2", *(one.address for one in servers), good.address))
            rows = lambda: {row["name"]: row for row in web.json("/api/servers")["servers"]}  # noqa: E731
            wait_until(lambda: rows()[good.address]["state"] == "up")
            wait_until(lambda: sum(row["state"] == "down" for row in rows().values()) == len(servers), rows)
            for server, why in zip(servers, self.ANSWERS.values()):
                self.assertIn(why, rows()[server.address]["error"])
            self.assertEqual(rows()[good.address]["state"], "up")
            if not web.is_sanitized():
                self.assertLess(web.memory_kb(), 24_000)


class Confused(unittest.TestCase):
    """Tests a server that returns other jobs than the requested ones."""

    @staticmethod
    def answer(line):
        def text(body):
            return b"OK %d\r\n%b\r\n" % (len(body), body)

        if line == "capabilities":
            return text(b"---\n- scan-jobs\n")
        if line.startswith("scan-jobs "):
            return text(b"---\nnext: 0\njobs:\n- id: 1\n  tube: a\n- id: 2\n  tube: a\n")
        if line.startswith("peek "):
            return b"FOUND 77 1\r\nx\r\n"
        return text(b'---\nversion: "1.13"\n')

    def test_a_search_finds_the_requested_jobs(self):
        with Scripted(self.answer) as server, Web(server.address) as web:
            wait_until(lambda: web.json("/api/servers")["servers"][0]["capabilities"])
            found = web.json("/api/search", contains="x")
            self.assertEqual([hit["id"] for hit in found["hits"]], [1, 2])


class Tubes(WatchTest):
    def test_tubes_are_sorted_filtered_and_cut(self):
        for i in range(30):
            for _ in range(i % 7):
                self.server.put("x", f"tube-{i:02}")
            self.server.put("x", f"tube-{i:02}", delay=1000)
        self.wait_tube("tube-29", lambda tube: tube["delayed"] == 1)
        page = self.tubes(sort="ready", count=5)
        self.assertEqual([tube["name"] for tube in page["tubes"]],
                         ["tube-06", "tube-13", "tube-20", "tube-27", "tube-05"])
        self.assertEqual((page["total"], page["matching"]), (31, 31))
        page = self.tubes(filter="UBE-1", sort="name", reverse=1, **{"from": 1}, count=2)
        self.assertEqual([tube["name"] for tube in page["tubes"]], ["tube-18", "tube-17"])
        self.assertEqual((page["matching"], page["sums"]["delayed"]), (10, 10))
        self.assertLess(page["sample_age_seconds"], 30)

    def test_a_tube_is_reported_with_its_next_jobs(self):
        self.server.put("next ready", "mail")
        self.server.put("next delayed", "mail", delay=1000)
        tube = self.web.json("/api/tube", tube="mail")
        self.assertEqual((tube["name"], tube["ready"], tube["delayed"]), ("mail", 1, 1))
        self.assertEqual(body_of(tube["next"]["ready"]), b"next ready")
        self.assertEqual(body_of(tube["next"]["delayed"]), b"next delayed")
        self.assertIsNone(tube["next"]["buried"])
        self.assertEqual(tube["stats"]["total-jobs"], 2)
        self.assertEqual(tube["detail"] is not None, self.is_haricot)
        # The action used the tube, and does not use it any more.
        self.assertEqual(self.server.stat("current-using", "stats-tube mail"), "0")

    def test_a_request_creates_no_tube(self):
        self.web.error("/api/tube", tube="ghost")
        self.web.act(self.name, "kick", tube="ghost", count=1)
        self.web.act(self.name, "flush", tube="ghost")
        self.web.act(self.name, "pause", tube="ghost", seconds=1)
        self.assertNotIn("ghost", self.server.ask("list-tubes"))
        self.assertIn("cmd-use: 0", self.server.ask("stats"))

    def test_a_paused_tube_and_a_rate(self):
        self.server.put("x", "mail")
        self.server.ask("pause-tube mail 1000")
        self.wait_tube("mail", lambda tube: tube["paused_seconds"] > 900)
        wait_until(lambda: self.row()["paused_tubes"] == 1)
        # The next sample replaces a rate, so the puts continue.
        self.wait_tube("mail", lambda tube: self.server.put("x", "mail") and tube["put_rate"])


class Jobs(WatchTest):
    def test_a_job_and_its_body(self):
        self.server.put("x" * 10, "mail")
        job = self.web.json("/api/job", id=1)
        self.assertEqual((job["id"], job["tube"], job["state"], job["bytes"], job["is_cut"]),
                         (1, "mail", "ready", 10, False))
        self.assertEqual(body_of(job), b"x" * 10)
        job = self.web.json("/api/job", id=1, bytes=3)
        self.assertEqual((body_of(job), job["is_cut"], job["bytes"]), (b"xxx", True, 10))

    def test_a_body_may_be_anything(self):
        body = bytes(range(256)).decode("latin-1")
        self.server.put(body, "mail")
        self.assertEqual(body_of(self.web.json("/api/job", id=1)), bytes(range(256)))

    def test_jobs_are_listed_where_the_server_can(self):
        for i in range(5):
            self.server.put(f"{i}", "mail", priority=100 - i)
        if not self.is_haricot:
            self.assertEqual(self.web.error("/api/jobs", tube="mail")[0], 501)
            return
        jobs = self.web.json("/api/jobs", tube="mail", state="ready", count=3)["jobs"]
        self.assertEqual([job["id"] for job in jobs], [5, 4, 3])
        self.assertEqual(self.web.json("/api/jobs", tube="mail", state="buried")["jobs"], [])
        self.assertEqual(self.web.error("/api/jobs", tube="nothing")[0], 404)

    def test_tags_are_reported(self):
        if not self.is_haricot:
            return
        self.server.ask("put 0 0 60 1 try:3 con:mail:2 idp:k-1", "x")
        self.assertEqual(self.web.json("/api/job", id=1)["tags"], {"try": 3, "con": "mail:2", "idp": "k-1"}
                         if self.web.json("/api/job", id=1)["tags"]["con"] == "mail:2"
                         else {"try": 3, "con": "mail", "idp": "k-1"})


class Search(WatchTest):
    def all_hits(self, **parameters):
        hits, after, rounds = [], None, 0
        self.largest = 0  # Number of jobs of the largest piece.
        while True:
            answer = self.web.json("/api/search", **parameters, **({"after": after} if after else {}))
            self.assertLessEqual(len(answer["hits"]), 400)
            hits += answer["hits"]
            rounds += 1
            self.largest = max(self.largest, answer["looked_at"])
            self.assertEqual(answer["done"], answer["next"] is None)
            after = answer["next"]
            if answer["done"]:
                return hits, rounds

    def put_many(self, count):
        lines = ["use many"]
        for i in range(count):
            lines += ["put 5 0 60 9", f"body {i:04}"]
        self.server.ask(*lines)

    def test_a_search_goes_over_all_jobs_in_pieces(self):
        self.put_many(4000)
        self.server.put("the needle: " + "y" * 2000, "hay")
        hits, rounds = self.all_hits(contains="needle")
        self.assertEqual([hit["id"] for hit in hits], [4001])
        self.assertEqual((hits[0]["tube"], len(body_of(hits[0])), hits[0]["is_cut"]), ("hay", 256, True))
        hits, rounds = self.all_hits(contains="body 1", tube="many", state="ready")
        self.assertEqual(sorted(hit["id"] for hit in hits), list(range(1001, 2001)))
        self.assertGreater(rounds, 2)
        self.assertEqual(self.all_hits(contains="body 1", tube="hay")[0], [])
        self.assertEqual(self.all_hits(contains="body 1", state="buried")[0], [])

    def test_a_hit_shows_the_place_in_the_body(self):
        self.server.put("a" * 1000 + "needle" + "b" * 1000)
        hit = self.web.json("/api/search", contains="needle")["hits"][0]
        self.assertEqual(hit["body_offset"], 936)
        self.assertEqual(body_of(hit), b"a" * 64 + b"needle" + b"b" * 186)
        self.assertEqual(len(self.web.json("/api/search", contains_base64="bmVlZGxl")["hits"]), 1)

    def test_a_search_finds_a_text_that_json_escapes(self):
        texts = {"App\\Jobs\\ChargeCard": 1, "müller": 2, "https://shop": 3, "payload\": {": 4}
        self.server.put(r'{"displayName":"App\\Jobs\\ChargeCard"}')
        self.server.put(r'{"name":"M\u00fcller"}')
        self.server.put(r'{"url":"https:\/\/shop.example\/1"}')
        self.server.put(r'{"inner":"{\"payload\": {}}"}')
        for text, job in texts.items():
            hits = self.web.json("/api/search", contains=text)["hits"]
            self.assertEqual([hit["id"] for hit in hits], [job], text)
        hit = self.web.json("/api/search", contains="MÜLLER")["hits"][0]
        begin = hit["hit_offset"]
        self.assertEqual(body_of(hit)[begin:begin + hit["hit_bytes"]], rb"M\u00fcller")
        # Bytes match exactly.
        for exact, count in ((b"chargecard", 0), (b"ChargeCard", 1), (b"https://shop", 0)):
            base64_of = base64.b64encode(exact).decode()
            self.assertEqual(len(self.web.json("/api/search", contains_base64=base64_of)["hits"]), count, exact)

    def test_a_hit_is_complete_and_begins_with_a_whole_character(self):
        self.good("put", tube="default", body="ü" * 100 + "needle" + "ü" * 300)
        hit = self.web.json("/api/search", contains="ÜNEEDLEÜ")["hits"][0]
        body_of(hit)[:hit["hit_offset"]].decode()
        part = body_of(hit)[hit["hit_offset"]:][:hit["hit_bytes"]]
        self.assertEqual(part.decode(), "üneedleü")

    def test_a_piece_of_a_search_is_bounded_by_its_hits_not_by_a_number_of_jobs(self):
        self.put_many(8000)
        _, rounds = self.all_hits(contains="body")
        self.assertGreaterEqual(rounds, 20)
        # The number of jobs in a piece without hits depends on the machine.
        self.all_hits(contains="nowhere")
        self.assertGreater(self.largest, 400)

    def test_many_searches_at_once_are_all_answered(self):
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            searches = [pool.submit(self.web.fetch, "/api/search", contains="nothing") for _ in range(60)]
            self.assertEqual({search.result()[0] for search in searches}, {200})
        self.assertEqual(self.row()["state"], "up")

    def test_a_search_for_an_id(self):
        self.server.put("x", "mail")
        answer = self.web.json("/api/search", id=1)
        self.assertEqual((answer["hits"][0]["tube"], answer["done"]), ("mail", True))
        self.assertEqual(self.web.json("/api/search", id=2)["hits"], [])
        self.assertEqual(self.web.json("/api/search", id=1, tube="other")["hits"], [])

    def test_ids_that_are_gone_end_the_search_soon(self):
        self.put_many(3000)
        for begin in range(1, 3000, 500):
            self.server.ask(*[f"delete {i}" for i in range(begin, min(begin + 500, 3000))])
        hits, rounds = self.all_hits(contains="body 2999")
        self.assertEqual([hit["id"] for hit in hits], [3000])
        self.assertLessEqual(rounds, 6)


class Actions(WatchTest):
    def state(self, job):
        return self.server.stat("state", f"stats-job {job}")

    def test_jobs_are_put_buried_kicked_and_deleted(self):
        answer = self.good("put", tube="mail", body="hello", priority=7, delay=0, ttr=30)
        self.assertEqual((answer["done"], answer["message"]), (1, "job 1"))
        self.assertEqual(self.server.stat("pri", "stats-job 1"), "7")
        self.good("put", tube="mail", body_base64="AAEC")
        self.good("put", tube="mail", body="later", delay=1000)
        answer = self.good("bury", ids=[1, 2, 99])
        self.assertEqual((answer["done"], answer["not_found"]), (2, 1))
        self.assertEqual((self.state(1), self.server.stat("pri", "stats-job 1")), ("buried", "7"))
        self.assertEqual(self.good("bury", ids=[1])["done"], 1)
        self.assertEqual(self.good("kick", tube="mail", count=1)["done"], 1)
        self.assertEqual((self.state(1), self.state(2)), ("ready", "buried"))
        answer = self.good("kick-job", ids=[2, 3, 1])
        self.assertEqual((answer["done"], answer["not_found"], answer["stayed"]), (2, 0, 1))
        answer = self.good("delete", ids=[1, 2, 2])
        self.assertEqual((answer["done"], answer["not_found"]), (2, 1))
        self.assertIn("event=web-action", self.web.log())

    def test_a_pause_and_its_end(self):
        self.server.put("x", "mail")
        self.good("pause", tube="mail", seconds=100)
        self.assertEqual(self.server.stat("pause", "stats-tube mail"), "100")
        self.good("pause", tube="mail", seconds=0)
        self.assertEqual(self.server.stat("pause", "stats-tube mail"), "0")

    def test_acts_follow_each_other_without_a_pause(self):
        # Each action has a connection, which is closed after it. Waiting for the next action would take 5 s.
        self.server.put("x", "mail")
        start = time.monotonic()
        for seconds in (100, 0, 100, 0, 100, 0, 100, 0, 100, 0):
            self.good("pause", tube="mail", seconds=seconds)
        self.assertLess(time.monotonic() - start, 40)

    def test_a_flush_continues_until_the_tube_is_empty(self):
        lines = ["use mail"]
        for i in range(5000):
            lines += [f"put 5 {i % 2 * 1000} 60 1", "x"]
        self.server.ask(*lines)
        self.good("bury", ids=[1, 3])
        self.server.put("stays", "other")
        done = self.flush(tube="mail", state="buried")
        self.assertEqual(done, 2)
        self.assertEqual(self.flush(tube="mail"), 4998)
        self.assertEqual(self.server.stat("current-jobs-ready"), "1")
        self.assertEqual(self.server.stat("current-jobs-delayed"), "0")

    def flush(self, **members):
        done = 0
        while True:
            answer = self.good("flush", **members)
            done += answer["done"]
            if not answer["goes_on"]:
                return done

    def test_a_moved_job_keeps_its_properties(self):
        self.server.put("ready", "a", priority=3, ttr=44)
        self.server.put("delayed", "a", delay=1000)
        self.server.put("buried", "a", priority=9)
        self.server.put("in b", "b")
        self.good("bury", ids=[3])
        answer = self.good("move", ids=[1, 2, 3, 4, 77], to="b")
        self.assertEqual((answer["done"], answer["not_found"], answer["stayed"]), (3, 1, 1))
        self.assertEqual(answer["message"], "job 4 is already in this tube")
        self.assertIn("NOT_FOUND", self.server.ask("stats-tube a"))
        tube = self.web.json("/api/tube", tube="b")
        self.assertEqual((tube["ready"], tube["delayed"], tube["buried"]), (2, 1, 1))
        moved = {body_of(job): job for job in tube["next"].values()}
        self.assertEqual((moved[b"ready"]["priority"], moved[b"ready"]["ttr"]), (3, 44))
        self.assertGreater(moved[b"delayed"]["time_left"], 900)
        self.assertEqual(moved[b"buried"]["priority"], 9)

    def test_two_programs_move_each_job_once(self):
        lines = ["use a"]
        for i in range(200):
            lines += ["put 5 0 60 4", f"{i:04}"]
        self.server.ask(*lines)
        with Web("--allow-changes", self.name) as other:
            other.wait_ready()
            answers = []
            movers = [threading.Thread(target=lambda web=web: answers.append(
                web.act(self.name, "move", ids=list(range(1, 201)), to="b")[1])) for web in (self.web, other)]
            for mover in movers:
                mover.start()
            for mover in movers:
                mover.join()
        self.assertEqual(sum(answer["done"] for answer in answers), 200, answers)
        self.assertEqual(sum(answer["not_found"] + answer["stayed"] for answer in answers), 200, answers)
        self.assertEqual(self.server.stat("current-jobs-ready", "stats-tube b"), "200")
        self.assertIn("NOT_FOUND", self.server.ask("stats-tube a"))

    def test_tags_move_with_their_job(self):
        if not self.is_haricot:
            return
        self.server.ask("use a", "put 0 0 60 1 try:5 idp:k-1", "x")
        self.assertEqual(self.good("move", ids=[1], to="b")["done"], 1)
        job = self.web.json("/api/tube", tube="b")["next"]["ready"]
        self.assertEqual(job["tags"], {"try": 5, "idp": "k-1"})
        # A job whose key is taken in the other tube stays.
        self.server.ask("use a", "put 0 0 60 1 idp:k-1", "y")
        answer = self.good("move", ids=[int(job["id"]) + 1], to="b")
        self.assertEqual(answer["done"], 0)
        self.assertIn("the key is taken", answer["message"])
        self.assertEqual(self.server.stat("current-jobs-ready", "stats-tube a"), "1")

    def test_jobs_that_stayed_are_not_reported_as_not_found(self):
        self.server.put("x")
        worker = self.client()
        worker.sendall(b"reserve\r\n")
        self.assertTrue(worker.recv(100).startswith(b"RESERVED"))
        for action, more in (("delete", {}), ("bury", {}), ("move", {"to": "b"}), ("kick-job", {})):
            answer = self.good(action, ids=[1], **more)
            self.assertEqual((answer["done"], answer["not_found"], answer["stayed"]), (0, 0, 1), action)
            answer = self.good(action, ids=[2], **more)
            self.assertEqual((answer["done"], answer["not_found"], answer["stayed"]), (0, 1, 0), action)

    def test_the_console_is_no_worker_and_no_producer_after_an_act(self):
        self.server.put("x")
        self.good("put", tube="a", body="y")
        if self.row()["has_reserve_job"]:
            self.good("bury", ids=[1])
            self.good("move", ids=[2], to="b")
        wait_until(lambda: self.server.stat("current-producers") == "0" and self.server.stat("current-workers") == "0")
        self.assertEqual(self.row()["state"], "up")

    def test_the_log_has_actions_and_refusals(self):
        self.server.put("x")
        self.good("delete", ids=[1, 7])
        self.web.act(self.name, "kick", tube="none", count=1)
        self.web.act(self.name, "dance")
        wait_until(lambda: self.web.log().count("event=web-action ") == 3)
        lines = [line for line in self.web.log().splitlines() if "event=web-action " in line]
        self.assertIn('what="jobs=2 ids=1,7" result="done=1 not_found=1"', lines[0])
        self.assertIn('result="refused: the server has no such tube"', lines[1])
        self.assertIn("result=\"refused: ", lines[2])
        self.web.fetch("/api/actions", "POST", "{}")
        wait_until(lambda: "event=web-action-refused" in self.web.log())

    def test_refusals_of_the_server_are_reported(self):
        status, answer = self.web.act(self.name, "put", tube="x", body="y" * 70000)
        self.assertEqual(status, 502)
        self.assertIn("JOB_TOO_BIG", answer["error"])
        self.assertEqual(self.web.act(self.name, "kick", tube="none", count=1)[0], 404)
        self.assertEqual(self.web.act("nobody:1", "kick", tube="none", count=1)[0], 404)
        self.assertEqual(self.web.act(self.name, "dance")[0], 400)
        self.assertEqual(self.web.fetch("/api/actions", "POST", "{}")[0], 403, "from no page of its own")

    def test_without_the_flag_nothing_can_be_changed(self):
        self.server.put("x")
        with Web(self.name) as web:
            web.wait_ready()
            self.assertFalse(web.json("/api/servers")["allow_changes"])
            status, answer = web.act(self.name, "delete", ids=[1])
            self.assertEqual(status, 403, answer)
        self.assertEqual(self.state(1), "ready")


class FullAndOld(FullRelay):
    """Tests actions on a server without flush-tube."""

    def answer(self, words, *more):
        return b"UNKNOWN_COMMAND\r\n" if words == ["capabilities"] else super().answer(words, *more)


class Full(WatchTest):
    def test_an_action_on_a_tube_affects_no_other(self):
        self.server.put("of full", "full")
        for body in ("a", "b"):
            self.server.put(body)
        self.good("bury", ids=[2])
        relay = FullAndOld(self.server)
        self.addCleanup(relay.close)
        with Web(*self.WORDS, relay.address) as web:
            web.wait_ready()
            for action, more in (("put", {"body": "x"}), ("kick", {"count": 9}), ("flush", {})):
                status, answer = web.act(relay.address, action, tube="full", **more)
                self.assertEqual((status, answer), (502, {"error": "the server answered: OUT_OF_MEMORY"}), action)
            status, answer = web.act(relay.address, "move", ids=[3], to="full")
            self.assertEqual((status, answer["done"]), (200, 0))
            self.assertIn("use was answered: OUT_OF_MEMORY", answer["message"])
            self.assertEqual(web.json("/api/tube", tube="full")["next"],
                             {"ready": None, "delayed": None, "buried": None})
        states = [self.server.stat("state", f"stats-job {job}") for job in (1, 2, 3)]
        self.assertEqual(states, ["ready", "buried", "ready"])
        # No other job existed, except for a moment.
        self.assertEqual(self.server.stat("total-jobs"), "3")

    def test_a_refused_burial_is_reported_and_the_job_is_released(self):
        self.server.put("x", priority=7)
        relay = FullRelay(self.server)
        self.addCleanup(relay.close)
        answer_of = relay.answer
        relay.answer = lambda words, *more: b"INTERNAL_ERROR\r\n" if words[0] == "bury" else answer_of(words, *more)
        with Web(*self.WORDS, relay.address) as web:
            web.wait_ready()
            status, answer = web.act(relay.address, "bury", ids=[1, 99])
        self.assertEqual((status, answer), (502, {"error": "the server answered: INTERNAL_ERROR"}))
        shown = [self.server.stat(key, "stats-job 1") for key in ("state", "pri")]
        self.assertEqual(shown, ["ready", "7"])


if __name__ == "__main__":
    unittest.main()
