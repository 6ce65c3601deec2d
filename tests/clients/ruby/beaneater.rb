# beaneater: jobs and tubes as objects with one connection, stats parsed by Ruby's YAML.
# Ids are strings, bodies are binary strings, and an error is an exception named after the answer. Values of stats are
# methods of an object, with underscores instead of hyphens, and have YAML's types.

require 'beaneater'
require_relative 'checks'

include Checks

PRIORITY_MAX = 4_294_967_295

# Returns the tube of a scenario on a connection that watches no other tube.
def tube_of(connect, name)
  client = connect.call
  client.tubes.watch!(name)
  client.tubes[name]
end

def take(tube, timeout = 15)
  tube.client.tubes.reserve(timeout)
end

# Waits until the TTR of a job has ended. The holder itself has to poll the state, because beanstalkd 1.12 may
# forget the deadlines of a silent connection while others are active.
class Checks::Expectations
  def overdue(job)
    wait_until('the TTR ends') { job.stats.state == 'ready' }
  end
end

Checks.scenario 'put, reserve, delete' do |name, connect|
  tube = tube_of(connect, name)
  first = tube.put('hello')
  second = tube.put('world')
  equal(first[:status], 'INSERTED', 'what put says')
  equal(second[:id].to_i, first[:id].to_i + 1, 'the next id')
  job = take(tube)
  equal([job.id, job.body, job.reserved?, job.tube], [first[:id], 'hello', true, name],
    'the reserved job')
  equal(job.delete, { status: 'DELETED' }, 'delete a reserved job')
  equal(job.exists?, false, 'it is gone')
  refused(Beaneater::NotFoundError, 'delete it again') { job.delete }
  equal(tube.client.jobs.find(second[:id]).delete, { status: 'DELETED' }, 'delete a ready job')
end

Checks.scenario 'put takes priority, delay and TTR' do |name, connect|
  tube = tube_of(connect, name)
  id = tube.put('later', pri: PRIORITY_MAX, delay: 3600, ttr: 86_400)[:id]
  job = tube.client.jobs.find(id)
  equal([job.pri, job.delay, job.ttr, job.stats.state], [PRIORITY_MAX, 3600, 86_400, 'delayed'],
    'stats')
  between(job.stats.time_left, 3500, 3600, 'time-left')
  hasty = tube.client.jobs.find(tube.put('no TTR', ttr: 0)[:id])
  equal([hasty.pri, hasty.delay, hasty.ttr], [65_536, 0, 1],
    "beaneater's defaults, and TTR 0 becomes 1")
end

Checks.scenario 'bodies come back byte for byte' do |name, connect|
  tube = tube_of(connect, name)
  BODIES.each do |what, body|
    id = tube.put(body)[:id]
    seen = tube.client.jobs.find(id)
    equal(seen.id, id, "id peeked (#{what})")
    same_bytes(seen.body, body, "peeked #{what}")
    job = take(tube)
    equal(job.id, id, "id reserved (#{what})")
    same_bytes(job.body, body, "reserved #{what}")
    job.delete
  end
end

Checks.scenario 'a body that is too big' do |name, connect|
  tube = tube_of(connect, name)
  refused(Beaneater::JobTooBigError, 'put') { tube.put('x' * (JOB_BYTES_MAX + 1)) }
  equal(tube.client.tubes.used.name, name, 'the next command is answered')
end

Checks.scenario 'reserve with a timeout' do |name, connect|
  tube = tube_of(connect, name)
  refused(Beaneater::TimedOutError, 'at once') { take(tube, 0) }
  takes_at_least(0.9, 'a timeout of 1') do
    refused(Beaneater::TimedOutError, 'after a second') { take(tube, 1) }
  end
  id = tube.put('there')[:id]
  equal(take(tube, 10).id, id, 'a job that is there')
end

Checks.scenario 'release' do |name, connect|
  tube = tube_of(connect, name)
  tube.put('again', pri: 5)
  job = take(tube)
  equal(job.release(pri: 7, delay: 3600)[:status], 'RELEASED', 'release with a delay')
  stats = job.stats
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['delayed', 7, 3600, 1],
    'after that')
  refused(Beaneater::JobNotReserved, 'release what is not reserved') { job.release }
  job.kick
  job = take(tube)
  # Without options beaneater reads the job's own priority and delay, and sends these.
  job.release(delay: 0)
  stats = job.stats
  equal([stats.state, stats.pri, stats.delay, stats.releases], ['ready', 7, 0, 2],
    'release without a delay')
  job = take(tube)
  back = takes_at_least(0.9, 'a delay of 1') do
    job.release(delay: 1)
    take(tube)
  end
  equal(back.id, job.id, 'comes back when its delay is over')
