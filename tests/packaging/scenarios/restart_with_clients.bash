# On a machine with systemd: restarts the server in every way, and upgrades it, while clients of three languages work.
# No client may notice.

unit=beanstalkd.service
settings=/etc/default/beanstalkd

property() { systemctl show -P "$1" "$unit"; }

# The clients: each puts, reserves and deletes in a shared tube, and fails at the first wrong answer. It records the
# reserved jobs, to detect a job that is reserved twice.
cat >/scenario/client.py <<'END'
import os, socket, sys
connection = socket.create_connection(("127.0.0.1", 11300))
stream = connection.makefile("rwb")
def ask(line):
    stream.write(line + b"\r\n")
    stream.flush()
    answer = stream.readline()
    assert answer, "closed after " + repr(line)
    return answer.strip()
assert ask(b"use work") == b"USING work"
assert ask(b"watch work") == b"WATCHING 2"
assert ask(b"ignore default") == b"WATCHING 1"
count = 0
with open("/scenario/taken.python", "wb") as taken:
    while not os.path.exists("/scenario/end"):
        body = b"python-%d" % count
        count += 1
        assert ask(b"put 0 0 600 %d\r\n%s" % (len(body), body)).startswith(b"INSERTED ")
        word, number, size = ask(b"reserve").split()
        assert word == b"RESERVED", word
        taken.write(stream.read(int(size) + 2).strip() + b"\n")
        assert ask(b"delete " + number) == b"DELETED"
print(count)
END
cat >/scenario/client.rb <<'END'
require "socket"
$stream = TCPSocket.new("127.0.0.1", 11300)
def ask(line)
  $stream.write(line + "\r\n")
  answer = $stream.gets or raise "closed after #{line.inspect}"
  answer.strip
end
def want(is, wanted) = is.start_with?(wanted) || raise("#{is} is not #{wanted}")
want(ask("use work"), "USING work")
want(ask("watch work"), "WATCHING 2")
want(ask("ignore default"), "WATCHING 1")
count = 0
File.open("/scenario/taken.ruby", "w") do |taken|
  until File.exist?("/scenario/end")
    body = "ruby-#{count}"
    count += 1
    want(ask("put 0 0 600 #{body.size}\r\n#{body}"), "INSERTED ")
    word, number, size = ask("reserve").split
    want(word, "RESERVED")
    taken.puts($stream.read(size.to_i + 2).strip)
    want(ask("delete #{number}"), "DELETED")
  end
end
puts count
END
cat >/scenario/client.php <<'END'
<?php
$stream = stream_socket_client("tcp://127.0.0.1:11300");
stream_set_timeout($stream, 60);
function ask($line) {
  global $stream;
  fwrite($stream, $line . "\r\n");
  $answer = fgets($stream);
  if ($answer === false) { fwrite(STDERR, "closed after $line\n"); exit(1); }
  return trim($answer);
}
function want($is, $wanted) {
  if (strpos($is, $wanted) !== 0) { fwrite(STDERR, "$is is not $wanted\n"); exit(1); }
}
want(ask("use work"), "USING work");
want(ask("watch work"), "WATCHING 2");
want(ask("ignore default"), "WATCHING 1");
$taken = fopen("/scenario/taken.php", "w");
for ($count = 0; !file_exists("/scenario/end"); ++$count) {
  clearstatcache();
  $body = "php-$count";
  want(ask("put 0 0 600 " . strlen($body) . "\r\n" . $body), "INSERTED ");
  [$word, $number, $size] = explode(" ", ask("reserve"));
  want($word, "RESERVED");
  fwrite($taken, trim(stream_get_contents($stream, $size + 2)) . "\n");
  want(ask("delete $number"), "DELETED");
}
echo "$count\n";
END

# A client with 5,000 connections: 1,000 hold a job, 1,000 wait, 50 have sent a part of a line, and 50 have not read
# their answers. At the end all must be in their state. It prints the longest wait of a small command.
cat >/scenario/crowd.py <<'END'
import os, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def connect():
    one = socket.create_connection(("127.0.0.1", 11300))
    one.settimeout(60)
    return one
def hear(one, end=b"\r\n"):
    data = b""
    while not data.endswith(end):
        more = one.recv(65536)
        assert more, "closed"
        data += more
    return data
def ask(one, line, end=b"\r\n"):
    one.sendall(line + b"\r\n")
    return hear(one, end)
everyone = [connect() for _ in range(5000)]
holding, waiting, in_line, unread = everyone[:1000], everyone[1000:2000], everyone[2000:2050], everyone[2050:2100]
idle = everyone[2100:]
held = []
for one in holding:
    number = ask(one, b"put 9 0 6000 4\r\nheld").split()[1]
    assert ask(one, b"reserve-job " + number, b"held\r\n").startswith(b"RESERVED " + number)
    held.append(number)
