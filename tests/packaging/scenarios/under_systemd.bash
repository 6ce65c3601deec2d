# On a machine with systemd: haricot replaces beanstalkd and is replaced by it, and runs in its sandbox. The service is
# ready when it notifies systemd, restarts after a crash, and refuses no connection with systemd's socket.

unit=beanstalkd.service
settings=/etc/default/beanstalkd

property() { systemctl show -P "$1" "$unit"; }
is_state() { [[ $(property ActiveState)/$(property SubState) == "$1" ]]; }
running=active/running
process_status() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$(property MainPID)/status"; }

# with SETTING...: adds the settings to the service in a drop-in.
with() {
  mkdir -p "/run/systemd/system/$unit.d"
  printf '%s\n' '[Service]' "$@" >"/run/systemd/system/$unit.d/test.conf"
  systemctl daemon-reload
  systemctl restart "$unit"
}
without() {
  rm -rf "/run/systemd/system/$unit.d"
  systemctl daemon-reload
  systemctl restart "$unit"
}

step "beanstalkd keeps jobs"
install beanstalkd
echo 'BEANSTALKD_EXTRA="-b /var/lib/beanstalkd"' >>$settings
systemctl restart "$unit"
eventually is_answered
equal "the first job" "$(ask 'put 0 0 60 3' abc)" "INSERTED 1"

step "haricot takes its place"
install "$package"
equal "enabled" "$(systemctl is-enabled "$unit")" enabled
is_state $running
is_answered
is_haricot
equal "the job" "$(ask 'peek 1')" $'FOUND 1 3\nabc'
equal "how it starts" "$(property Type)" notify
equal "what it says of itself" "$(property StatusText)" serving
# The host may permit fewer; systemd then uses the maximum.
equal "open files" "$(property LimitNOFILE)" 524288
equal "the name" "$(cat "/proc/$(property MainPID)/comm")" beanstalkd
equal "pidof" "$(pidof beanstalkd)" "$(property MainPID)"

step "what is left of beanstalkd is purged, and leaves haricot alone"
user=$(id beanstalkd)
dpkg --purge beanstalkd
equal "the state of beanstalkd" "$(state_of beanstalkd)" not-installed
equal "the user" "$(id beanstalkd)" "$user"
equal "enabled" "$(systemctl is-enabled "$unit")" enabled
is_state $running
grep -q '^BEANSTALKD_EXTRA="-b /var/lib/beanstalkd"' $settings
equal "another job" "$(ask 'put 0 0 60 3' def)" "INSERTED 2"
systemctl restart "$unit"
equal "the jobs after a restart" "$(ask 'peek 1' 'peek 2')" $'FOUND 1 3\nabc\nFOUND 2 3\ndef'
ask 'delete 2' >/dev/null

step "the sandbox is there"
equal "no new privileges" "$(process_status NoNewPrivs)" 1
equal "filter of system calls" "$(process_status Seccomp)" 2
for set in CapPrm CapEff CapBnd CapAmb; do equal "$set" "$(process_status $set)" 0000000000000000; done
# Typical work in the sandbox: large and small jobs, compaction, a file that ends.
for i in $(seq 50); do
  ask "put 0 0 60 60000" "$(head -c 60000 /dev/zero | tr '\0' x)" >/dev/null
done
equal "jobs" "$(stat_of current-jobs-ready)" 51

step "it is killed, and comes back with its jobs"
kill -KILL "$(property MainPID)"
restarted() { [[ $(property NRestarts) == 1 ]] && is_state $running; }
eventually restarted
equal "jobs" "$(stat_of current-jobs-ready)" 51

step "there is nothing to reload; what reloads or restarts restarts"
process=$(property MainPID)
not systemctl reload "$unit" 2>/dev/null
equal "the process" "$(property MainPID)" "$process"
systemctl reload-or-restart "$unit"
[[ $(property MainPID) != "$process" ]] || fail "it was not restarted"
equal "jobs" "$(stat_of current-jobs-ready)" 51

