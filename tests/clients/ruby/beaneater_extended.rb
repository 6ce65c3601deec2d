# Extended commands by beaneater's own connection: `transmit` sends any line, reads a text after OK, and raises an error
# named after the answer. This file reads only the jobs of a batch itself.
#
# SERVER_EXTENDED is set if the server has these commands.

require 'beaneater'
require_relative 'checks'

include Checks

WORDS = %w[
  flush-tube scan-jobs list-jobs stats-tube-detail stats-tubes reserve-batch delete-batch watch reserve-mode
  try con idp
].freeze

# The methods that a library would add to its connection.
class Beaneater::Connection
  # Returns the words of the server's `capabilities`, as docs/clients.md explains.
  def abilities
    @abilities ||= transmit('capabilities')[:body] || []
  rescue Beaneater::UnknownCommandError
    @abilities = []
  end

  # Returns jobs as [id, body], or an empty list.
  def reserve_batch(count, timeout = nil)
    answer = transmit(['reserve-batch', count, timeout].compact.join(' '))
    Array.new(Integer(answer[:id])) do
      # Each job has the form of an answer to a reserve.
      job = parse_response('reserve-batch', connection.readline)
      [Integer(job[:id]), job[:body]]
    end
  end
end

class Checks::Expectations
  # Expects that the answer has these keys in this order.
  def keys(map, expected, what)
    equal(map.keys, expected, what)
  end
end

TIMES = %w[queue-time work-time].product(%w[p50 p99 max]).map { |pair| pair.join('-') }
DETAIL_KEYS = (%w[age-oldest-ready age-oldest-buried] + TIMES + %w[buried-by-tries current-jobs-blocked]).freeze
JOB_KEYS = %w[id tube state pri age delay ttr time-left bytes reserves timeouts releases buries kicks].freeze

def put(link, body, priority = 0, tags = '')
  Integer(link.transmit("put #{priority} 0 60 #{body.bytesize}#{tags}\r\n#{body}")[:id])
end

# Opens a connection that uses and watches only this tube.
def link_to(connect, tube)
  link = connect.call.connection
  ["use #{tube}", "watch #{tube}", 'ignore default'].each { |line| link.transmit(line) }
  link
end

