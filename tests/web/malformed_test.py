#!/usr/bin/env python3
"""Sends malformed requests, and exceeds each limit, against a real program: malformed_test.py TEST_SITE"""

import threading
import time
import unittest

import web_case
from web_case import Reader, request

LINE = b"GET /echo HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n"
MALFORMED = {
    400: [
        b"\r\n\r\nGET\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/1.1\nHost: localhost\n\n", LINE + b"A : b\r\n\r\n",
        LINE + b" folded\r\n\r\n", LINE + b"A: b\0c\r\n\r\n", LINE + b"Host: other\r\n\r\n",
        b"GET /echo HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", b"GET /%00 HTTP/1.1\r\n\r\n",
        b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"* * *\r\n",
        POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: -1\r\n\r\n", POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    ],
    413: [POST + b"Content-Length: 1048577\r\n\r\n", POST + b"Transfer-Encoding: chunked\r\n\r\n100001\r\n"],
    414: [b"GET /" + b"a" * 8200],
    417: [POST + b"Expect: miracles\r\nContent-Length: 1\r\n\r\n"],
    431: [LINE + b"A: " + b"a" * 8200, LINE + b"A:\r\n" * 100 + b"\r\n"],
    501: [POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n"],
    505: [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
}


class Malformed(web_case.WebTest):
    def test_each_is_refused_and_ends_the_connection(self):
        for status, all_of_them in MALFORMED.items():
            for data in all_of_them:
                with self.subTest(data=data[:80]):
                    client = self.connect()
                    reader = Reader(client)
                    client.sendall(data + request("/echo"))
                    answer = reader.answer()
                    self.assertEqual(answer.status, status, answer.body)
                    self.assertEqual(answer.headers["connection"], "close")
                    self.assertIn("default-src 'none'", answer.headers["content-security-policy"])
                    self.assertTrue(reader.is_at_end(), "nothing after it is a request")
        self.assertEqual(self.status("/echo"), 200)

    def test_each_is_refused_byte_by_byte_too(self):
        for status, all_of_them in MALFORMED.items():
            data = all_of_them[0]
            if len(data) > 1000:
                continue
            with self.subTest(data=data[:80]):
                client = self.connect()
                for i in range(len(data)):
                    try:
                        client.sendall(data[i:i + 1])
                    except (BrokenPipeError, ConnectionResetError):
                        break
                self.assertEqual(Reader(client).answer().status, status)

    def test_an_unwanted_body_is_not_read(self):
        client = self.connect()
        client.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        reader = Reader(client)
        self.assertEqual(reader.answer().status, 404)
        self.assertTrue(reader.is_at_end())


class Requests(web_case.WebTest):
    def test_one_after_the_other_on_a_connection(self):
        client = self.connect()
        reader = Reader(client)
        for i in range(50):
            client.sendall(request(f"/echo?q={i}"))
            answer = reader.answer()
            self.assertIn(f"q={i}\n", answer.text())
            self.assertNotIn("connection", answer.headers)

    def test_many_at_once_are_answered_in_their_order(self):
        client = self.connect()
        reader = Reader(client)
        wanted = []
        data = b""
        for i in range(300):
            kind = i % 4
            if kind == 0:
                data += request(f"/echo?q={i}")
            elif kind == 1:
                data += request("/echo", "POST", ["Origin: http://localhost"], b"x" * i)
            elif kind == 2:
                data += request("/stream?bytes=12345")
            else:
                data += request("/wait") if i == 3 else request("/healthz")
            wanted.append((kind, i))
        threading.Thread(target=client.sendall, args=(data,)).start()
        for kind, i in wanted:
            answer = reader.answer()
            self.assertEqual(answer.status, 200)
            if kind == 0:
                self.assertIn(f"q={i}\n", answer.text())
            elif kind == 1:
                self.assertIn(f"body={i}\nx={i}\n", answer.text())
            elif kind == 2:
                self.assertEqual(len(answer.body), 12345)

    def test_a_body_comes_in_chunks_too(self):
        client = self.connect()
        client.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(10):
            client.sendall(b"5;a=b\r\nxxxxx\r\n")
        client.sendall(b"0\r\nTrailer: x\r\n\r\n" + request("/echo"))
        reader = Reader(client)
        self.assertIn("body=50\nx=50\n", reader.answer().text())
        self.assertIn("body=0\n", reader.answer().text())

    def test_a_client_that_waits_for_100_gets_it(self):
        client = self.connect()
        client.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        reader = Reader(client)
        self.assertEqual(reader.answer().status, 100)
        client.sendall(b"xxx")
        self.assertIn("x=3", reader.answer().text())
        # If the body is not wanted, the server sends the answer instead of 100.
        client.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                       b"Content-Length: 3\r\n\r\n")
        self.assertEqual(reader.answer().status, 404)

    def test_an_old_peer_is_served(self):
        answer = self.send(b"GET /stream?bytes=100000 HTTP/1.0\r\nHost: localhost\r\n\r\n")
        self.assertEqual(len(answer.body), 100000)
        self.assertNotIn("transfer-encoding", answer.headers)
        self.assertEqual(answer.headers["connection"], "close")

    def test_a_peer_that_sends_no_more_still_reads_its_answer(self):
        client = self.connect()
        client.sendall(request("/wait") + request("/stream?bytes=1000000"))
        client.shutdown(web_case.socket.SHUT_WR)
        reader = Reader(client)
        self.assertEqual(reader.answer().text(), "tick\n")

    def test_head_is_get_without_the_body(self):
        for path in ("/", "/whole?bytes=100", "/stream?bytes=100", "/events"):
            client = self.connect()
            client.sendall(request(path, "HEAD") + request("/echo"))
            reader = Reader(client)
            self.assertEqual(reader.answer(has_body=False).status, 200)
            self.assertIn("path=/echo", reader.answer().text())

    def test_a_cached_page_gets_a_304(self):
        tag = self.ask("/").headers["etag"]
        answer = self.ask("/", headers=[f"If-None-Match: {tag}"])
        self.assertEqual((answer.status, answer.body), (304, b""))
        self.assertEqual(self.status("/", headers=['If-None-Match: "other"']), 200)

    def test_unknown_paths_and_methods(self):
        self.assertEqual(self.status("/nothing"), 404)
        self.assertEqual(self.ask("/api/nothing").headers["content-type"], "application/json; charset=utf-8")
        answer = self.ask("/echo", "PUT")
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, HEAD, POST"))
        self.assertEqual(self.ask("/api/act").headers["allow"], "POST")

    def test_every_answer_has_the_headers_of_security(self):
        for path in ("/", "/nothing", "/echo", "/stream?bytes=1", "/healthz"):
            headers = self.ask(path).headers
            self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
            self.assertNotIn("unsafe", headers["content-security-policy"])
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertEqual(headers["referrer-policy"], "same-origin")
            self.assertEqual(headers["cache-control"], "no-store")
            self.assertRegex(headers["date"], r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$")


class SlowPeers(web_case.WebTest):
    FLAGS = ("--head-timeout", "2s", "--body-timeout", "2s", "--idle-timeout", "2s", "--send-timeout", "2s")

    def test_a_head_that_never_ends(self):
        client = self.connect()
        reader = Reader(client)
        client.sendall(b"GET /echo HTTP/1.1\r\n")
        is_over = threading.Event()

        def drip():
            while not is_over.wait(0.02):
                try:
                    client.sendall(b"A: b\r\n")
                except OSError:
                    return
        dripping = threading.Thread(target=drip)
        dripping.start()
        answer = reader.answer()
        is_over.set()
        dripping.join()
        self.assertEqual((answer.status, answer.headers["connection"]), (408, "close"))
        self.assertTrue(reader.is_at_end())

    def test_a_body_that_never_ends(self):
        client = self.connect()
        client.sendall(POST + b"Content-Length: 100\r\n\r\nx")
        self.assertEqual(Reader(client).answer().status, 408)

    def test_a_silent_connection_is_closed_without_an_answer(self):
        for data in (b"", request("/echo")):
            client = self.connect()
            reader = Reader(client)
            client.sendall(data)
            if data:
                reader.answer()
            self.assertTrue(reader.is_at_end())

    def test_a_peer_that_reads_nothing_loses_its_answer(self):
        client = self.connect()
        client.setsockopt(web_case.socket.SOL_SOCKET, web_case.socket.SO_RCVBUF, 4096)
        client.sendall(request("/whole?bytes=30000000"))
        self.site_forgets(client)

    def test_a_peer_that_does_not_read_events_loses_them(self):
        client = self.connect()
        client.sendall(request("/events"))
        web_case.wait_until(lambda: self.fields("/count")["streams"] == "1")
        self.ask("/fatten")
        web_case.wait_until(lambda: self.fields("/count")["streams"] == "0")
        self.site_forgets(client)

    def site_forgets(self, client):
        def is_gone():
            folder = web_case.pathlib.Path(f"/proc/{self.site.process.pid}/fd")
            sockets = [path for path in folder.iterdir() if path.is_symlink()]
            return len(sockets) <= self.descriptors
        web_case.wait_until(is_gone)
        client.close()

    def setUp(self):
        super().setUp()
        self.descriptors = len(list(web_case.pathlib.Path(f"/proc/{self.site.process.pid}/fd").iterdir()))


class Limits(web_case.WebTest):
    FLAGS = ("--connections-max", "20", "--events-max", "3", "--body-max", "2000", "--head-max", "1024")

    def test_too_many_connections_are_refused_with_an_answer(self):
        clients = [self.connect() for _ in range(20)]
        for client in clients:
            client.sendall(request("/echo"))
            self.assertEqual(Reader(client).answer().status, 200)
        client = self.connect()
        reader = Reader(client)
        client.sendall(request("/echo"))
        answer = reader.answer()
        self.assertEqual((answer.status, answer.headers["connection"]), (503, "close"))
        self.assertTrue(reader.is_at_end())
        self.assert_logged("event=web-full")
        clients[0].close()
        web_case.wait_until(lambda: self.status("/echo") == 200)

    def test_a_reserve_is_left_for_probes(self):
        clients = [self.connect() for _ in range(300)]
        for i in range(20):
            self.assertEqual(self.status("/healthz"), 200, i)
            clients.append(self.connect())
        self.assertEqual(self.status("/echo"), 503)

    def test_connections_are_reserved_for_requests_with_the_token(self):
        site = self.serve("--connections-max", "20", "--token-file", str(self.token_file()))
        clients = [self.connect(site) for _ in range(100)]
        headers = [f"Authorization: Bearer {web_case.TOKEN}"]
        for _ in range(5):
            self.assertEqual(self.ask("/echo", headers=headers, site=site).status, 200)
            self.assertEqual(self.ask("/login", site=site).status, 503)
        self.assertEqual(len(clients), 100)

    def test_bodies_of_strangers_do_not_block_others(self):
        site = self.serve("--held-max", "100000", "--token-file", str(self.token_file()))
        head = ["Sec-Fetch-Site: same-origin", "Content-Length: 2049"]
        self.assertEqual(self.send(request("/login", "POST", head), site).status, 413)
        clients = [self.connect(site) for _ in range(70)]
        for client in clients:
            head = ["Sec-Fetch-Site: same-origin", "Content-Length: 2048"]
            client.sendall(request("/login", "POST", head) + b"x" * 2047)
        self.assertEqual(self.ask("/healthz", site=site).status, 200)
        web_case.wait_until(lambda: self.ask("/login", site=site).status == 503)
        self.assertEqual(self.ask("/healthz", site=site).status, 200)

    def test_far_more_connections_are_closed(self):
        clients = [self.connect() for _ in range(300)]
        for client in clients:
            client.sendall(request("/echo"))
        answers = [Reader(client) for client in clients]
        for reader in answers[:20]:
            self.assertEqual(reader.answer().status, 200)
        self.assertTrue(answers[-1].is_at_end() or b" 503 " in answers[-1].input)

    def test_streams_of_events_have_a_limit_of_their_own(self):
        clients = [self.connect() for _ in range(3)]
        for client in clients:
            client.sendall(request("/events"))
            self.assertIn(b"data: tick", Reader(client).until(b"\n\n"))
        answer = self.ask("/events")
        self.assertEqual((answer.status, answer.headers["retry-after"]), (503, "5"))
        self.assertEqual(self.fields("/count")["streams"], "3")
        clients[0].close()
        web_case.wait_until(lambda: self.fields("/count")["streams"] == "2")
        self.assertEqual(self.fields("/count")["gone"], "1")
        client = self.connect()
        client.sendall(request("/events"))
        self.assertIn(b"data: tick", Reader(client).until(b"\n\n"))

    def test_head_and_body_have_the_limits_of_their_flags(self):
        self.assertEqual(self.status("/echo", headers=["A: " + "a" * 1000]), 431)
        self.assertEqual(self.status("/echo", "POST", ["Origin: http://localhost"], b"x" * 2000), 200)
        self.assertEqual(self.status("/echo", "POST", ["Origin: http://localhost"], b"x" * 2001), 413)


class Crowds(web_case.WebTest):
    FLAGS = ("--held-max", "8000000")

    def test_a_thousand_connections_are_served(self):
        clients = [self.connect() for _ in range(1000)]
        for client in clients:
            client.sendall(request("/echo?q=1"))
        for client in clients:
            self.assertEqual(Reader(client).answer().status, 200)
        self.assert_memory_below(16 * 1024)

    def test_unread_answers_do_not_use_up_memory(self):
        clients = [self.connect() for _ in range(200)]
        for client in clients:
            client.setsockopt(web_case.socket.SOL_SOCKET, web_case.socket.SO_RCVBUF, 4096)
            client.sendall(request("/whole?bytes=12000000"))
        web_case.wait_until(lambda: self.status("/whole?bytes=1") == 503)
        self.assert_memory_below(64 * 1024)
        self.assertEqual(self.status("/nothing"), 404, "what costs nothing is answered")
        for client in clients:
            client.close()
        web_case.wait_until(lambda: self.status("/whole?bytes=1") == 200)

    def test_streams_wait_for_slow_readers(self):
        clients = [self.connect() for _ in range(50)]
        for client in clients:
            client.setsockopt(web_case.socket.SOL_SOCKET, web_case.socket.SO_RCVBUF, 4096)
            client.sendall(request("/stream?bytes=100000000"))
        # Each stream fills the buffers of its connection before it waits.
        for client in clients:
            client.recv(1)
        time.sleep(0.3)
        self.assert_memory_below(24 * 1024)
        self.assertEqual(len(self.ask("/stream?bytes=3000000").body), 3000000)


if __name__ == "__main__":
    unittest.main(argv=web_case.sys.argv[:1] + web_case.sys.argv[2:])