end

Checks.scenario 'bury, kick, kick-job' do |name, connect|
  tube = tube_of(connect, name)
  %w[a b c].each { |body| tube.put(body) }
  jobs = Array.new(3) { take(tube) }
  equal(jobs.map(&:body), %w[a b c], 'reserved in order')
  # Buries in another order than that of the puts: kick and peek follow the order of burying.
  [1, 0, 2].each { |index| equal(jobs[index].bury(pri: 3)[:status], 'BURIED', 'bury') }
  equal(tube.stats.current_jobs_buried, 3, 'buried jobs')
  equal(tube.peek(:buried).id, jobs[1].id, 'the one buried first')
  equal(tube.kick(2), { status: 'KICKED', id: '2' }, 'kick two')
  stats = jobs[1].stats
  equal([stats.state, stats.pri, stats.buries, stats.kicks], ['ready', 3, 1, 1], 'a kicked job')
  equal(jobs[2].stats.state, 'buried', 'the third one')
  equal(jobs[2].kick, { status: 'KICKED' }, 'kick-job')
  refused(Beaneater::NotFoundError, 'kick-job of a ready job') { jobs[2].kick }
  equal(tube.kick(10)[:id], '0', 'nothing left to kick')
  tube.put('late', delay: 3600)
  equal(tube.kick(10)[:id], '1', 'kick takes delayed jobs when none is buried')
end

Checks.scenario 'touch' do |name, connect|
  tube = tube_of(connect, name)
  id = tube.put('long work', ttr: 60)[:id]
  refused(Beaneater::JobNotReserved, 'touch a ready job') { tube.client.jobs.find(id).touch }
  job = take(tube)
  wait_until('the TTR runs') { job.stats.time_left <= 57 }
  touched = now
  equal(job.touch, { status: 'TOUCHED' }, 'touch')
  left = job.stats.time_left
  between(left, 59 - (now - touched).ceil, 60, 'time-left after touch')
end

Checks.scenario 'peek' do |name, connect|
  tube = tube_of(connect, name)
  %i[ready delayed buried].each do |state|
    equal(tube.peek(state), nil, "peek-#{state} of an empty tube")
  end
  tube.put('buried')
  take(tube).bury
  ready = tube.put('ready', pri: 2)[:id]
  tube.put('urgent', pri: 1)
  tube.put('late', delay: 7200)
  tube.put('sooner', delay: 3600)
  bodies = %i[ready delayed buried].map { |state| tube.peek(state).body }
  equal(bodies, %w[urgent sooner buried], 'peek-ready, peek-delayed, peek-buried')
  equal(tube.client.jobs.peek(ready).body, 'ready', 'peek')
  equal(tube.client.jobs.peek('999999999'), nil, 'peek an unknown id')
end

Checks.scenario 'a job whose TTR ends comes back' do |name, connect|
  slow = tube_of(connect, name)
  other = tube_of(connect, name)
  before = other.client.stats.job_timeouts
  slow.put('too slow', ttr: 1)
  job = take(slow)
  overdue(job)
  again = take(other)
  equal(again.id, job.id, 'goes to another')
  stats = again.stats
  equal([stats.state, stats.reserves, stats.timeouts, stats.releases], ['reserved', 2, 1, 0],
    'its counters')
  equal(other.client.stats.job_timeouts - before, 1, 'job-timeouts')
  refused(Beaneater::NotFoundError, 'touch by its former holder') { job.touch }
  refused(Beaneater::NotFoundError, 'release by its former holder') { job.release }
  refused(Beaneater::NotFoundError, 'bury by its former holder') { job.bury }
  refused(Beaneater::NotFoundError, 'delete by its former holder') { job.delete }
end

Checks.scenario 'DEADLINE_SOON' do |name, connect|
  tube = tube_of(connect, name)
  tube.put('nearly over', ttr: 2)
  job = take(tube)
  refused(Beaneater::DeadlineSoonError, 'to one who waits for more') { tube.client.tubes.reserve }
  overdue(job)
  equal(take(tube).id, job.id, 'then the job comes back')
end