for one in waiting:
    one.sendall(b"watch nothing\r\nignore default\r\nreserve\r\n")
    hear(one, b"WATCHING 1\r\n")
for one in in_line:
    one.sendall(b"list-tube")
for one in unread:
    one.sendall(b"list-tube-used\r\n" * 100)
probe = connect()
longest = 0
while not os.path.exists("/scenario/end"):
    since = time.monotonic()
    assert ask(probe, b"list-tube-used") == b"USING default\r\n"
    longest = max(longest, time.monotonic() - since)
for one, number in zip(holding, held):
    assert ask(one, b"delete " + number) == b"DELETED\r\n"
for one in in_line:
    assert ask(one, b"-used") == b"USING default\r\n"
for one in unread:
    hear(one, b"USING default\r\n" * 100)
for one in idle:
    assert ask(one, b"list-tube-used") == b"USING default\r\n"
assert ask(probe, b"use nothing") == b"USING nothing\r\n"
for one in waiting:
    assert ask(probe, b"put 0 0 60 1\r\nx").startswith(b"INSERTED ")
# The clients get jobs in the order in which they began to wait.
for one in waiting:
    number = hear(one, b" 1\r\nx\r\n").split()[1]
    assert ask(one, b"delete " + number) == b"DELETED\r\n"
print(f"{longest * 1000:.0f} ms")
END