if ENV.fetch('SERVER_EXTENDED') == 'yes'
  Checks.scenario 'capabilities lists what the server has' do |_, connect|
    link = connect.call.connection
    WORDS.each { |word| equal(link.abilities.include?(word), true, word) }
  end

  Checks.scenario 'jobs are listed and scanned' do |name, connect|
    link = link_to(connect, name)
    late, first = put(link, 'later', 5), put(link, "a\r\n: b", 1)
    listed = link.transmit("list-jobs #{name} ready 10")[:body]['jobs']
    equal(listed.map { |job| job['id'] }, [first, late], 'the order of service')
    keys(listed[0], JOB_KEYS, 'keys of a job')
    equal(listed[0].values_at('tube', 'state', 'pri', 'bytes'), [name, 'ready', 1, 6], 'a job')
    page = link.transmit("scan-jobs 0 1 #{name}")[:body]
    equal([page['jobs'].map { |job| job['id'] }, page['next']], [[late], first], 'a page')
    page = link.transmit("scan-jobs #{page['next']} 1 #{name} ready")[:body]
    equal(page['jobs'].map { |job| job['id'] }, [first], 'the next page')
    equal(link.transmit("list-jobs #{name} buried 10")[:body], { 'jobs' => [] }, 'no job')
    refused(Beaneater::NotFoundError, 'no tube') { link.transmit('list-jobs nowhere ready 1') }
    refused(Beaneater::BadFormatError, 'no state') { link.transmit("list-jobs #{name} sleepy 1") }
  end

  Checks.scenario 'a tube is flushed' do |name, connect|
    link = link_to(connect, name)
    3.times { put(link, 'x') }
    equal(link.transmit("flush-tube #{name} buried"), { status: 'FLUSHED', id: '0' }, 'no buried job')
    equal(link.transmit("flush-tube #{name}"), { status: 'FLUSHED', id: '3' }, 'all of them')
    equal(link.transmit('flush-tube nowhere'), { status: 'FLUSHED', id: '0' }, 'no tube')
  end

  Checks.scenario 'batches are reserved and deleted' do |name, connect|
    link = link_to(connect, name)
    equal(link.reserve_batch(5), [], 'no job')
    equal(link.reserve_batch(5, 0), [], 'no job in time')
    bodies = ['', "RESERVED 1 3\r\nabc", EVERY_BYTE]
    ids = bodies.map { |body| put(link, body) }
    taken = link.reserve_batch(1000)
    equal(taken.map(&:first), ids, 'the jobs')
    equal(taken.map { |job| job.last.b }, bodies.map(&:b), 'their bodies')
    answer = link.transmit("delete-batch #{(ids + [ids[0]]).join(' ')}")
    equal(answer, { status: 'DELETED_BATCH', id: '3' }, 'deleted')
    refused(Beaneater::BadFormatError, 'no id') { link.transmit('delete-batch x') }
  end

  Checks.scenario 'a put is unique as long as its job lives' do |name, connect|
    link = link_to(connect, name)
    id = put(link, 'once', 5, ' idp:order.7')
    equal(put(link, 'twice', 5, ' idp:order.7'), id, 'the job that is there')
    equal(put(link, 'more urgent', 1, ' idp:order.7'), id, 'the same job')
    jobs = link.transmit("list-jobs #{name} ready 10")[:body]['jobs']
    equal(jobs.map { |job| job.values_at('id', 'pri', 'idp') }, [[id, 1, 'order.7']], 'one job')
    job = link.transmit('reserve')
    equal([Integer(job[:id]), job[:body]], [id, 'once'], 'the first body')
    link.transmit("delete #{id}")
    equal(put(link, 'again', 5, ' idp:order.7') > id, true, 'a new job')
    kept = put(link, 'x', 5, ' idp:order-8:60')
    link.transmit("delete #{kept}")
    equal(put(link, 'x', 5, ' idp:order-8'), kept, 'the job whose key is there still')
  end

  Checks.scenario 'reserves are shared out by weights' do |name, connect|
    link = connect.call.connection
    tubes = { "#{name}.a" => 4, "#{name}.b" => 2, "#{name}.c" => 1 }
    tubes.each do |tube, weight|
      link.transmit("use #{tube}")
      7.times { put(link, tube) }
      link.transmit("watch #{tube} #{weight}")
    end
    equal(link.transmit('reserve-mode weighted'), { status: 'USING', id: 'weighted' }, 'the mode')
    taken = Array.new(7) { link.transmit('reserve')[:body] }
    equal(taken.tally, tubes, 'seven jobs')
    equal(link.transmit('reserve-mode fifo')[:id], 'fifo', 'back')
    refused(Beaneater::BadFormatError, 'a weight of 0') { link.transmit("watch #{name} 0") }
  end

  Checks.scenario 'tubes tell how long their jobs wait' do |name, connect|
    link = link_to(connect, name)
    put(link, 'x')
    keys(link.transmit("stats-tube-detail #{name}")[:body], DETAIL_KEYS, 'keys of the detail')
    refused(Beaneater::NotFoundError, 'no tube') { link.transmit('stats-tube-detail nowhere') }
    found = {}
    from = '*'
    loop do
      page = link.transmit("stats-tubes #{from} 1")[:body]
      page['tubes'].each { |tube| found[tube['name']] = tube }
      from = page['next']
      break if from == '*'
    end
    equal(found.keys.sort, link.transmit('list-tubes')[:body].sort, 'every tube, once')
    keys(found[name], KEYS['tube'] + DETAIL_KEYS, 'keys of a tube')
    equal(found[name]['current-jobs-ready'], 1, 'its ready jobs')
  end
else
  # The answers of beanstalkd: it knows the first word of some of these commands with other arguments.
  ANSWERS = {
    'flush-tube default' => Beaneater::UnknownCommandError,
    'scan-jobs 0 10' => Beaneater::UnknownCommandError,
    'list-jobs default ready 10' => Beaneater::UnknownCommandError,
    'delete-batch 1 2' => Beaneater::UnknownCommandError,
    'stats-tube-detail default' => Beaneater::BadFormatError,
    'stats-tubes * 10' => Beaneater::BadFormatError,
    'reserve-batch 3' => Beaneater::BadFormatError,
    'reserve-batch 3 0' => Beaneater::BadFormatError,
    'reserve-mode weighted' => Beaneater::BadFormatError,
    'watch other 4' => Beaneater::BadFormatError
  }.freeze

  Checks.scenario 'capabilities is unknown, and the connection stays usable' do |name, connect|
    link = link_to(connect, name)
    refused(Beaneater::UnknownCommandError, 'capabilities') { link.transmit('capabilities') }
    equal(link.abilities, [], 'so there are none')
    put(link, 'still here')
    equal(link.transmit('reserve')[:body], 'still here', 'a job')
  end

  Checks.scenario 'each of them is refused, and the connection stays usable' do |name, connect|
    link = link_to(connect, name)
    ANSWERS.each do |line, error|
      refused(error, line) { link.transmit(line.dup) }
      equal(link.transmit('list-tubes-watched')[:body], [name], "after #{line}")
    end
  end
end

Checks.run { Beaneater.new("127.0.0.1:#{SERVER.port}") }