Checks.scenario 'stats of a job' do |name, connect|
  tube = tube_of(connect, name)
  id = tube.put('counted', pri: 1023, ttr: 120)[:id]
  stats = tube.client.jobs.find(id).stats
  equal(stats.keys, KEYS['job'].map { |key| key.tr('-', '_') }, 'keys, in order')
  between(stats.age, 0, 60, 'age')
  expected = {
    'id' => id.to_i, 'tube' => name, 'state' => 'ready', 'pri' => 1023, 'age' => 0, 'delay' => 0,
    'ttr' => 120, 'time_left' => 0, 'file' => 0, 'reserves' => 0, 'timeouts' => 0, 'releases' => 0,
    'buries' => 0, 'kicks' => 0
  }
  equal(stats.to_h.merge('age' => 0), expected, 'all of a ready job')
  between(take(tube).stats.time_left, 60, 120, 'time-left of a reserved job')
  gone = Beaneater::Job.new(tube.client, id: '999999999')
  refused(Beaneater::NotFoundError, 'of an unknown id') { gone.stats }
end

Checks.scenario 'stats of a tube' do |name, connect|
  tube = tube_of(connect, name)
  ids = [0, 1023, 1024, 2000].map { |pri| tube.put('x', pri: pri)[:id] }
  tube.put('late', delay: 3600)
  take(tube)
  tube.client.jobs.find(ids[3]).delete
  equal(tube.stats.keys, KEYS['tube'].map { |key| key.tr('-', '_') }, 'keys, in order')
  expected = {
    'name' => name, 'current_jobs_urgent' => 1, 'current_jobs_ready' => 2,
    'current_jobs_reserved' => 1, 'current_jobs_delayed' => 1, 'current_jobs_buried' => 0,
    'total_jobs' => 5, 'current_using' => 1, 'current_watching' => 1, 'current_waiting' => 0,
    'cmd_delete' => 1, 'cmd_pause_tube' => 0, 'pause' => 0,
    'pause_time_left' => 0
  }
  equal(tube.stats.to_h, expected, 'all of a tube')
  refused(Beaneater::NotFoundError, 'of an unknown tube') { tube.client.tubes['nowhere'].stats }
end

# Returns a text value of `stats` as YAML parses it: a value in double quotes is unchanged, another one is interpreted
# (`#1 SMP ...` is a comment, so nothing).
def yaml_text(text)
  SERVER.quoted ? text : YAML.load("value: #{text}")['value']
end

Checks.scenario 'stats of the server' do |_name, connect|
  client = connect.call
  stats = client.stats
  equal(stats.keys.first(KEYS['server'].size), KEYS['server'].map { |key| key.tr('-', '_') },
    'keys, in order')
  machine = Etc.uname
  # beanstalkd 1.12 quotes only the version.
  equal(stats.version, SERVER.quoted ? '1.13' : '1.12', 'version')
  equal(stats.hostname, yaml_text(machine[:nodename]), 'hostname')
  equal(stats.os, yaml_text(machine[:version]), 'os')
  equal(stats.platform, yaml_text(machine[:machine]), 'platform')
  equal([stats.pid, stats.max_job_size, stats.draining], [SERVER.pid, JOB_BYTES_MAX, false],
    'others')
  equal([stats.rusage_utime.class, stats.rusage_stime.class], [Float, Float], 'times')
  texts = %w[version rusage_utime rusage_stime draining id hostname os platform haricot_version]
  wrong = (stats.keys - texts).reject { |key| stats[key].is_a?(Integer) }
  equal(wrong, [], 'counters that are not integers')
end

Checks.scenario 'counters of the server' do |name, connect|
  client = connect.call
  wait_until('the others are gone') { client.stats.current_connections == 1 }
  tube = tube_of(connect, name)
  # Each call of a method of client.stats sends a command.
  before = client.connection.transmit('stats')[:body]
  tube.put('x')
  job = take(tube)
  job.touch
  job.release(pri: 1, delay: 0)
  tube.peek(:ready)
  take(tube).bury(pri: 1)
  tube.kick(1)
  tube.client.tubes.all
  tube.client.jobs.find(job.id).delete
  after = client.connection.transmit('stats')[:body]
  counters = before.keys.grep(/^cmd-|^total-jobs$/)
  grown = counters.to_h { |key| [key, after[key] - before[key]] }.reject { |_, value| value.zero? }
  # beaneater always reads the job's priority and delay before it releases or buries.
  expected = {
    'cmd-put' => 1, 'cmd-peek' => 1, 'cmd-peek-ready' => 1, 'cmd-reserve-with-timeout' => 2,
    'cmd-delete' => 1, 'cmd-release' => 1, 'cmd-use' => 1, 'cmd-bury' => 1, 'cmd-kick' => 1,
    'cmd-touch' => 1, 'cmd-stats' => 1, 'cmd-stats-job' => 3, 'cmd-list-tubes' => 1,
    'total-jobs' => 1
  }
  equal(grown, expected, 'what the commands counted')
  found = %w[connections producers workers waiting].map { |key| after["current-#{key}"] }
  equal(found, [2, 1, 1, 0], 'connections, producers, workers, waiting')
