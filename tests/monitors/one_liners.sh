#!/usr/bin/env bash
# Runs commands of operators and scripts, and prints the result of each, without the parts that differ from run to run,
# so that two servers can be compared.
#
#   one_liners.sh FOLDER PORT
#
# FOLDER/beanstalkd is the server. start-stop-daemon starts and stops it, as in an init script. If this script dies,
# its caller kills the remaining processes.
set -u
cd "$1" || exit 2
port=$2
server=$PWD/beanstalkd
pidfile=$PWD/pid

# show WORDS COMMAND...: runs the command, and prints its output in one line, and its status.
show() {
  local words=$1 output status
  shift
  output=$("$@" 2>&1)
  status=$?
  printf '%s: %s [%d]\n' "$words" "$(tr -d '\r' <<<"$output" | tr '\n' '|')" "$status"
}

# ask COMMAND...: sends the commands and `quit`, and prints the answers.
ask() { printf '%s\r\n' "$@" quit | nc -N 127.0.0.1 "$port" | tr -d '\r'; }
stat() { ask "${2:-stats}" | awk -v key="$1:" '$1 == key { print $2 }'; }
init() { start-stop-daemon --quiet --pidfile "$pidfile" --exec "$server" "$@"; }
until_true() {
  local i
  for ((i = 0; i < 1000; i++)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.02
  done
  return 1
}

# Without a server --------------------------------------------------------------------------------

version() { "$server" -v | awk '{ print $1, $2 }' | sed 's/ 1\.1[23]$/ 1.1x/'; }
show "version" version
"$server" -h >/dev/null 2>&1
echo "help: $?"
"$server" -q >/dev/null 2>&1
echo "unknown flag: $?"
"$server" -p >/dev/null 2>&1
echo "flag without its value: $?"
"$server" -u no-such-user-here -l 127.0.0.1 -p 0 >/dev/null 2>&1
echo "unknown user: $?"
show "status" init --status
show "stop without a server" init --stop --oknodo
nc -z 127.0.0.1 "$port"
echo "port: $?"

# Start -------------------------------------------------------------------------------------------

start() { init --start --background --make-pidfile -- -l 127.0.0.1 -p "$port"; }
show "start" start
until_true nc -z 127.0.0.1 "$port"
echo "port: $?"
pid=$(cat "$pidfile")
[[ $(stat pid) == "$pid" ]] || { echo "another server has the port"; exit 3; }
show "start again" start
show "status" init --status
show "name" cat "/proc/$pid/comm"
show "ps" ps -o comm= -p "$pid"
pidof beanstalkd | tr ' ' '\n' | grep -cx "$pid"
pidof "$server" | tr ' ' '\n' | grep -cx "$pid"
pgrep -x beanstalkd | grep -cx "$pid"
ps -C beanstalkd -o pid= | tr -d ' ' | grep -cx "$pid"
ps -o args= -p "$pid" | sed "s|$server|SERVER|; s|$port|PORT|"
beside() { "$server" -l 127.0.0.1 -p "$port" >/dev/null 2>&1; }
show "a second one on the port" beside

# Commands ----------------------------------------------------------------------------------------

echo "stats by nc -C:"
echo stats | nc -C -N 127.0.0.1 "$port" | tr -d '\r' | cut -d: -f1 | sed 's/^OK .*/OK/; /^haricot-version$/d'
echo "stats by echo -e:"
echo -e 'stats\r' | nc -N 127.0.0.1 "$port" | tr -d '\r' |
  grep -v '^haricot-version: ' | grep -c ': '
echo "stats without a CR: $(echo stats | nc -N 127.0.0.1 "$port" | wc -c)"
echo "by bash alone: $(exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'list-tube-used\r\n' >&3
  read -r line <&3
  echo "${line%$'\r'}")"
# haricotd adds its version after the last line of beanstalkd.
show "last line" bash -c "printf 'stats\r\nquit\r\n' | nc -N 127.0.0.1 $port |
  grep -v '^haricot-version: ' | tail -n 2 | head -n 1 |
  cut -d: -f1"
show "draining" stat draining
show "max-job-size" stat max-job-size
show "put" ask "use mail" "put 0 0 60 5" hello
for ((i = 1; i <= 10; i++)); do ask "use mail" "put $i 0 60 3" "job"; done |
  sed 's/INSERTED .*/INSERTED/' | sort | uniq -c | sed 's/^ *//'
show "ready" stat current-jobs-ready "stats-tube mail"
show "peek-ready" ask "use mail" peek-ready
show "list-tubes" ask list-tubes
show "pause" ask "pause-tube mail 3600"
show "reserve from a paused tube" ask "watch mail" "reserve-with-timeout 0"
show "end the pause" ask "pause-tube mail 0"
show "bury" ask "watch mail" reserve "bury 1 0"
show "peek-buried" ask "use mail" peek-buried
show "kick" ask "use mail" "kick 100"
show "a delayed job" ask "use mail" "put 0 3600 60 5" later
show "delayed" stat current-jobs-delayed
show "kick it" ask "use mail" "kick 100"
show "delete" ask "delete 1"
show "delete it again" ask "delete 1"
show "job too big" ask "put 0 0 60 70000" "$(printf '%070000d' 0)"
show "nonsense" ask "GET / HTTP/1.1"
waits() { printf 'watch empty\r\nignore default\r\nreserve\r\n' | nc -N 127.0.0.1 "$port"; }
show "reserve, and no more input" waits
show "stats-tube of a missing tube" ask "stats-tube nowhere"

# Drain, wait until it is empty, stop -------------------------------------------------------------

show "drain" kill -USR1 "$pid"
is_draining() { [[ $(stat draining) == true ]]; }
show "drain mode" until_true is_draining
show "put" ask "put 0 0 60 1" x
is_empty() {
  local key
  for key in ready reserved delayed; do
    [[ $(stat "current-jobs-$key") == 0 ]] || return 1
  done
}
show "empty" is_empty
work() {
  local answer id
  while answer=$(ask "watch mail" "reserve-with-timeout 0"); do
    id=$(awk '$1 == "RESERVED" { print $2 }' <<<"$answer")
    [[ $id ]] || return 0
    ask "delete $id" | grep -qx DELETED && echo done
  done
}
echo "jobs worked off: $(work | wc -l)"
show "empty" until_true is_empty
show "stop" init --stop --retry TERM/10/KILL/5 --remove-pidfile
show "status" init --status
show "stop again" init --stop --oknodo
nc -z 127.0.0.1 "$port"
echo "port: $?"

# A unix socket -----------------------------------------------------------------------------------

"$server" -l "unix:$PWD/socket" >/dev/null 2>&1 &
pid=$!
by_unix() { printf 'list-tube-used\r\nquit\r\n' | nc -N -U "$PWD/socket"; }
until_true by_unix
show "by a unix socket" by_unix
kill "$pid"
wait "$pid" 2>/dev/null
echo "end"