clients=(python3=client.py ruby=client.rb php=client.php python3=crowd.py)
begin_clients() {
  local client
  rm -f /scenario/end /scenario/taken.*
  running=()
  for client in "${clients[@]}"; do
    "${client%%=*}" "/scenario/${client#*=}" >"/scenario/${client#*=}.said" 2>&1 &
    running+=($!)
  done
  eventually eval '[[ -s /scenario/taken.python && -s /scenario/taken.ruby && -s /scenario/taken.php ]]'
  eventually eval '(($(stat_of current-connections) > 5000 && $(stat_of current-waiting) == 1000))'
}
end_clients() {
  local client process taken
  sleep 0.3
  touch /scenario/end
  for process in "${running[@]}"; do
    wait "$process" || { tail -n 5 /scenario/*.said >&2; fail "a client has noticed it"; }
  done
  for client in "${clients[@]}"; do echo "   ${client#*=}: $(cat "/scenario/${client#*=}.said")"; done
  # Each job was reserved once.
  taken=$(cat /scenario/taken.*)
  equal "jobs that came twice" "$(sort <<<"$taken" | uniq -d | head -n 3)" ""
  equal "jobs" "$(wc -l <<<"$taken")" \
    "$(($(cat /scenario/client.py.said) + $(cat /scenario/client.rb.said) + $(cat /scenario/client.php.said)))"
  equal "jobs that are left" "$(stat_of current-jobs-ready)/$(stat_of current-jobs-reserved)" "$left"
}
# noticed_by_none WORD...: runs the command, and checks that another process serves and no client notices.
noticed_by_none() {
  local process
  process=$(property MainPID)
  "$@"
  eventually eval "[[ \$(property ActiveState) == active && \$(property MainPID) != $process ]]" ||
    fail "it was not restarted: $*"
}

# with SETTING...: adds the settings to the service in a drop-in, for the next restart.
with() {
  mkdir -p "/etc/systemd/system/$unit.d"
  printf '%s\n' '[Service]' "$@" >"/etc/systemd/system/$unit.d/test.conf"
  systemctl daemon-reload
}

# newer NUMBER [PROGRAM]: makes a later version of the package, with this program as its server.
newer() {
  dpkg-deb -R "$package" /scenario/tree
  [[ -z ${2:-} ]] || cp "$2" /scenario/tree/usr/bin/haricotd
  sed -i "s/^Version: .*/&+$1/" /scenario/tree/DEBIAN/control
  dpkg-deb -b /scenario/tree "/scenario/newer_$1.deb" >/dev/null
  rm -r /scenario/tree
}

step "the package, with a binlog"
install "$package"
echo 'BEANSTALKD_EXTRA="-b /var/lib/beanstalkd"' >>$settings
systemctl restart "$unit"
eventually is_answered
ask 'use kept' 'put 0 0 600 4' kept >/dev/null
left=1/0

step "an idle restart of a service that does nothing, for comparison"
printf '%s\n' '[Service]' 'ExecStart=/bin/sleep infinity' >/etc/systemd/system/nothing.service
systemctl daemon-reload
systemctl start nothing.service
for _ in 1 2 3; do
  began=$(date +%s%N)
  systemctl restart nothing.service
  echo "   $((($(date +%s%N) - began) / 1000000)) ms"
done

step "systemctl restart"
begin_clients
for _ in 1 2 3 4 5; do noticed_by_none systemctl restart "$unit"; done
end_clients

step "an upgrade, and the way back"
newer 1
begin_clients
noticed_by_none install /scenario/newer_1.deb
[[ $(dpkg-query -W -f '${Version}' haricot) == *+1 ]] || fail "the new version is not there"
noticed_by_none install --allow-downgrades "$package"
end_clients

step "an upgrade to a version with another state; the way back is a restart, and is told as one"
newer later /scenario/later_haricotd
begin_clients
noticed_by_none install /scenario/newer_later.deb
end_clients
not grep "cannot take over" /scenario/apt.log
exec 3<>/dev/tcp/127.0.0.1/11300
install --allow-downgrades "$package"
grep -q "this version cannot take over from the running one: all connections are closed" /scenario/apt.log ||
  fail "the package does not say that connections end"
not read -r -t 10 answer <&3
exec 3>&-
eventually is_answered
equal "jobs" "$(stat_of current-jobs-ready)" 1
equal "hand-overs of the server that is back" "$(stat_of hand-overs)" ""

step "other flags, and a drop-in"
begin_clients
cp $settings /scenario/settings
sed -i 's|^BEANSTALKD_EXTRA=.*|BEANSTALKD_EXTRA="-b /var/lib/beanstalkd -z 100000 -f 0"|' $settings
noticed_by_none systemctl restart "$unit"
equal "the flag" "$(stat_of max-job-size)" 100000
with Environment=SOMETHING=else
noticed_by_none systemctl restart "$unit"
# A unit that is not ours needs no more than the store, as that of Debian's beanstalkd.
with Type=simple NotifyAccess=none
noticed_by_none systemctl restart "$unit"
noticed_by_none systemctl restart "$unit"
rm -r "/etc/systemd/system/$unit.d"
systemctl daemon-reload
cp /scenario/settings $settings
noticed_by_none systemctl try-restart "$unit"
noticed_by_none systemctl reload-or-restart "$unit"
noticed_by_none invoke-rc.d beanstalkd restart
end_clients

step "needrestart"
begin_clients
# The file of the running program is another one, as after an upgrade that restarted nothing.
cp -a /usr/bin/haricotd /usr/bin/haricotd.new
mv /usr/bin/haricotd.new /usr/bin/haricotd
noticed_by_none needrestart -q -r a -l
end_clients

step "a unit that keeps nothing: clients see a close, and the jobs are there"
with FileDescriptorStoreMax=0
systemctl restart "$unit" # From now on systemd stores no descriptors.
eventually is_answered
exec 3<>/dev/tcp/127.0.0.1/11300
printf 'list-tube-used\r\n' >&3
IFS= read -r -t 10 answer <&3
equal "an answer" "${answer%$'\r'}" "USING default"
systemctl restart "$unit"
not read -r -t 10 answer <&3
exec 3>&-
equal "jobs" "$(stat_of current-jobs-ready)" 1
rm -r "/etc/systemd/system/$unit.d"
systemctl daemon-reload
systemctl restart "$unit"

step "a stop keeps nothing"
exec 3<>/dev/tcp/127.0.0.1/11300
systemctl stop "$unit"
not read -r -t 10 answer <&3
exec 3>&-

step "socket activation"
systemctl enable --now beanstalkd.socket 2>/dev/null
equal "the first connection starts it" "$(ask list-tube-used)" "USING default"
begin_clients
for _ in 1 2 3; do noticed_by_none systemctl restart "$unit"; done
end_clients

step "an upgrade with socket activation"
newer 2
begin_clients
noticed_by_none install /scenario/newer_2.deb
end_clients
equal "the socket" "$(systemctl is-active beanstalkd.socket)" active

step "a server that was started by hand: an upgrade leaves it alone, and the next one takes it over"
systemctl disable --now beanstalkd.socket "$unit" 2>/dev/null
next=/scenario/next
haricotd -p 11300 --take-over-socket=$next 2>/scenario/first.log &
first=$!
eventually is_answered
left=0/0
begin_clients
newer 3
install /scenario/newer_3.deb
kill -0 $first
haricotd -p 11300 --take-over-socket=$next --take-over=$next 2>/scenario/second.log &
second=$!
wait $first || fail "the first one has not handed over: $(cat /scenario/first.log)"
end_clients
equal "hand-overs" "$(stat_of hand-overs)" 1
kill $second
wait $second
step "done"