end

Checks.scenario 'tubes: use, watch, ignore, list' do |name, connect|
  tubes = connect.call.tubes
  equal([tubes.used.name, tubes.watched.map(&:name)], ['default', ['default']], 'at first')
  tubes.use(name)
  equal(tubes.used.name, name, 'used')
  equal(tubes.transmit("watch #{name}"), { status: 'WATCHING', id: '2' }, 'watch')
  equal(tubes.transmit("watch #{name}")[:id], '2', 'watch twice counts once')
  tubes.watch("#{name}/b")
  tubes.ignore('default')
  equal(tubes.watched.map(&:name).sort, [name, "#{name}/b"], 'watched after that')
  tubes.ignore(name)
  refused(Beaneater::NotIgnoredError, 'ignore the last one') { tubes.ignore("#{name}/b") }
  equal(['default', name, "#{name}/b"] - tubes.all.map(&:name), [], 'list-tubes has them')
  id = tubes[name].put('not watched')[:id]
  refused(Beaneater::TimedOutError, 'a tube not watched') { tubes.reserve(0) }
  equal(tubes.client.jobs.find(id).tube, name, 'tube of the job')
end

Checks.scenario 'a tube whose name is a number' do |_name, connect|
  tube = tube_of(connect, '12345')
  equal(tube.stats.name, SERVER.quoted ? '12345' : 12_345, 'its name in stats')
  id = tube.put('x')[:id]
  equal(tube.client.jobs.find(id).tube, SERVER.quoted ? '12345' : 12_345, 'tube of its job')
  equal(tube.client.connection.transmit('list-tubes')[:body].include?(12_345), true,
    'in the list, never quoted')
end

# Ruby's YAML refuses to parse a date, unless it is in quotes.
Checks.scenario 'a tube whose name is a date' do |_name, connect|
  tube = tube_of(connect, 'default')
  tube.client.tubes.use('2024-02-29')
  dated = tube.client.tubes['2024-02-29']
  if SERVER.quoted
    equal(dated.stats.name.tr('_', '-'), '2024-02-29', 'its name in stats')
  else
    refused(Psych::DisallowedClass, 'its stats') { dated.stats }
  end
  other = connect.call
  refused(Psych::DisallowedClass, 'the list, never quoted') { other.tubes.all }
end

Checks.scenario 'pause' do |name, connect|
  tube = tube_of(connect, name)
  id = tube.put('held back')[:id]
  equal(tube.pause(3600), { status: 'PAUSED' }, 'pause')
  refused(Beaneater::TimedOutError, 'no job of a paused tube') { take(tube, 0) }
  stats = tube.stats
  equal([stats.pause, stats.cmd_pause_tube, stats.current_jobs_ready], [3600, 1, 1], 'its stats')
  between(stats.pause_time_left, 3500, 3600, 'pause-time-left')
  tube.pause(0)
  job = take(tube, 10)
  equal(job.id, id, 'a pause of 0 ends it')
  job.release
  back = takes_at_least(0.9, 'a pause of 1') do
    tube.pause(1)
    tube.client.tubes.reserve
  end
  equal(back.id, id, 'one who waits gets the job when the pause ends')
  refused(Beaneater::NotFoundError, 'an unknown tube') { tube.client.tubes['nowhere'].pause(1) }
end

