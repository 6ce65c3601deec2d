# The file for OpenRC, as an administrator would use it.

step "OpenRC is there"
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d # Nothing but OpenRC is to start anything.
install "$package"
install openrc
not pidof beanstalkd
# What OpenRC makes at boot.
for folder in starting started stopping stopped inactive wasinactive failed hotplugged daemons options exclusive scheduled; do
  mkdir -p "/run/openrc/$folder"
done
echo default >/run/openrc/softlevel
cp /usr/share/doc/haricot/examples/openrc/beanstalkd /etc/init.d/beanstalkd
sed -i 's|^#BEANSTALKD_EXTRA|BEANSTALKD_EXTRA|' /etc/default/beanstalkd # With a binlog.
rm -rf /var/lib/beanstalkd
service() { rc-service --nodeps beanstalkd "$@"; }

step "start, restart, stop"
not service status
service start
eventually is_answered
is_haricot
service status
equal "who runs it" "$(ps -o user= -p "$(pidof beanstalkd)")" beanstalkd
equal "the first job" "$(ask 'put 0 0 60 2' hi)" "INSERTED 1"
service restart
eventually is_answered
equal "the job" "$(ask 'peek 1')" $'FOUND 1 2\nhi'
before=$(pidof beanstalkd)
service reload
not test "$(pidof beanstalkd)" = "$before"
equal "how often it was handed over" "$(ask stats | grep '^hand-overs')" "hand-overs: 1"
equal "the job" "$(ask 'peek 1')" $'FOUND 1 2\nhi'
service status
service stop
not pidof beanstalkd
not service status
step "done"