step "a restart keeps connections, jobs that are held, and waits; a stop keeps none"
next_line() { # next_line DESCRIPTOR: the next line.
  local line
  IFS= read -r -t 10 line <&"$1" || return 1
  printf '%s' "${line%$'\r'}"
}
exec 3<>/dev/tcp/127.0.0.1/11300 4<>/dev/tcp/127.0.0.1/11300
printf 'watch kept\r\nignore default\r\nuse kept\r\nput 0 0 600 3\r\nabc\r\nreserve\r\n' >&3
equal "watched" "$(next_line 3)$(next_line 3)" "WATCHING 2WATCHING 1"
equal "used" "$(next_line 3)" "USING kept"
held=$(next_line 3)
held=${held#INSERTED }
equal "reserved" "$(next_line 3)" "RESERVED $held 3"
equal "the body" "$(next_line 3)" abc
printf 'watch none\r\nignore default\r\nreserve\r\n' >&4
equal "watched" "$(next_line 4)$(next_line 4)" "WATCHING 2WATCHING 1"
for _ in 1 2; do
  process=$(property MainPID)
  systemctl restart "$unit"
  [[ $(property MainPID) != "$process" ]] || fail "it was not restarted"
  printf 'touch %s\r\n' "$held" >&3
  equal "the job is held" "$(next_line 3)" TOUCHED
done
printf 'delete %s\r\n' "$held" >&3
equal "the job" "$(next_line 3)" DELETED
printf 'use none\r\nput 0 0 60 1\r\nx\r\n' >&3
equal "used" "$(next_line 3)" "USING none"
put=$(next_line 3)
equal "who waits gets it" "$(next_line 4)" "RESERVED ${put#INSERTED } 1"
equal "its body" "$(next_line 4)" x
printf 'delete %s\r\n' "${put#INSERTED }" >&4
equal "the job" "$(next_line 4)" DELETED
systemctl stop "$unit"
not next_line 3
exec 3>&- 4>&-
systemctl start "$unit"
equal "jobs" "$(stat_of current-jobs-ready)" 51

step "drain mode"
systemctl kill -s USR1 "$unit"
drains() { [[ $(property StatusText) == "drain mode: no new jobs are accepted" ]]; }
eventually drains
equal "a put" "$(ask 'put 0 0 60 1' x)" DRAINING
systemctl restart "$unit"
equal "a put" "$(ask 'put 0 0 60 1' x | cut -d ' ' -f 1)" INSERTED

step "a start with a wrong flag is retried"
with 'Environment=' 'ExecStart=' 'ExecStart=/usr/bin/beanstalkd --nonsense' 2>/dev/null && fail "it started"
is_state activating/auto-restart
equal "the status" "$(property ExecMainStatus)" 5
without

step "the watchdog, where one is asked for"
with WatchdogSec=4s
process=$(property MainPID)
hears_more() { [[ $(property WatchdogTimestampMonotonic) != "$heard" ]]; }
for _ in 1 2 3; do
  heard=$(property WatchdogTimestampMonotonic)
  eventually hears_more
done
equal "the process" "$(property MainPID)" "$process"
kill -STOP "$process"
killed_by_watchdog() { [[ $(property MainPID) != "$process" ]] && is_state $running; }
eventually killed_by_watchdog
without

step "the tighter sandbox of the manual"
page=$(zcat -f "$(dpkg -L haricot | grep 'haricotd.8')" 2>/dev/null || zcat /scenario/haricotd.8.gz)
mapfile -t tighter < <(sed -n '/^    \[Service\]$/,/^\.fi$/p' <<<"$page" | sed -n 's/^    \([A-Z][A-Za-z]*=.*\)$/\1/p')
((${#tighter[@]} >= 5)) || fail "the manual does not say how"
with "${tighter[@]}"
is_state $running
equal "a job" "$(ask 'put 0 0 60 1' x | cut -d ' ' -f 1)" INSERTED
without

step "flags may name other places"
mkdir -p /srv/jobs
chown beanstalkd: /srv/jobs
cp $settings /scenario/settings
printf '%s\n' BEANSTALKD_LISTEN_ADDR=unix:/tmp/queue 'BEANSTALKD_EXTRA="-b /srv/jobs -u beanstalkd"' >$settings
systemctl restart "$unit"
is_state $running
[[ -S /tmp/queue && -e /srv/jobs/binlog.1 ]] || fail "the socket or the folder is not there"
haricot bench -n 10 unix:/tmp/queue >/dev/null
cp /scenario/settings $settings

step "no connection is refused where the socket is systemd's"
systemctl stop "$unit"
systemctl enable --now beanstalkd.socket 2>/dev/null
equal "the first connection starts it" "$(ask 'list-tube-used')" "USING default"
is_state $running
(
  for _ in $(seq 100); do
    [[ $(ask list-tube-used) == "USING default" ]] || echo refused
    sleep 0.01
  done
) >/scenario/refused 2>&1 &
asking=$!
for _ in 1 2 3; do systemctl restart "$unit"; done
wait "$asking"
# A connection that the server has accepted ends with it; one that waits in the socket does not.
not grep -q 'Connection refused' /scenario/refused
systemctl disable --now beanstalkd.socket 2>/dev/null
systemctl restart "$unit"

step "the console is not enabled, and runs where somebody starts it"
web_status() {
  (
    exec 5<>/dev/tcp/127.0.0.1/11380
    printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$1" >&5
    read -r _ status _ <&5
    echo "$status"
  ) 2>/dev/null
}
equal "enabled" "$(systemctl is-enabled haricot-web || true)" disabled
not web_status /healthz
systemctl start haricot-web
equal "healthy" "$(web_status /healthz)" 200
not grep -q "^Uid:.*\b0\b" "/proc/$(systemctl show -P MainPID haricot-web)/status"
umask 077
echo a-token-of-some-length >/etc/haricot-web.token
mkdir -p /etc/systemd/system/haricot-web.service.d
cat >/etc/systemd/system/haricot-web.service.d/token.conf <<'EOT'
[Service]
LoadCredential=token:/etc/haricot-web.token
Environment="HARICOT_WEB_EXTRA=--listen 0.0.0.0 --token-file %d/token"
EOT
umask 022
systemctl daemon-reload
systemctl restart haricot-web
equal "without the token" "$(web_status /login) $(web_status /logout)" "200 405"
systemctl reload haricot-web
systemctl stop haricot-web

step "beanstalkd comes back"
before=$(stat_of current-jobs-ready)
install beanstalkd
is_state $running
eventually is_answered
not is_haricot
equal "jobs" "$(stat_of current-jobs-ready)" "$before"
equal "the job" "$(ask 'peek 1')" $'FOUND 1 3\nabc'
equal "enabled" "$(systemctl is-enabled "$unit")" enabled
step "done"