Checks.scenario 'errors' do |name, connect|
  tube = tube_of(connect, name)
  tubes = tube.client.tubes
  refused(Beaneater::InvalidTubeName, 'use a name with a blank') { tubes.use('two words') }
  refused(Beaneater::InvalidTubeName, 'watch a name that starts with -') { tubes.watch('-x') }
  refused(Beaneater::InvalidTubeName, 'use a name of 201 bytes') { tubes.use('n' * 201) }
  unknown = { 'no command' => 'fetch', 'upper case' => 'STATS', 'no argument' => 'delete' }
  unknown.each do |what, line|
    error = refused(Beaneater::UnknownCommandError, what) { tubes.transmit(line.dup) }
    equal([error.status, error.cmd], ['UNKNOWN_COMMAND', line], "#{what}, in the exception")
  end
  refused(Beaneater::BadFormatError, 'a letter for an id') { tubes.transmit('delete x') }
  refused(Beaneater::BadFormatError, 'a negative id') { tubes.transmit('touch -1') }
  refused(Beaneater::BadFormatError, 'an argument too many') { tubes.transmit('stats now') }
  # Last on this connection, because the bytes after the announced one may be read as a line.
  refused(Beaneater::ExpectedCrlfError, 'too long a body') { tubes.transmit("put 0 0 60 1\r\nabc") }
end

Checks.scenario 'jobs leave by priority, then by age' do |name, connect|
  tube = tube_of(connect, name)
  priorities = { 'low' => 30, 'high' => 10, 'middle' => 20, 'high too' => 10,
                 'lowest' => PRIORITY_MAX, 'highest' => 0 }
  priorities.each { |body, pri| tube.put(body, pri: pri) }
  equal(Array.new(6) { take(tube).body },
    ['highest', 'high', 'high too', 'middle', 'low', 'lowest'], 'order')
end

Checks.scenario 'the worker who came first is served first' do |name, connect|
  producer, first, second = Array.new(3) { tube_of(connect, name) }
  to_first = Thread.new { first.client.tubes.reserve.body }
  wait_until('the first worker waits') { producer.stats.current_waiting == 1 }
  to_second = Thread.new { second.client.tubes.reserve(60).body }
  wait_until('the second worker waits') { producer.stats.current_waiting == 2 }
  producer.put('a')
  producer.put('b')
  equal([to_first.value, to_second.value], %w[a b], 'who got what')
end

Checks.scenario 'a closed connection gives its jobs back' do |name, connect|
  leaving = Beaneater.new("127.0.0.1:#{SERVER.port}")
  staying = tube_of(connect, name)
  id = staying.put('left behind', ttr: 3600)[:id]
  leaving.tubes.watch!(name)
  leaving.tubes.reserve(15)
  leaving.close
  job = take(staying)
  equal(job.id, id, 'the job')
  stats = job.stats
  equal([stats.reserves, stats.timeouts, stats.releases], [2, 0, 0], 'its counters')
end

Checks.scenario 'the worker loop of the library' do |name, connect|
  producer = connect.call
  tube = producer.tubes[name]
  tries = 0
  jobs = connect.call.jobs
  jobs.register(name, retry_on: [IOError], max_retries: 2) do |job|
    case job.body
    when 'fine' then nil
    when 'flaky'
      tries += 1
      raise IOError, 'on purpose' if tries < 3
    when 'wrong' then raise ArgumentError, 'on purpose'
    when 'stop' then raise Beaneater::AbortProcessingError
    end
  end
  fine, flaky, wrong = %w[fine flaky wrong].map { |body| tube.put(body, pri: 1)[:id] }
  tube.put('stop', pri: 2)
  jobs.process!(release_delay: 0)
  equal(tries, 3, 'a job that is released twice and then works')
  equal([fine, flaky].map { |id| producer.jobs.find(id) }, [nil, nil], 'what worked is deleted')
  equal(producer.jobs.find(wrong).stats.state, 'buried', 'what raised is buried')
end

Checks.scenario 'clear a tube' do |name, connect|
  tube = tube_of(connect, name)
  tube.put('buried')
  take(tube).bury
  3.times { tube.put('ready') }
  2.times { tube.put('late', delay: 3600) }
  tube.clear
  stats = tube.stats
  found = %w[current_jobs_ready current_jobs_delayed current_jobs_buried cmd_delete]
          .map { |key| stats[key] }
  equal(found, [0, 0, 0, 6], 'what is left, and deletes')
end

# Last, because the server stays in this mode.
Checks.scenario 'drain mode' do |name, connect|
  tube = tube_of(connect, name)
  Process.kill('USR1', SERVER.pid)
  wait_until('draining is true') { tube.client.stats.draining == true }
  refused(Beaneater::TimedOutError, 'other commands work') { take(tube, 0) }
  # The library tries three times, a second apart, and then closes the connection.
  refused(Beaneater::DrainingError, 'put') { tube.put('too late') }
end

Checks.run { Beaneater.new("127.0.0.1:#{SERVER.port}") }
