# Functions of the scenarios. Each scenario runs on a machine of its own, as root, and ends at the first failure.

set -Eeuo pipefail
trap 'echo "FAILED in $BASH_SOURCE line $LINENO: $BASH_COMMAND" >&2; show_state >&2' ERR

package=$(echo /scenario/haricot_*.deb)

# Packages may start services, even without a running init system.
if [[ ! -d /run/systemd/system ]]; then
  printf '#!/bin/sh\nexit 0\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
fi

step() { echo "-- $*"; }

fail() {
  echo "FAILED: $*" >&2
  show_state >&2
  exit 1
}

show_state() {
  dpkg -l beanstalkd haricot 2>&1 | tail -n 2
  ls -la /etc/default/bean* /etc/init.d/bean* /var/lib/beanstalkd 2>&1
  ps -e -o pid,user,comm,args
  [[ ! -d /run/systemd/system ]] || journalctl --no-pager -u beanstalkd -n 30
}

# equal WHAT GOT WANTED: fails unless both texts are equal.
equal() { [[ $2 == "$3" ]] || fail "$1 is »$2«, not »$3«"; }

# install PACKAGE...: installs packages. A question is an error, because stdin is empty.
install() {
  apt-get -q -y install "$@" </dev/null >/scenario/apt.log 2>&1 || { cat /scenario/apt.log >&2; return 1; }
}

state_of() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || echo none; }

# ask LINE...: sends the lines over a connection, and prints the answers.
ask() {
  local line server
  exec {server}<>/dev/tcp/127.0.0.1/"${port:-11300}"
  for line in "$@"; do printf '%s\r\n' "$line" >&"$server"; done
  printf 'quit\r\n' >&"$server"
  tr -d '\r' <&"$server"
  exec {server}>&-
}

is_answered() { (exec {server}<>/dev/tcp/127.0.0.1/"${port:-11300}") 2>/dev/null; }

# eventually COMMAND...: waits until the command succeeds, for at most a minute.
eventually() {
  local end=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

not() { ! "$@"; }

# stat_of KEY: prints the value of the key of `stats`.
stat_of() { ask stats | sed -n "s/^$1: //p"; }

is_haricot() { [[ $(readlink "/proc/$(pidof -s beanstalkd)/exe") == /usr/bin/haricotd ]]; }
