"""The loads of the benchmark, and the targets that compare them."""

import dataclasses

HARICOT, FLOOR, BEANSTALKD = "haricotd", "floor", "beanstalkd"
STORING = "storing floor"  # The floor that stores bodies.
SERVERS = (HARICOT, FLOOR, STORING, BEANSTALKD)
ALL = (HARICOT, FLOOR, BEANSTALKD)
STORED_BYTES_MIN = 1024

CPU, RATE = "cpu", "rate"
CYCLE = ("--workload", "cycle")


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A load of haricot bench. `share` is its part of the usual duration."""
    key: str
    text: str
    flags: tuple
    servers: tuple
    share: float = 1.0
    server_flags: tuple = ()


ONE_BY_ONE = (*CYCLE, "--connections=16")

# Other things that the server has to manage while the load is ONE_BY_ONE.
SURROUNDINGS = (
    ("tubes", "100,000 other tubes", "--idle-tubes=100k"),
    ("waiting", "5,000 workers waiting on other tubes", "--waiting=5k"),
    ("together", "5,000 workers waiting on one other tube", "--waiting-together=5k"),
    ("idle", "10,000 idle connections", "--idle-connections=10k"),
    ("ready", "1 million ready jobs", "--ready=1M"),
    ("delayed", "1 million delayed jobs", "--delayed=1M"),
    ("watched", "100 more tubes watched by each", "--watch=100"),
)

SCENARIOS = (
    Scenario("one", "cycle, 16 connections, one command at a time", ONE_BY_ONE, ALL),
    *(Scenario(key, text, (*ONE_BY_ONE, flag), (HARICOT,)) for key, text, flag in SURROUNDINGS),
    Scenario("batch", "cycle, 8 connections, batches of 64",
             (*CYCLE, "--connections=8", "--depth=64"), ALL),
    # Shorter, because the jobs stay in memory.
    Scenario("put", "puts, 4 connections, batches of 500",
             ("--workload", "put", "--connections=4", "--depth=500"), ALL, share=0.5),
    Scenario("shared", "cycle, 500 connections on one tube",
             (*CYCLE, "--connections=500"), (HARICOT,)),
    Scenario("own", "cycle, 500 connections on 500 tubes",
             (*CYCLE, "--connections=500", "--tubes=500"), (HARICOT,)),
    Scenario("16k", "cycle, 16 connections, bodies of 16 KB",
             (*ONE_BY_ONE, "--body-size=16384"), ALL),
    Scenario("60k", "cycle, 16 connections, bodies of 60 KB",
             (*ONE_BY_ONE, "--body-size=61440"), SERVERS),
    Scenario("60k-batch", "cycle, 4 connections, batches of 16 bodies of 60 KB",
             (*CYCLE, "--connections=4", "--depth=16", "--body-size=61440"), SERVERS),
    Scenario("1m", "cycle, 4 connections, bodies of 1 MB",
             (*CYCLE, "--connections=4", "--body-size=1000000", "--warm-up=100"), SERVERS, 0.7,
             ("-z", "1000000")),
)

BINLOG_SCENARIOS = tuple(
    Scenario(f"log-{shape}-{sync}", f"{text}, -f {sync}", flags, (HARICOT, BEANSTALKD), share=0.5)
    for sync in (0, 50)
    for shape, text, flags in (
        ("one", "cycle, 16 connections, one command at a time", (*ONE_BY_ONE, "--warm-up=1k")),
        ("batch", "cycle, 8 connections, batches of 64",
         (*CYCLE, "--connections=8", "--depth=64", "--warm-up=1k")),
    ))


@dataclasses.dataclass(frozen=True)
class Target:
    """A limit for the ratio of a metric in two cells: the ratio must be at most (or at least) `limit`."""
    text: str
    metric: str
    of: tuple     # (scenario, server)
    to: tuple
    limit: float  # None: the ratio is shown without a target.
    at_least: bool = False
    beside: str = ""  # Name of the cell `to`, if it is not the name of its server.

    def is_met(self, ratio):
        return ratio >= self.limit if self.at_least else ratio <= self.limit


def versus(scenario, text, metric, server, limit, at_least=False):
    return Target(text, metric, (scenario, HARICOT), (scenario, server), limit, at_least)


ONE_TEXT = "16 connections, one command at a time"
TARGETS = (
    versus("one", ONE_TEXT, CPU, FLOOR, 1.05),
    versus("one", ONE_TEXT, CPU, BEANSTALKD, 0.68),
    versus("batch", "8 connections, batches of 64", RATE, BEANSTALKD, 25, True),
    versus("batch", "8 connections, batches of 64", CPU, FLOOR, 2.2),
    versus("put", "puts in batches of 500", RATE, BEANSTALKD, 20, True),
    *(Target(f"with {text}", CPU, (key, HARICOT), ("one", HARICOT), 1.3 if key == "watched" else 1.1,
             beside="without")
      for key, text, _ in SURROUNDINGS),
    Target("500 connections on 500 tubes", CPU, ("own", HARICOT), ("shared", HARICOT), 1.15,
           beside="500 on one tube"),
    versus("16k", "bodies of 16 KB", CPU, FLOOR, 1.15),
    versus("60k", "bodies of 60 KB", CPU, FLOOR, 1.15),
    *(versus(key, text, CPU, server, limit)
      for key, text in (("60k-batch", "batches of 16 bodies of 60 KB"), ("1m", "bodies of 1 MB"))
      for server, limit in ((STORING, 1.15), (FLOOR, None))),
)

BINLOG_RATES = {"log-one-0": 2, "log-batch-0": 30}
BINLOG_TARGETS = (
    *(versus(scenario.key, scenario.text, RATE, BEANSTALKD, BINLOG_RATES.get(scenario.key), True)
      for scenario in BINLOG_SCENARIOS),
    *(versus(scenario.key, scenario.text, CPU, BEANSTALKD, 0.75) for scenario in BINLOG_SCENARIOS
      if scenario.key.endswith("-50")),
    Target("cycle, 8 connections, batches of 64, -f 0", RATE, ("log-batch-0", HARICOT),
           ("log-batch-50", HARICOT), 0.7, True, "with -f 50"))
