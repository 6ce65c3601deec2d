# On a machine with systemd: a server without a binlog is restarted with various wrong settings. When the settings are
# corrected, its connections, jobs and reservations are restored.

unit=beanstalkd.service
settings=/etc/default/beanstalkd

property() { systemctl show -P "$1" "$unit"; }
is_running() { [[ $(property ActiveState)/$(property SubState) == active/running ]]; }

next_line() { # next_line DESCRIPTOR: prints the next line.
  local line
  IFS= read -r -t 10 line <&"$1" || return 1
  printf '%s' "${line%$'\r'}"
}
# set_flags FLAG...: sets the flags of the service for the next start.
set_flags() { printf 'BEANSTALKD_EXTRA="%s"\n' "$*" >$settings; }

# Connects a client that holds a job, and one that waits.
begin_clients() {
  exec 3<>/dev/tcp/127.0.0.1/11300 4<>/dev/tcp/127.0.0.1/11300
  printf 'use held\r\nwatch held\r\nput 0 0 600 3\r\nabc\r\nreserve\r\n' >&3
  equal "used" "$(next_line 3)" "USING held"
  equal "watched" "$(next_line 3)" "WATCHING 2"
  held=$(next_line 3)
  held=${held#INSERTED }
  equal "reserved" "$(next_line 3)$(next_line 3)" "RESERVED $held 3abc"
  printf 'watch none\r\nreserve\r\n' >&4
  equal "watched" "$(next_line 4)" "WATCHING 2"
  waiting=$((${waiting:-0} + 1))
  ask 'use kept' 'put 0 0 600 4' kept >/dev/null
}
end_clients() {
  printf 'delete %s\r\n' "$held" >&3
  equal "the hold" "$(next_line 3)" DELETED
  put=$(ask 'use none' 'put 0 0 600 1' x | sed -n 's/^INSERTED //p')
  equal "the wait" "$(next_line 4)$(next_line 4)" "RESERVED $put 1x"
  printf 'delete %s\r\n' "$put" >&4
  equal "the job" "$(next_line 4)" DELETED
  exec 3>&- 4>&-
  equal "jobs" "$(stat_of current-jobs-ready)" "$waiting"
}

# change SETTING...: adds the settings to the service in a drop-in.
change() {
  mkdir -p "/run/systemd/system/$unit.d"
  printf '%s\n' '[Service]' "$@" >"/run/systemd/system/$unit.d/test.conf"
  systemctl daemon-reload
}

# Polled, because the status is that of the last ended process, and is 0 while the next one runs.
has_status() { [[ $status == any || $(property ExecMainStatus) == "$status" ]]; }
was_tried_again() { (($(property NRestarts) >= 2)); }
# survives STATUS COMMAND...: restarts the server after a command that breaks its settings, and checks that the start
# fails with STATUS. Then corrects the settings, and checks that systemd's next retry succeeds.
survives() {
  local status=$1
  shift
  begin_clients
  "$@"
  systemctl restart "$unit" 2>/dev/null && fail "it starts: $*"
  eventually was_tried_again || fail "it is not tried again: $*"
  eventually has_status || fail "the status is $(property ExecMainStatus): $*"
  set_flags
  rm -rf "/run/systemd/system/$unit.d"
  systemctl daemon-reload
  eventually is_running || fail "it does not come back: $*"
  end_clients
}

install "$package"
systemctl restart "$unit"
eventually is_answered

step "a typo"
survives 5 set_flags --nonsense
[[ $(journalctl --no-pager -o cat -u beanstalkd) == *"are kept"* ]] || fail "the log does not say that all is kept"

step "a folder that is not there"
survives 10 set_flags -b /nonexistent

step "an address of another machine"
survives 111 set_flags --listen-also 203.0.113.1

step "no such user"
survives 33 set_flags -u nobody-here

step "a program that is not there"
survives 203 change ExecStart= ExecStart=/nonexistent

step "too little memory"
survives any change LimitAS=4M

step "the next process hangs, and is killed after the time of a start"
survives any change TimeoutStartSec=2s ExecStart= 'ExecStart=/bin/sleep 8'

step "the check says it before, and changes nothing"
equal "a good one" "$(haricotd --check -l 127.0.0.1 -p 11300 -b /var/lib/beanstalkd)" "the server can start"
status=0
haricotd --check -b /nonexistent 2>/scenario/check || status=$?
equal "the status" "$status" 10
ls -A /var/lib/beanstalkd >/scenario/listed
not test -s /scenario/listed
is_running

step "an upgrade with settings that do not work leaves the running server alone"
begin_clients
process=$(property MainPID)
set_flags --nonsense
dpkg-deb -R "$package" /scenario/tree
sed -i "s/^Version: .*/&+1/" /scenario/tree/DEBIAN/control
dpkg-deb -b /scenario/tree /scenario/newer.deb >/dev/null
install /scenario/newer.deb
grep -q "the old one keeps running" /scenario/apt.log || fail "the package does not say it"
equal "the process" "$(property MainPID)" "$process"
set_flags
install --reinstall /scenario/newer.deb
[[ $(property MainPID) != "$process" ]] || fail "it was not restarted"
end_clients

step "a restart while it is tried again keeps all; a stop then drops it"
begin_clients
set_flags --nonsense
systemctl restart "$unit" 2>/dev/null && fail "it starts"
systemctl restart "$unit" 2>/dev/null && fail "it starts"
set_flags
systemctl restart "$unit"
end_clients
begin_clients
set_flags --nonsense
systemctl restart "$unit" 2>/dev/null && fail "it starts"
systemctl stop "$unit"
not next_line 3
set_flags
systemctl start "$unit"
equal "jobs" "$(stat_of current-jobs-ready)" 0
step "done"
