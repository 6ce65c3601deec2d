#!/usr/bin/env python3
"""Tests access to the console: host names, logins, and requests that change something: access_test.py TEST_SITE"""

import os
import pathlib
import re
import signal
import stat
import subprocess
import time
import unittest
import urllib.parse

import web_case
from web_case import TOKEN

SAME = ["Sec-Fetch-Site: same-origin"]
BROWSER = ["Accept: text/html,application/xhtml+xml"]


class Start(web_case.WebTest):
    def refused(self, status, words, *flags):
        run = subprocess.run([web_case.PROGRAM, *flags], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertIn(words, run.stderr)

    def setUp(self):
        pass

    def test_another_address_needs_a_token_or_a_loud_word(self):
        for address in ("0.0.0.0:0", "[::]:0", "0.0.0.0"):
            self.refused(5, "--token-file", "--listen", address)
        self.refused(5, "exclude", "--no-auth", "--token-file", "x")
        self.assertEqual(self.status("/", site=self.serve("--no-auth", listen="0.0.0.0:0")), 200)
        site = self.serve("--token-file", str(self.token_file()), listen="0.0.0.0:0")
        self.assertEqual(self.status("/", site=site), 401)

    def test_loopback_needs_none(self):
        for address in ("127.0.0.1:0", "127.1.2.3:0", "localhost:0"):
            self.serve(listen=address)
        with self.subTest("unix"):
            site = self.serve(listen=f"unix:{self.token_file().parent}/socket")
            self.assertEqual(self.status("/", site=site), 200)
            self.assertTrue(stat.S_ISSOCK(os.stat(site.path).st_mode))
            self.assertEqual(site.stop(), 0)
            self.assertFalse(os.path.exists(site.path))

    def test_a_host_name_stands_for_all_its_addresses(self):
        # The installers of Debian 12 and 13 write these lines.
        hosts = self.token_file().parent / "hosts"
        hosts.write_text("127.0.0.1\tlocalhost\n::1\t\tlocalhost ip6-localhost ip6-loopback\n")
        hosts.chmod(0o644)
        begin = ["unshare", "-rm", "sh", "-c", 'mount --bind "$1" /etc/hosts && shift && exec "$@"', "sh", str(hosts)]
        if subprocess.run([*begin, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this user may not make a mount namespace")
        site = self.serve(program=[*begin, web_case.PROGRAM], listen="localhost:0")
        self.assertIn(f"addresses=[::1]:{site.port},127.0.0.1:{site.port} ", site.log())
        self.assertEqual(self.status("/", site=site), 200)
        with web_case.socket.create_connection(("::1", site.port), timeout=web_case.DEADLINE_S) as client:
            client.sendall(web_case.request("/"))
            self.assertEqual(web_case.Reader(client).answer().status, 200)

    def test_a_token_that_all_may_read_or_that_is_short_is_none(self):
        self.refused(6, "chmod", "--token-file", str(self.token_file(mode=0o644)), "--listen", "127.0.0.1:0")
        self.refused(6, "16", "--token-file", str(self.token_file("short")), "--listen", "127.0.0.1:0")
        self.refused(6, "16", "--token-file", str(self.token_file("with a blank in the middle")))
        self.refused(6, "16", "--token-file", str(self.token_file("x" * 1025)))
        self.refused(6, "No such file", "--token-file", "/nowhere/token")
        self.serve("--token-file", str(self.token_file(mode=0o640)))

    def test_signals_end_it_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            site = self.serve()
            client = self.connect(site)
            client.sendall(web_case.request("/events"))
            web_case.Reader(client).until(b"\n\n")
            self.assertEqual(site.stop(number), 0)
            self.assertIn("event=web-end", site.log())

    def test_errors_in_flags_are_reported(self):
        self.refused(5, "unknown", "--nonsense")
        self.refused(5, "port", "host:99999")
        self.refused(5, "base-path", "--base-path", "queue")
        self.refused(5, "base-path", "--base-path", "//evil")
        self.refused(5, "host", "--host", "a:80")
        self.refused(6, "cannot", "--listen", "unix:/nowhere/at/all")

    def test_it_notifies_a_service_manager(self):
        folder = self.token_file().parent
        with web_case.socket.socket(web_case.socket.AF_UNIX, web_case.socket.SOCK_DGRAM) as manager:
            manager.bind(f"{folder}/notify")
            manager.settimeout(60)
            site = self.serve(env={"NOTIFY_SOCKET": f"{folder}/notify"})
            self.assertIn(b"READY=1", manager.recv(1000))
            site.stop()
            self.assertIn(b"STOPPING=1", manager.recv(1000))


class Login(web_case.WebTest):
    def setUp(self):
        self.path = self.token_file()
        self.site = self.serve("--token-file", str(self.path), "--allow-changes")

    def log_in(self, token=TOKEN, headers=SAME):
        return self.ask("/login", "POST", headers, f"token={token}".encode())

    def test_the_token_is_required(self):
        for headers in ([], ["Authorization: Bearer"], ["Authorization: Bearer wrong"], ["Cookie: haricot=1"],
                        [f"Authorization: Basic {TOKEN}"], [f"Authorization: Bearer {TOKEN}x"],
                        [f"Authorization: Bearer {TOKEN[:-1]}"], [f"X-Authorization: Bearer {TOKEN}"]):
            answer = self.ask("/echo", headers=headers)
            self.assertEqual((answer.status, answer.headers["www-authenticate"]), (401, "Bearer"), headers)
        self.assertEqual(self.ask("/api/echo").headers["content-type"], "application/json; charset=utf-8")
        self.assertEqual(self.status("/api/act", "POST", SAME, b"x"), 401)

    def test_open_streams_stay_open(self):
        for path in ("/healthz", "/open", "/login"):
            self.assertEqual(self.status(path), 200)

    def test_programs_show_the_token(self):
        for scheme in ("Bearer", "bearer"):
            self.assertEqual(self.status("/echo", headers=[f"Authorization: {scheme} {TOKEN}"]), 200)

    def test_people_get_a_page_and_a_cookie(self):
        answer = self.ask("/deep/down/page", headers=BROWSER)
        self.assertEqual(answer.status, 401)
        self.assertIn('action="../../login"', answer.text())
        self.assertIn('action="login"', self.ask("/", headers=BROWSER).text())
        self.assertEqual(re.findall("<script.*?</script>", answer.text()),
                         ['<script src="../../page/login.js" defer></script>'])
        self.assertNotIn("style=", answer.text())
        answer = self.log_in()
        self.assertEqual((answer.status, answer.headers["location"]), (303, "./"))
        cookie, _, attributes = answer.headers["set-cookie"].partition("; ")
        self.assertEqual(attributes, "HttpOnly; SameSite=Strict")
        self.assertNotIn(TOKEN, cookie)
        self.assertEqual(self.status("/", headers=[f"Cookie: {cookie}"]), 200)
        self.assertEqual(self.status("/", headers=[f"Cookie: a=b; {cookie}; c=d"]), 200)
        self.assertEqual(self.status("/", headers=[f"Cookie: {cookie}0"]), 401)
        self.assertEqual(self.status("/login", headers=[f"Cookie: {cookie}"]), 303)
        self.assert_logged("action=login ")

    def test_a_log_out_has_the_browser_drop_the_cookie(self):
        cookie, _, attributes = self.log_in().headers["set-cookie"].partition("; ")
        for headers in ([], ["Sec-Fetch-Site: cross-site"], ["Origin: http://evil.example"]):
            answer = self.ask("/logout", "POST", [f"Cookie: {cookie}", *headers])
            self.assertEqual(answer.status, 403, headers)
            self.assertNotIn("set-cookie", answer.headers)
        self.assertEqual(self.ask("/logout", headers=[f"Cookie: {cookie}"]).status, 405)
        # A logout without a login is not logged.
        self.assertEqual(self.ask("/logout", "POST", SAME).status, 303)
        answer = self.ask("/logout", "POST", [*SAME, f"Cookie: {cookie}"])
        self.assertEqual((answer.status, answer.headers["location"]), (303, "./"))
        name = cookie.partition("=")[0]
        self.assertEqual(answer.headers["set-cookie"], f"{name}=; {attributes}; Max-Age=0")
        self.assert_logged("action=logout ")
        self.assertEqual(self.site.log().count("action=logout "), 1)
        self.assertEqual(self.status("/", headers=[f"Cookie: {name}="]), 401)

    def test_without_a_token_there_is_nothing_to_log_out_of(self):
        answer = self.ask("/logout", "POST", SAME, site=self.serve())
        self.assertEqual((answer.status, answer.headers.get("set-cookie")), (303, None))

    def test_a_token_may_have_any_printing_character(self):
        token = "".join(map(chr, range(0x21, 0x7f)))
        for end in ("", "\n"):
            path = self.token_file()
            path.write_text(token + end, encoding="ascii")
            site = self.serve("--token-file", str(path))
            self.assertEqual(self.status("/echo", headers=[f"Authorization: Bearer {token}"], site=site), 200)
            for form in (urllib.parse.urlencode({"token": token}), urllib.parse.urlencode({"token": f" {token} "})):
                answer = self.ask("/login", "POST", SAME, form.encode(), site=site)
                self.assertEqual(answer.status, 303, form)
            cookie = answer.headers["set-cookie"].partition(";")[0]
            self.assertEqual(self.status("/echo", headers=[f"Cookie: {cookie}"], site=site), 200)

    def test_a_wrong_token_is_logged(self):
        begin = time.monotonic()
        answer = self.log_in("wrong")
        self.assertEqual(answer.status, 401)
        self.assertIn("Wrong token", answer.text())
        self.assertNotIn("set-cookie", answer.headers)
        self.assert_logged("event=web-login-refused")
        self.assertNotIn("wrong", self.site.log())
        for _ in range(30):
            self.log_in("wrong")
        # At most ten lines in ten seconds.
        lines = self.site.log().count("web-login-refused")
        self.assertLessEqual(lines, 10 + (time.monotonic() - begin))

    def test_so_is_one_that_a_program_has_shown(self):
        for path, method, headers, body in (("/api/echo", "GET", [], None), ("/api/act", "POST", SAME, b"x")):
            with self.subTest(method=method):
                before = self.site.log().count("web-login-refused")
                headers = [*headers, "Authorization: Bearer wrong"]
                self.assertEqual(self.status(path, method, headers, body), 401)
                web_case.wait_until(lambda: self.site.log().count("web-login-refused") > before)

    def test_another_site_cannot_log_a_browser_in(self):
        self.assertEqual(self.log_in(headers=["Sec-Fetch-Site: cross-site"]).status, 403)

    def test_a_new_token_ends_all_sessions(self):
        cookie = self.log_in().headers["set-cookie"].partition(";")[0]
        client = self.connect()
        client.sendall(web_case.request("/events", headers=[f"Cookie: {cookie}"]))
        stream = web_case.Reader(client)
        stream.until(b"\n\n")
        other = self.path.with_name("new")
        other.write_text("another-token-of-some-length\n", encoding="ascii")
        other.chmod(0o600)
        other.rename(self.path)
        self.site.process.send_signal(signal.SIGHUP)
        web_case.wait_until(lambda: "event=web-token" in self.site.log())
        while stream.more():  # Until the stream ends.
            pass
        self.assertEqual(self.status("/", headers=[f"Cookie: {cookie}"]), 401)
        self.assertEqual(self.log_in().status, 401)
        self.assertEqual(self.log_in("another-token-of-some-length").status, 303)
        self.path.chmod(0o644)
        self.site.process.send_signal(signal.SIGHUP)
        web_case.wait_until(lambda: "event=web-token-kept" in self.site.log())
        self.assertEqual(self.log_in("another-token-of-some-length").status, 303)

    def test_two_programs_on_one_machine_have_cookies_of_their_own(self):
        other = self.serve("--token-file", str(self.token_file("another-token-of-some-length")))
        answer = self.ask("/login", "POST", SAME, b"token=another-token-of-some-length", site=other)
        names = {each.headers["set-cookie"].partition("=")[0] for each in (answer, self.log_in())}
        self.assertEqual(len(names), 2)


class Rebinding(web_case.WebTest):
    FLAGS = ("--host", "Queue.Example", "--allow-changes")

    def test_only_names_that_are_ours_are_served(self):
        for host in ("localhost", "LOCALHOST:1", "localhost.", "a.localhost", "127.0.0.1:99", "10.1.2.3", "[::1]:80",
                     "[::1]", "queue.example", "queue.EXAMPLE:8080"):
            self.assertEqual(self.status("/echo", host=host), 200, host)
        for host in ("evil.example", "queue.example.evil.com", "evil-queue.example", "localhost.evil.com", "",
                     "1.2.3.4.evil.com", "1.2.3", "1.2.3.4.5", "1.2.3.256", "notlocalhost", "localhost@evil.com"):
            self.assertEqual(self.status("/echo", host=host), 421, host)
        self.assertEqual(self.send(b"GET http://evil.example/echo HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 421)

    def test_a_probe_may_ask_under_any_name(self):
        self.assertEqual(self.status("/healthz", host="pod-17.evil.example"), 200)

    def test_the_listening_name_is_ours(self):
        site = self.serve(listen="localhost:0")
        self.assertEqual(self.status("/echo", host="localhost", site=site), 200)


class Changes(web_case.WebTest):
    FLAGS = ("--allow-changes", "--host", "queue.example")

    def act(self, *headers, host="localhost:11380"):
        return self.status("/api/act", "POST", list(headers), b"mail", host=host)

    def test_a_page_of_this_program_may_change_something(self):
        self.assertEqual(self.act("Sec-Fetch-Site: same-origin"), 200)
        self.assertEqual(self.act("Origin: http://localhost:11380"), 200)
        self.assertEqual(self.act("Origin: http://LOCALHOST:11380"), 200)
        self.assertEqual(self.act("Origin: https://queue.example", host="queue.example"), 200)
        self.assertEqual(self.act("Origin: https://queue.example:443", host="queue.example"), 200)
        self.assertEqual(self.act("Origin: http://queue.example", host="queue.example:80"), 200)

    def test_other_hosts_are_refused(self):
        for headers in ([], ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Sec-Fetch-Site: none"],
                        ["Origin: null"], ["Origin: http://evil.example"], ["Origin: http://localhost"],
                        ["Origin: http://localhost:113800"], ["Origin: localhost:11380"],
                        ["Origin: http://localhost:11380.evil.example"], ["Origin: "],
                        ["Sec-Fetch-Site: cross-site", "Origin: http://localhost:11380"],
                        ["Referer: http://localhost:11380/"]):
            self.assertEqual(self.act(*headers), 403, headers)
        self.assert_logged("event=web-action-refused")
        self.assertNotIn("event=web-action ", self.site.log())

    def test_reading_changes_nothing(self):
        self.assertEqual(self.fields("/echo", headers=SAME)["may_change"], "no")
        self.assertEqual(self.status("/api/act", headers=SAME), 405)

    def test_an_action_is_a_line_of_the_log(self):
        self.act(*SAME)
        web_case.wait_until(lambda: "event=web-action" in self.site.log())
        line = next(line for line in self.site.log().splitlines() if "web-action" in line)
        self.assertRegex(line, r'peer=127\.0\.0\.1:\d+ action=kick server=here:11300 what="tube=\\nmail" result="done=1"$')

    def test_without_the_flag_nothing_changes(self):
        site = self.serve()
        with self.subTest("and no body is read"):
            client = self.connect(site)
            client.sendall(web_case.request("/api/act", "POST", [*SAME, "Content-Length: 1000000"]))
            self.assertEqual(web_case.Reader(client).answer().status, 403)
        self.assertEqual(self.status("/api/act", "POST", SAME, b"x", site=site), 403)
        self.assertEqual(self.fields("/echo", "POST", SAME, b"x", site=site)["may_change"], "no")


class Proxy(web_case.WebTest):
    FORWARDED = ["X-Forwarded-For: 6.6.6.6, 10.0.0.7", "X-Forwarded-Host: queue.example", "X-Forwarded-Proto: https"]

    def setUp(self):
        self.path = self.token_file()
        self.site = self.serve("--base-path", "/queue/", "--behind-proxy", "--host", "queue.example", "--token-file",
                               str(self.path), "--allow-changes")

    def bearer(self, *headers):
        return [f"Authorization: Bearer {TOKEN}", *headers]

    def test_paths_are_served_with_the_base_and_without(self):
        for path in ("/queue/echo", "/echo"):
            self.assertEqual(self.fields(path, headers=self.bearer())["path"], "/echo")
        self.assertEqual(self.status("/queue/", headers=self.bearer()), 200)
        answer = self.ask("/queue", headers=self.bearer())
        self.assertEqual((answer.status, answer.headers["location"]), (308, "/queue/"))
        self.assertEqual(self.status("/queueecho", headers=self.bearer()), 404)
        self.assertEqual(self.status("/queue/healthz"), 200)

    def test_a_base_may_be_called_as_a_path_of_the_program(self):
        for base in ("/api", "/page", "/a/b", "/login"):
            site = self.serve("--base-path", base)
            for path in ("/api/echo", f"{base}/api/echo", f"{base}/echo", "/echo", f"{base}/", "/"):
                self.assertEqual(self.status(path, site=site), 200, (base, path))
            for path in (f"{base}{base}{base}/echo", f"{base}//echo", f"{base}/../echo", f"{base}.", base.upper() + "/echo"):
                self.assertEqual(self.status(path, site=site), 404, (base, path))

    def test_the_proxy_forwards_address_and_host(self):
        fields = self.fields("/queue/echo", headers=self.bearer(*self.FORWARDED), host="upstream")
        self.assertEqual(fields["peer"], "10.0.0.7")
        self.assertEqual(self.status("/queue/echo", headers=self.bearer("X-Forwarded-Host: evil.example")), 421)
        origin = "Origin: https://queue.example"
        self.assertEqual(self.status("/queue/api/act", "POST", self.bearer(*self.FORWARDED, origin), b"x"), 200)
        origin = "Origin: https://localhost"
        self.assertEqual(self.status("/queue/api/act", "POST", self.bearer(*self.FORWARDED, origin), b"x"), 403)

    def test_a_cookie_behind_tls_is_for_tls(self):
        answer = self.ask("/queue/login", "POST", SAME + self.FORWARDED, f"token={TOKEN}".encode())
        self.assertTrue(answer.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Secure"))
        self.assertEqual(answer.headers["location"], "./")

    def test_without_the_flag_only_the_browser_shows_tls(self):
        site = self.serve("--token-file", str(self.path))
        answer = self.ask("/login", "POST", SAME + self.FORWARDED, f"token={TOKEN}".encode(), site=site)
        self.assertNotIn("Secure", answer.headers["set-cookie"])
        answer = self.ask("/login", "POST", [*SAME, "Origin: https://localhost"], f"token={TOKEN}".encode(), site=site)
        self.assertTrue(answer.headers["set-cookie"].endswith("; Secure"))

    def test_without_the_flag_no_header_is_believed(self):
        site = self.serve()
        fields = self.fields("/echo", headers=self.FORWARDED, site=site)
        self.assertTrue(fields["peer"].startswith("127.0.0.1:"), fields)
        self.assertEqual(self.status("/echo", headers=self.FORWARDED, host="evil.example", site=site), 421)


class InTheSandbox(web_case.WebTest):
    def test_it_can_connect_and_little_else(self):
        if "sandbox-incomplete" in self.site.log():
            self.skipTest("this kernel or build has no sandbox")
        fields = self.fields("/calls")
        self.assertEqual(fields["socket"], "done")
        self.assertEqual(fields["connect"], "Connection refused")
        for call in ("fork", "raw", "netlink", "bind", "exec"):
            self.assertEqual(fields[call], "Operation not permitted", call)
        for call in ("read", "write"):
            self.assertEqual(fields[call], "Permission denied", call)
        status = pathlib.Path(f"/proc/{self.site.process.pid}/status").read_text(encoding="ascii")
        self.assertIn("Seccomp:\t2\n", status)
        self.assertIn("NoNewPrivs:\t1\n", status)


if __name__ == "__main__":
    unittest.main(argv=web_case.sys.argv[:1] + web_case.sys.argv[2:])
