# Scenarios and expectations for the programs of the Ruby client.
#
# Each scenario has its own tube and connections, so a failure does not affect the others. Checks.run prints the name of
# each scenario before it starts (if a program hangs, the last line names the scenario), failures, and at the end the
# number of expectations that passed.

require 'etc'
require 'json'

module Checks
  class Failed < StandardError; end

  KEYS = JSON.parse(File.read(File.join(__dir__, '..', 'stats-keys.json')))
  JOB_BYTES_MAX = 65_535
  PATIENCE_SECONDS = 20
  POLL_SECONDS = 0.01

  # The arguments: port, style of the YAML answers (plain or quoted), and the server's pid.
  Server = Struct.new(:port, :quoted, :pid) do
    def self.from_command_line
      port, style, pid = ARGV
      known = pid && %w[plain quoted].include?(style)
      abort "usage: #{$PROGRAM_NAME} <port> plain|quoted <pid>" unless known

      new(Integer(port), style == 'quoted', Integer(pid))
    end
  end

  SERVER = Server.from_command_line

  EVERY_BYTE = (0..255).to_a.pack('C*').freeze

  BODIES = {
    'every byte' => EVERY_BYTE,
    'every byte backwards' => EVERY_BYTE.reverse,
    'CR LF inside, and what looks like an answer' => "a\r\nRESERVED 1 3\r\nabc\r\n".b,
    'only CR LF' => "\r\n".b,
    '60 KB' => (0...60 * 1024).map { |index| (index * 31 + (index >> 8)) & 255 }.pack('C*'),
    'as large as allowed' => 'x'.b * JOB_BYTES_MAX,
    'nothing' => ''.b
  }.freeze

  @scenarios = []
  @held = 0

  class << self
    def scenario(name, &body)
      @scenarios << [name, body]
    end

    # Runs the scenarios. The block opens a connection, which is closed after its scenario.
    def run(&open)
      passed = @scenarios.each_with_index.count do |(name, body), number|
        run_scenario(name, body, number, open)
      end
      failed = @scenarios.size - passed
      puts failed.zero? ? "#{@held} checks" : "#{failed} of #{@scenarios.size} scenarios failed"
      exit(failed.zero? ? 0 : 1)
    end

    def held!
      @held += 1
    end

    private

    def run_scenario(name, body, number, open)
      puts name
      $stdout.flush
      clients = []
      connect = -> { open.call.tap { |client| clients << client } }
      Expectations.new.instance_exec("scenario.#{number}", connect, &body)
      true
    rescue Failed => error
      place = error.backtrace.find { |line| line.start_with?($PROGRAM_NAME) }
      puts "  FAILED #{error.message} (#{place})"
      false
    rescue StandardError => error
      puts "  FAILED #{error.class}: #{error.message}"
      puts error.backtrace.first(8).map { |line| "    #{line}" }
      false
    ensure
      clients&.each(&:close)
    end
  end

  # The expectations of scenarios.
  class Expectations
    def equal(actual, expected, what)
      # Compares the classes, too, because 1 == 1.0.
      same = actual == expected && actual.class == expected.class
      raise Failed, "#{what}: expected #{show(expected)}, got #{show(actual)}" unless same

      Checks.held!
    end

    def between(actual, low, high, what)
      fine = actual.is_a?(Integer) && actual >= low && actual <= high
      expected = "an integer from #{low} to #{high}"
      raise Failed, "#{what}: expected #{expected}, got #{show(actual)}" unless fine

      Checks.held!
    end

    def same_bytes(actual, expected, what)
      equal(actual.bytesize, expected.bytesize, "#{what}, length")
      wrong = actual.bytes.zip(expected.bytes).index { |left, right| left != right }
      equal(wrong, nil, "#{what}, place of the first wrong byte")
    end

    # Expects that the block raises exactly this class.
    def refused(error_class, what)
      yield
    rescue StandardError => error
      equal(error.class.name, error_class.name, what)
      error
    else
      raise Failed, "#{what}: expected #{error_class}, but nothing was raised"
    end

    # Polls until the block is true, for effects of other connections or of time.
    def wait_until(what)
      deadline = now + PATIENCE_SECONDS
      until yield
        raise Failed, "#{what}: not within #{PATIENCE_SECONDS} s" if now > deadline

        sleep POLL_SECONDS
      end
      Checks.held!
    end

    # Expects that the block takes at least this time. There is no upper limit, because the machine may be busy.
    def takes_at_least(seconds, what)
      start = now
      value = yield
      taken = now - start
      raise Failed, "#{what}: came after #{taken} s, not before #{seconds}" if taken < seconds

      Checks.held!
      value
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    private

    def show(value)
      text = value.inspect
      text.length > 400 ? "#{text[0, 400]}..." : text
    end
  end
end
