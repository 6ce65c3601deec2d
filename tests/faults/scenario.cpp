#include "scenario.hpp"

#include <algorithm>

namespace haricot::faults {
namespace {

enum Role { producer, worker, other, helper };

Step connect(int client) {
  return {.kind = Step::Kind::connect, .client = client};
}
Step say(int client, std::string line) {
  return {.client = client, .line = std::move(line)};
}
Step put(int client, const std::string& head, std::size_t bytes, char fill = 'x') {
  return {.client = client,
          .line = "put " + head + " " + std::to_string(bytes),
          .body = std::string(bytes, fill)};
}
Step in_pieces(Step step) {
  step.is_cut = true;
  return step;
}
Step pass_ms(std::int64_t milliseconds) {
  return {.kind = Step::Kind::pass, .time = Duration::milliseconds(milliseconds)};
}
Step half_close(int client) {
  return {.kind = Step::Kind::half_close, .client = client};
}
Step vanish(int client) {
  return {.kind = Step::Kind::vanish, .client = client};
}

using Steps = std::vector<Step>;

void add(Steps& steps, Steps more) {
  for (Step& step : more) steps.push_back(std::move(step));
}

// Bodies of 20 bytes arrive in pieces.
void add_put(Steps& steps, const std::string& numbers, const std::string& tags, std::size_t bytes) {
  Step tagged = put(producer, numbers, bytes);
  tagged.line += " " + tags;
  steps.push_back(bytes == 20 ? in_pieces(tagged) : tagged);
}

// Ids begin at 1 without a binlog and at 9 with that of the trial; both are used, and a missing job
// is one more case.
void each_job(Steps& steps, const std::string& before, const std::string& behind, int client) {
  for (const int id : {1, 2, 3, 4, 9, 10, 11, 12}) {
    steps.push_back(say(client, before + std::to_string(id) + behind));
  }
}

// Bodies of all sizes that are stored in different ways.
Steps puts() {
  return {connect(producer),
          connect(worker),
          connect(other),
          say(producer, "use a-tube-with-a-name-that-is-long"),
          say(worker, "watch a-tube-with-a-name-that-is-long"),
          say(worker, "ignore default"),
          say(worker, "ignore a-tube-with-a-name-that-is-long"),
          put(producer, "5 0 30", 10),
          put(producer, "4 0 30", 1024, 'y'),
          in_pieces(put(producer, "3 0 30", 1500, 'z')),
          put(producer, "2 0 30", 6000, 'b'),
          in_pieces(put(producer, "1 2 30", 600, 'd')),
          put(producer, "0 0 0", 0),
          put(producer, "1 1000 30", 30, 'd'),
          put(producer, "0 0 1", 30'000),
          say(producer, "nonsense"),
          say(producer, "reserve x"),
          in_pieces(say(producer, std::string(300, 'n'))),
          in_pieces(say(producer, "list-tube-used"))};
}

Steps lives() {
  Steps steps = {say(worker, "reserve-with-timeout 0"), say(worker, "reserve-with-timeout 0"),
                 say(worker, "reserve"), say(worker, "reserve")};
  each_job(steps, "touch ", "", worker);
  each_job(steps, "stats-job ", "", other);
  each_job(steps, "peek ", "", other);
  add(steps, {say(worker, "release 1 7 0"), say(worker, "release 9 7 0"),
              say(worker, "release 2 7 1"), say(worker, "release 10 7 1"), say(worker, "bury 3 8"),
              say(worker, "bury 11 8"), say(worker, "bury 12 8"), say(producer, "peek-ready"),
              say(producer, "peek-delayed"), say(producer, "peek-buried")});
  each_job(steps, "kick-job ", "", other);
  each_job(steps, "reserve-job ", "", other);
  add(steps, {say(other, "bury 1 1"), say(other, "bury 10 1"), say(other, "release 3 1 3"),
              say(other, "release 9 1 3"), say(producer, "kick 1"), say(producer, "kick 10"),
              say(producer, "kick 10")});
  return steps;
}

Steps waits() {
  return {say(worker, "watch second"),
          say(worker, "watch third"),
          say(other, "use second"),
          say(worker, "reserve-with-timeout 0"),
          say(worker, "reserve-with-timeout 0"),
          say(worker, "reserve-with-timeout 0"),
          say(worker, "reserve-with-timeout 0"),
          say(worker, "reserve-with-timeout 5"),
          put(other, "1 0 3", 50, 'w'),
          say(worker, "reserve-with-timeout 5"),
          put(other, "1 1 2", 5000, 'w'),
          pass_ms(1200),
          say(worker, "reserve-with-timeout 10"),
          pass_ms(2500),
          say(worker, "reserve-with-timeout 1"),
          pass_ms(1100),
          pass_ms(30'000),
          say(other, "pause-tube second 2"),
          say(other, "stats-tube second"),
          put(other, "1 0 30", 20, 'p'),
          say(worker, "ignore a-tube-with-a-name-that-is-long"),
          say(worker, "reserve-with-timeout 9"),
          pass_ms(2500),
          say(other, "pause-tube second 5"),
          say(other, "pause-tube second 0"),
          say(other, "pause-tube nothing 5")};
}

Steps reports() {
  return {say(other, "stats"),
          say(other, "list-tubes"),
          say(worker, "list-tubes-watched"),
          say(other, "stats-tube default"),
          say(other, "stats-tube nothing"),
          say(other, "stats-job 999"),
          say(other, "list-tube-used")};
}

// Commands of the extended set. The first ids depend on the trial, as above.
Steps extended() {
  const std::string line_of_ids = [] {
    std::string line = "delete-batch";
    for (int id = 400; id < 800; ++id) line += " " + std::to_string(id);
    return line;
  }();
  Steps steps = {say(other, "capabilities"),
                 say(producer, "use batch"),
                 say(worker, "watch batch 3"),
                 say(worker, "reserve-mode weighted"),
                 put(producer, "1 0 60", 10),
                 put(producer, "1 0 60", 2000),
                 put(producer, "2 0 60", 6000),
                 put(producer, "3 9 60", 40),
                 put(producer, "3 0 60", 5000),
                 put(producer, "4 0 60", 0),
                 say(other, "scan-jobs 0 1000"),
                 say(other, "scan-jobs 3 4"),
                 say(other, "scan-jobs 2 9 batch ready"),
                 say(other, "scan-jobs 0 9 nothing"),
                 say(other, "list-jobs batch ready 3"),
                 say(other, "list-jobs batch delayed 9"),
                 say(other, "list-jobs nothing ready 1"),
                 say(other, "stats-tube-detail batch"),
                 say(other, "stats-tube-detail nothing"),
                 say(other, "stats-tubes * 1000"),
                 say(other, "stats-tubes batch 1"),
                 say(other, "list-clients 0 1000"),
                 say(other, "reserve-batch 0"),
                 say(worker, "reserve-batch 4")};
  for (const int id : {11, 12, 19, 20})
    steps.push_back(say(worker, "bury " + std::to_string(id) + " 1"));
  add(steps, {say(other, "list-jobs batch buried 9"),
              say(other, "stats-tube-detail batch"),
              say(worker, "reserve-batch 1000 0"),
              say(other, "list-jobs batch reserved 9"),
              say(other, "delete-batch 12 13 15 20 21 12 999"),
              say(other, "wait-job 13 1"),
              pass_ms(1100),
              say(other, "wait-job 13 2"),
              say(worker, "delete-batch 13 16 21 24 13 999"),
              pass_ms(2100),
              in_pieces(say(worker, line_of_ids)),
              say(worker, "reserve-batch 5"),
              say(worker, "reserve-batch 5 0"),
              say(worker, "reserve-batch 5 3"),
              put(producer, "7 0 60", 30),
              say(worker, "reserve-batch 5 1"),
              pass_ms(1100),
              say(worker, "reserve-with-abort"),
              put(producer, "7 0 60", 5000),
              put(producer, "8 0 60", 100),
              put(producer, "8 0 60", 1500),
              put(producer, "8 5 60", 10),
              say(other, "flush-tube batch buried"),
              say(other, "flush-buried batch"),
              say(worker, "touch-all"),
              say(worker, "wait-job 999 1"),
              {.client = worker, .line = "note 999 3", .body = "abc"},
              say(worker, "peek-note 999"),
              say(other, "flush-tube nothing"),
              say(other, "flush-tube batch"),
              say(other, "flush-tube batch ready"),
              say(other, "scan-jobs 0 1000 batch"),
              say(other, "drain"),
              put(producer, "1 0 60", 10),
              say(other, "undrain"),
              put(producer, "1 0 60", 10),
              say(other, "flush-tube batch delayed"),

              vanish(worker),
              connect(worker),
              say(worker, "watch empty 2"),
              say(worker, "reserve-mode fifo"),
              say(worker, "ignore default"),
              say(worker, "reserve-batch 5 1"),
              pass_ms(1100),
              say(worker, "watch default"),
              say(worker, "ignore empty")});
  return steps;
}

// Jobs with a limit of tries, which ends in every way.
Steps tries() {
  Steps steps = {say(producer, "use tries"), say(worker, "watch tries"), connect(helper),
                 say(helper, "watch tries")};
  for (const int n : {1, 2, 3}) {
    Step tagged = put(producer, "1 0 1", n == 3 ? 2000 : 10);
    tagged.line += " try:" + std::to_string(n);
    steps.push_back(n == 2 ? in_pieces(tagged) : tagged);
  }
  add(steps, {say(helper, "reserve-batch 3"), pass_ms(1100), say(other, "kick 1"),
              say(worker, "reserve-batch 3"), vanish(helper), vanish(worker), connect(worker),
              say(worker, "watch tries"), say(producer, "kick 9"), say(worker, "reserve-batch 9"),
              pass_ms(1100), say(other, "stats-tube-detail tries"), say(producer, "kick 9"),
              say(other, "scan-jobs 0 1000 tries"), say(other, "flush-tube tries")});
  return steps;
}

// Jobs with a backoff, whose tries end in each way.
Steps backoffs() {
  Steps steps = {say(producer, "use backoffs"), say(worker, "watch backoffs"), connect(helper),
                 say(helper, "watch backoffs")};
  add_put(steps, "1 0 1", "back:2", 10);
  add_put(steps, "2 0 60", "try:9 back:1:3", 2000);
  add(steps, {say(helper, "reserve-batch 2"), pass_ms(1100), vanish(helper), pass_ms(2100),
              say(worker, "reserve-batch 2"), pass_ms(1100), say(producer, "kick 9"),
              vanish(worker), connect(worker), say(worker, "watch backoffs"),
              say(other, "scan-jobs 0 1000 backoffs"), say(other, "flush-tube backoffs")});
  return steps;
}

// More jobs than fit into one leaf of the index and one page of a heap, and the jobs that a client
// leaves.
Steps crowds() {
  Steps steps = {say(producer, "use crowd"), say(worker, "watch crowd")};
  for (int i = 0; i < 70; ++i) {
    steps.push_back(
        put(producer, i % 3 == 0 ? "9 4000 60" : "9 0 60", i % 10 == 0 ? 2000 : 40, 'c'));
  }
  for (int i = 0; i < 12; ++i) steps.push_back(say(worker, "reserve-with-timeout 0"));
  add(steps, {vanish(worker), connect(worker), say(worker, "watch crowd"), say(producer, "kick 30"),
              say(worker, "reserve-with-timeout 0"), say(worker, "reserve-with-timeout 0"),
              pass_ms(61'000), say(other, "watch fourth"), say(other, "ignore default"),
              say(other, "reserve"), half_close(other), connect(other), say(worker, "quit"),
              connect(worker)});
  return steps;
}

// The rest of the crowd, with jobs in all places of the tube.
Steps flushes() {
  return {say(worker, "watch crowd"), say(worker, "reserve-batch 10"),
          say(other, "flush-tube crowd"), say(other, "list-jobs crowd delayed 1000")};
}

// Jobs of two lanes: blocked ones, and clients that wait for them.
Steps lanes() {
  Steps steps = {say(producer, "use lanes"), say(worker, "watch lanes")};
  for (int i = 0; i < 6; ++i) {
    Step tagged = put(producer, i == 4 ? "0 1 1" : "1 0 1", i == 5 ? 2000 : 10);
    tagged.line += i % 3 == 2 ? " con:a-key-that-is-not-kept-in-place" : " con:a:2";
    steps.push_back(i == 1 ? in_pieces(tagged) : tagged);
  }
  add(steps, {say(other, "list-jobs lanes ready 9"), say(worker, "reserve-batch 9"),
              say(worker, "reserve"), pass_ms(1100), say(other, "peek-ready"),
              say(other, "list-jobs lanes ready 9"), vanish(worker), connect(worker),
              say(worker, "watch lanes"), say(worker, "reserve-batch 2"),
              say(other, "flush-tube lanes ready"), say(worker, "reserve-with-timeout 0"),
              vanish(worker), connect(worker), say(worker, "watch lanes"),
              say(other, "scan-jobs 0 1000 lanes"), say(other, "flush-tube lanes")});
  return steps;
}

// Puts with a few keys: of jobs in all states, and of flushed jobs.
Steps keys() {
  Steps steps = {say(producer, "use keys"), say(worker, "watch keys")};
  add_put(steps, "9 0 60", "idp:one", 10);
  add_put(steps, "9 0 60", "idp:one", 20);
  add_put(steps, "5 0 60", "idp:one", 2000);
  add_put(steps, "9 60 60", "con:lane idp:two", 20);
  add_put(steps, "4 0 60", "idp:two", 10);
  add(steps, {say(worker, "reserve-with-timeout 0")});
  add_put(steps, "1 0 60", "idp:one", 10);
  add(steps,
      {vanish(worker), connect(worker), say(worker, "watch keys"), say(other, "flush-tube keys")});
  add_put(steps, "9 0 60", "con:a-lane-with-a-long-name idp:one", 10);
  add_put(steps, "9 0 60", "idp:two", 2000);
  add(steps, {say(other, "scan-jobs 0 1000 keys"), say(other, "flush-tube keys")});
  return steps;
}

// Keys that outlive their jobs. The ids of the jobs begin near this number, or eight later.
Steps kept_keys(int about) {
  Steps steps = {say(producer, "use kept"), say(worker, "watch kept")};
  const auto put_key = [&](const std::string& tags, std::size_t bytes) {
    add_put(steps, "9 0 60", tags, bytes);
  };
  put_key("idp:one:30", 10);
  for (const int n : {-1, 0, 1, 7, 8, 9}) {
    steps.push_back(say(other, "delete " + std::to_string(about + n)));
  }
  put_key("con:lane idp:two:3600", 2000);
  put_key("try:2 idp:" + std::string(90, 'k') + ":4294967295", 20);
  put_key("idp:plain", 10);
  put_key("idp:one", 10);
  put_key("idp:one:5", 2000);
  std::string batch = "delete-batch";
  for (int n = -1; n < 14; ++n) batch += " " + std::to_string(about + n);
  steps.push_back(say(other, batch));
  put_key("idp:two:1", 20);
  put_key("idp:plain:3600", 10);
  add(steps, {say(other, "stats-tube kept"), pass_ms(31'000)});
  put_key("idp:one:30", 20);
  add(steps, {say(worker, "reserve-with-timeout 0"), vanish(worker), connect(worker),
              say(other, "flush-tube kept")});
  put_key("idp:one:1", 10);
  put_key("idp:two", 10);
  return steps;
}

// Jobs that wait for the end of groups, by a flush or a delete, and kicks and reserves of them
// before that.
Steps groups() {
  Steps steps = {say(producer, "use stages"), say(worker, "watch stages")};
  add_put(steps, "9 0 60", "grp:a-group-that-is-not-kept-in-place", 10);
  add_put(steps, "9 0 60", "try:3:quiet grp:a-group-that-is-not-kept-in-place", 2000);
  add_put(steps, "9 0 60", "grp:two aft:a-group-that-is-not-kept-in-place", 10);
  add_put(steps, "8 60 60", "con:lane idp:held aft:a-group-that-is-not-kept-in-place", 20);
  add_put(steps, "7 0 60", "idp:held", 10);
  add_put(steps, "9 0 60", "aft:two", 2000);
  add_put(steps, "9 60 60", "aft:two", 10);
  add_put(steps, "9 0 60", "aft:two:any", 10);
  add(steps,
      {say(other, "stats-group two"), say(other, "list-jobs stages delayed 9"),
       say(other, "flush-tube stages ready"), pass_ms(100), say(worker, "reserve-with-timeout 0"),
       say(other, "stats-group two"), vanish(worker), connect(worker), say(worker, "watch stages"),
       say(other, "flush-tube stages ready"), pass_ms(100), say(worker, "reserve-with-timeout 0"),
       vanish(worker), connect(worker)});
  add_put(steps, "9 0 60", "grp:three", 10);
  add_put(steps, "9 5 60", "aft:three", 10);
  add_put(steps, "9 0 60", "aft:three", 10);
  add_put(steps, "9 0 60", "aft:three", 10);
  add(steps, {say(producer, "kick 1"), say(other, "flush-tube stages delayed"),
              say(other, "flush-tube stages")});
  return steps;
}

Steps ends() {
  Steps steps;
  for (int id = 20; id < 60; ++id) {
    steps.push_back(say(other, "delete " + std::to_string(id)));
  }
  each_job(steps, "delete ", "", other);
  steps.push_back(pass_ms(3000));
  return steps;
}

}  // namespace

std::vector<Step> every_command() {
  Steps steps = puts();
  add(steps, lives());
  add(steps, waits());
  add(steps, reports());
  add(steps, extended());
  add(steps, crowds());
  add(steps, ends());
  add(steps, lanes());
  add(steps, keys());
  const auto puts_so_far = std::count_if(
      steps.begin(), steps.end(), [](const Step& step) { return step.line.starts_with("put "); });
  add(steps, kept_keys(static_cast<int>(puts_so_far)));
  add(steps, tries());
  add(steps, backoffs());
  add(steps, groups());
  add(steps, flushes());
  return steps;
}

}  // namespace haricot::faults
