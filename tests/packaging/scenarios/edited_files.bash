# An administrator's changes: an edited init script works with haricot, a disabled service stays disabled, and the
# folder of jobs may be empty or in another place.

step "an init script that was changed stays, and works"
install beanstalkd
echo '# Ours.' >>/etc/init.d/beanstalkd
# dpkg would ask a question without --force-confold.
install -o Dpkg::Options::=--force-confold "$package"
equal "its last line" "$(tail -n 1 /etc/init.d/beanstalkd)" '# Ours.'
eventually is_answered
is_haricot
/etc/init.d/beanstalkd stop
eventually not pidof beanstalkd
/etc/init.d/beanstalkd start
eventually is_answered
is_haricot
apt-get -q -y purge haricot </dev/null >/scenario/apt.log 2>&1
apt-get -q -y purge beanstalkd </dev/null >/scenario/apt.log 2>&1

step "an empty folder does not get lost in between"
install beanstalkd
equal "the folder" "$(ls -A /var/lib/beanstalkd)" ""
install "$package"
equal "who has the folder" "$(stat -c %U:%G /var/lib/beanstalkd)" beanstalkd:beanstalkd

step "a service that was disabled stays so"
state=/etc/systemd/system/multi-user.target.wants/beanstalkd.service
[[ -L $state ]] || fail "the unit is not enabled after the installation"
rm "$state"  # Like `systemctl disable`.
install --reinstall "$package"
[[ ! -L $state ]] || fail "the unit is enabled again"
[[ ! -L /etc/systemd/system/sockets.target.wants/beanstalkd.socket ]] || fail "the socket is enabled"

step "jobs in another folder"
/etc/init.d/beanstalkd stop
mkdir -p /srv/jobs && chown beanstalkd: /srv/jobs
echo 'BEANSTALKD_EXTRA="-b /srv/jobs"' >>/etc/default/beanstalkd
/etc/init.d/beanstalkd start
equal "a job" "$(ask 'put 0 0 60 2' hi)" "INSERTED 1"
apt-get -q -y purge haricot </dev/null >/scenario/apt.log 2>&1
[[ -e /srv/jobs/binlog.1 ]] || fail "jobs that are elsewhere were removed"
getent passwd beanstalkd >/dev/null || fail "the user of those files is gone"
step "done"
