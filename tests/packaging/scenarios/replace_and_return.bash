# Replaces Debian's beanstalkd, with jobs in its binlog, by haricot, which takes over all data, and then replaces
# haricot by beanstalkd.

service() { invoke-rc.d beanstalkd "$@"; }
settings=/etc/default/beanstalkd

step "beanstalkd keeps jobs"
install beanstalkd
printf '%s\n' 'BEANSTALKD_LISTEN_ADDR=127.0.0.1' 'BEANSTALKD_LISTEN_PORT=11305' \
  '# Ours.' 'BEANSTALKD_EXTRA="-b /var/lib/beanstalkd -z 1000"' >$settings
cp $settings /scenario/settings
port=11305
service restart
eventually is_answered
equal "the answer" "$(ask 'put 5 0 60 3' abc 'put 6 3600 60 3' def 'use mail' 'put 7 0 60 4' mail)" \
  $'INSERTED 1\nINSERTED 2\nUSING mail\nINSERTED 3'
equal "the version" "$(stat_of version)" '"1.12"'
old_user=$(id beanstalkd)

step "haricot takes its place"
install "$package"
equal "the state of haricot" "$(state_of haricot)" installed
equal "the state of beanstalkd" "$(state_of beanstalkd)" config-files
cmp $settings /scenario/settings
equal "what lies beside the settings" "$(ls /etc/default/beanstalkd* /etc/init.d/beanstalkd*)" \
  $'/etc/default/beanstalkd\n/etc/init.d/beanstalkd'
equal "the user" "$(id beanstalkd)" "$old_user"
eventually is_answered
is_haricot
equal "the process's user" "$(ps -o user= -p "$(pidof beanstalkd)")" beanstalkd
equal "the process's name" "$(cat "/proc/$(pidof beanstalkd)/comm")" beanstalkd
equal "the jobs" "$(ask 'peek 1' 'peek 2' 'peek 3')" $'FOUND 1 3\nabc\nFOUND 2 3\ndef\nFOUND 3 4\nmail'
equal "delayed jobs" "$(stat_of current-jobs-delayed)" 1
equal "the settings' limit" "$(stat_of max-job-size)" 1000
equal "the server's version" "$(beanstalkd -v | cut -d ' ' -f 1)" beanstalkd
equal "a job more" "$(ask 'delete 1' 'put 8 0 60 3' new)" $'DELETED\nINSERTED 4'

step "haricot replaces itself"
before=$(pidof beanstalkd)
install --reinstall "$package"
eventually is_answered
[[ $(pidof beanstalkd) != "$before" ]] || fail "the old process goes on"
cmp $settings /scenario/settings
equal "the jobs" "$(ask 'peek 1' 'peek 4')" $'NOT_FOUND\nFOUND 4 3\nnew'

step "what is left of beanstalkd is purged, and leaves haricot alone"
dpkg --purge beanstalkd
equal "the state of beanstalkd" "$(state_of beanstalkd)" not-installed
equal "the user" "$(id beanstalkd)" "$old_user"
cmp $settings /scenario/settings
equal "the links" "$(ls /etc/rc2.d | grep -c 'S..beanstalkd')" 1
equal "the jobs" "$(ask 'peek 1' 'peek 4')" $'NOT_FOUND\nFOUND 4 3\nnew'
service restart
eventually is_answered
is_haricot
equal "the jobs after a restart" "$(ask 'peek 1' 'peek 4')" $'NOT_FOUND\nFOUND 4 3\nnew'

step "beanstalkd comes back"
install beanstalkd
equal "the state of beanstalkd" "$(state_of beanstalkd)" installed
equal "the state of haricot" "$(state_of haricot)" config-files
cmp $settings /scenario/settings
eventually is_answered
not is_haricot
equal "the jobs" "$(ask 'peek 1' 'peek 2' 'peek 3' 'peek 4')" \
  $'NOT_FOUND\nFOUND 2 3\ndef\nFOUND 3 4\nmail\nFOUND 4 3\nnew'

step "what is left of haricot is purged, and leaves beanstalkd alone"
dpkg --purge haricot
equal "the state of haricot" "$(state_of haricot)" none
cmp $settings /scenario/settings
equal "the jobs" "$(ask 'peek 2')" $'FOUND 2 3\ndef'
service restart
eventually is_answered
equal "the jobs after a restart" "$(ask 'peek 2' 'peek 4')" $'FOUND 2 3\ndef\nFOUND 4 3\nnew'

step "and once more, there and back, with the purge in the same breath"
install --purge "$package"
[[ $(state_of beanstalkd) != config-files ]] || fail "beanstalkd was not purged"
equal "the user" "$(id beanstalkd)" "$old_user"
eventually is_answered
is_haricot
equal "the jobs" "$(ask 'peek 2' 'peek 4')" $'FOUND 2 3\ndef\nFOUND 4 3\nnew'
cmp $settings /scenario/settings
install beanstalkd
eventually is_answered
equal "the jobs" "$(ask 'peek 2' 'peek 4')" $'FOUND 2 3\ndef\nFOUND 4 3\nnew'
cmp $settings /scenario/settings
step "done"
