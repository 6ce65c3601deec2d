# Installs haricot on a machine without beanstalkd: its init script, its documents, and a purge that leaves nothing.

service() { /etc/init.d/beanstalkd "$@"; }
status_of() { local status=0; "$@" >/scenario/said 2>&1 || status=$?; echo "$status"; }

step "it is installed and serves"
install "$package"
eventually is_answered
is_haricot
equal "the first job" "$(ask 'put 0 0 60 2' hi)" "INSERTED 1"
equal "who has the folder" "$(stat -c %U:%G:%a /var/lib/beanstalkd)" beanstalkd:beanstalkd:755
ss_listen=$(awk '$4 == "0A" { print $2 }' /proc/net/tcp)
equal "where it listens" "$ss_listen" 0100007F:2C24  # 127.0.0.1:11300 in the kernel's notation.

step "another package may want beanstalkd"
equal "what is provided" "$(dpkg-query -W -f '${Provides}' haricot)" "beanstalkd (= 1.13)"

step "its files are where they belong"
for file in /usr/bin/haricotd /usr/bin/haricot /usr/share/man/man8/haricotd.8.gz \
  /usr/share/doc/haricot/copyright /usr/lib/systemd/system/beanstalkd.service \
  /usr/lib/haricot/settings /usr/lib/haricot/may-restart /usr/lib/systemd/system/beanstalkd.socket /usr/lib/systemd/system/haricot-web.service \
  /usr/share/doc/haricot/examples/openrc/beanstalkd; do
  # A minimal installation may omit documents.
  dpkg -L haricot | grep -qx "$file" || fail "$file is not in the package"
done
equal "the link" "$(readlink /usr/bin/beanstalkd)" haricotd
dpkg --verify haricot | grep -v /usr/share/ && fail "files differ from the package"
equal "the version of the tool" "$(haricot --version)" "haricot $(dpkg-query -W -f '${Version}' haricot)"

step "the init script"
process=$(pidof beanstalkd)
equal "status" "$(status_of service status)" 0
equal "start again" "$(status_of service start)" 0
equal "the process" "$(pidof beanstalkd)" "$process"
equal "stop" "$(status_of service stop)" 0
not pidof beanstalkd
[[ ! -e /run/beanstalkd.pid ]] || fail "the pid file is still there"
equal "status of what is stopped" "$(status_of service status)" 3
equal "stop again" "$(status_of service stop)" 0
equal "try-restart" "$(status_of service try-restart)" 0
not pidof beanstalkd
equal "start" "$(status_of service start)" 0
# No wait, because a start returns when the server answers.
is_answered
equal "the pid file" "$(cat /run/beanstalkd.pid)" "$(pidof beanstalkd)"
equal "status" "$(status_of service status)" 0
process=$(pidof beanstalkd)
equal "restart" "$(status_of service restart)" 0
is_answered
[[ $(pidof beanstalkd) != "$process" ]] || fail "the old process goes on"
process=$(pidof beanstalkd)
equal "reload" "$(status_of service reload)" 0
equal "the process after a reload" "$(pidof beanstalkd)" "$process"
equal "nonsense" "$(status_of service nonsense)" 2

step "a start with a wrong flag fails"
service stop >/dev/null
echo 'BEANSTALKD_EXTRA="--nonsense"' >>/etc/default/beanstalkd
started=$SECONDS
equal "start" "$(status_of service start)" 2
((SECONDS - started < 50)) || fail "the script waited for a server that had ended"
not pidof beanstalkd
sed -i '$d' /etc/default/beanstalkd

step "the settings may lack what they like"
cp /etc/default/beanstalkd /scenario/settings
echo 'BEANSTALKD_EXTRA="-b /var/lib/beanstalkd -u beanstalkd"' >/etc/default/beanstalkd
equal "start" "$(status_of service start)" 0
equal "a job" "$(ask 'put 0 0 60 4' kept)" "INSERTED 1"
equal "restart" "$(status_of service restart)" 0
equal "the job" "$(ask 'peek 1')" $'FOUND 1 4\nkept'
cp /scenario/settings /etc/default/beanstalkd

step "it is removed, and its data stays"
apt-get -q -y remove haricot </dev/null >/scenario/apt.log 2>&1
not pidof beanstalkd
[[ -e /var/lib/beanstalkd/lock && -e /etc/default/beanstalkd ]] || fail "the data is gone"
equal "the init script of what is removed" "$(status_of service start)" 0

step "it is purged, and nothing stays"
dpkg --purge haricot
for path in /var/lib/beanstalkd /etc/default/beanstalkd /etc/init.d/beanstalkd /usr/bin/beanstalkd; do
  [[ ! -e $path ]] || fail "$path is still there"
done
equal "links to the init script" "$(find /etc/rc?.d -name '*beanstalkd')" ""
equal "units" "$(find /etc/systemd /var/lib/systemd -name '*beanstalkd*' 2>/dev/null)" ""

step "installed once more"
install "$package"
eventually is_answered
step "done"
