#include "session_seeds.hpp"

namespace haricot::fuzz {
namespace {

enum Client : std::uint8_t { first, second, third };

constexpr std::uint8_t kBinlog = 1;
constexpr std::uint8_t kInterval = 2;
constexpr std::uint8_t kNoSyncs = 4;
constexpr std::uint8_t kSlowSyncs = 8;
constexpr std::uint8_t kSmallBodies = 16;
constexpr std::uint8_t kLike112 = 32;
constexpr std::uint8_t kNoExtensions = 64;

// Steps of time, by their index in kTimeSteps.
constexpr std::uint8_t kMoment = 2;
constexpr std::uint8_t kSecond = 3;
constexpr std::uint8_t kTwoSeconds = 4;
constexpr std::uint8_t kTenSeconds = 5;
constexpr std::uint8_t kDay = 6;
constexpr std::uint8_t kLifetime = 7;

Action send(Client client, std::string bytes) {
  return {.kind = Action::Kind::send, .client = client, .bytes = std::move(bytes)};
}
Action again(Client client, std::uint8_t times) {
  return {.kind = Action::Kind::repeat, .client = client, .amount = times};
}
Action pass(std::uint8_t step) {
  return {.kind = Action::Kind::pass, .amount = step};
}
Action drain() {
  return pass(kDrain);
}
Action half_close(Client client) {
  return {.kind = Action::Kind::half_close, .client = client};
}
Action vanish(Client client) {
  return {.kind = Action::Kind::vanish, .client = client};
}
Action read_or_not(Client client) {
  return {.kind = Action::Kind::read_or_not, .client = client};
}

std::string put(std::string head, std::string_view body, std::string_view tags = {}) {
  return "put " + std::move(head) + " " + std::to_string(body.size()) + std::string(tags) + "\r\n" +
         std::string(body) + "\r\n";
}

// The life of a job, with all commands for one.
std::vector<Action> commands() {
  return {send(first, "use t\r\n" + put("5 0 10", "hello") + put("1 2 10", "later")),
          send(second, "watch t\r\nignore default\r\nignore t\r\nreserve\r\ntouch 1\r\n"),
          send(second, "bury 1 7\r\nkick-job 1\r\nreserve-job 1\r\nrelease 1 3 1\r\n"),
          send(first, "peek 1\r\npeek-ready\r\npeek-delayed\r\npeek-buried\r\n"),
          pass(kTwoSeconds),
          send(second, "reserve-with-timeout 1\r\nbury 2 1\r\nreserve\r\nbury 1 0\r\n"),
          send(first, "kick 1\r\nstats-job 2\r\nstats-tube t\r\nstats\r\nlist-tubes\r\n"),
          send(first, "list-tube-used\r\nlist-tubes-watched\r\npause-tube t 2\r\n"),
          send(second, "reserve\r\n"),
          pass(kTwoSeconds),
          send(first, "delete 1\r\ndelete 2\r\ndelete 3\r\n"),
          send(second, "quit\r\nreserve\r\n"),
          send(first, "watch default\r\n")};
}

std::vector<Action> bad_lines() {
  return {send(first, "put 1 2\r\nput 1 2 3 a\r\nput  0 0 0 0\r\n\r\nput 0 0 0 1\r\nabc\r\n"),
          send(first,
               "nonsense\r\n\r\n\n\r\n\r\r\nstats \r\nkick -1x\r\ndelete 99999999999999999999\r\n"),
          send(first, "use -a\r\nwatch \r\nuse a b\r\nreserve-with-timeout 4294967295\r\n"),
          send(first, std::string("use \0x\r\n", 8) + "touch\r\npeek-readyy\r\npause-tubet 1\r\n"),
          send(first, "use " + std::string(200, 'n') + "\r\nuse " + std::string(20, 'n')),
          send(first, std::string(250, 'n')),
          send(first, "\r"),
          send(first, "\nlist-tube-used\r\nput 0 0 0 2000\r\n"),
          send(first, "xxxxxxxxxx"),
          again(first, 199),
          send(first,
               "\r\nreserve-with-timeout 0.5\r\nreserve-with-timeout 0 x\r\npause-tube -a 1\r\n"),
          send(first, "put 0 0 0 1 1\r\nput 0 0 0 2000x\r\n"),
          send(first, std::string(10, 'x')),
          again(first, 199),
          send(first, "\r\nput 0 0 0 4000000000\r\n")};
}

std::vector<Action> times() {
  return {send(first, put("0 0 1", "a") + put("0 1 2", "b") + put("9 0 4294967295", "c")),
          send(second, "reserve\r\nreserve\r\nreserve\r\n"),
          pass(kMoment),
          send(third, "reserve-with-timeout 10\r\n"),
          pass(kSecond),
          pass(kSecond),
          pass(kTenSeconds),
          send(first, "pause-tube default 100\r\n" + put("0 4294967295 0", "d")),
          pass(kDay),
          send(first, "stats-tube default\r\nstats-job 4\r\n"),
          pass(kLifetime),
          send(second, "reserve-with-timeout 0\r\n")};
}

// Thousands of jobs: kicked in pieces, returned in pieces.
std::vector<Action> many() {
  return {send(first, put("1 0 100", "")),
          again(first, 250),
          again(first, 250),
          send(second, "reserve-with-timeout 0\r\n"),
          again(second, 250),
          again(second, 200),
          send(first, put("1 100 100", "x")),
          again(first, 250),
          send(first, "kick 4294967295\r\n"),
          vanish(second),
          send(third, "reserve\r\n"),
          pass(kDay),
          send(first, "kick 1000\r\nstats\r\n")};
}

std::vector<Action> large_bodies_and_slow_readers() {
  return {send(first, "put 0 0 60 6000\r\n"),
          send(first, std::string(200, 'b')),
          again(first, 29),
          send(first, "\r\nput 0 0 60 1024\r\n" + std::string(200, 'c')),
          send(first, std::string(206, 'c')),
          again(first, 3),
          send(first, "\r\n"),
          read_or_not(second),
          send(second, "peek 1\r\n"),
          again(second, 250),
          send(second, "reserve\r\nreserve\r\nreserve\r\n"),
          half_close(second),
          send(first, put("0 0 0", "for nobody")),
          read_or_not(second),
          send(third, "put 0 0 0 300\r\nhalf of it"),
          half_close(third)};
}

// Jobs with a limit of tries, which ends in every way.
std::vector<Action> tags() {
  return {send(first, put("1 0 1", "once", " try:1") + put("2 0 1", "twice", " try:2")),
          send(first, "put 1 0 1 3 try:0\r\nput 1 0 1 3 try:1 try:1\r\nput 3 0 9 4 try:1\r\nha"),
          send(first, "lf\r\nput 4 0 9 4 try:3\r\nno end"),
          send(second, "reserve-batch 3\r\nrelease 2 5 1\r\n"),
          pass(kTwoSeconds),
          send(second, "reserve-batch 3\r\n"),
          vanish(second),
          send(third, "list-jobs default buried 9\r\nkick 1\r\nreserve\r\n"),
          pass(kTenSeconds),
          send(third, "stats-tube-detail default\r\nkick 9\r\nflush-tube default\r\n"),
          send(first, "put 1 0 1 9 try:2\r\ncut")};
}

// Commands of the extended set. The third client is on the server's machine.
std::vector<Action> extended() {
  return {send(first, "capabilities\r\nuse t\r\n" + put("5 0 10", "one") + put("1 0 10", "two")),
          send(first, put("1 9 10", "later") + put("7 0 10", "") + put("7 0 10", "last")),
          send(first, "scan-jobs 0 2\r\nscan-jobs 3 1000 t\r\nscan-jobs 0 9 t delayed\r\n"),
          send(first, "scan-jobs 0 9 nothing\r\nlist-jobs t ready 3\r\nlist-jobs t delayed 9\r\n"),
          send(second,
               "watch t 3\r\nreserve-mode weighted\r\nreserve-batch 2\r\nbury 2 3\r\nlist-jobs t "
               "buried 1\r\n"),
          send(second, "reserve-batch 1000 0\r\nreserve-batch 3\r\nreserve-batch 3 0\r\n"),
          send(second, "reserve-batch 3 1\r\n"),
          pass(kTwoSeconds),
          send(second, "reserve-batch 9 5\r\nlist-tube-used\r\n"),
          send(first, put("0 0 1", "x")),
          send(third, "flush-tube t buried\r\ndelete-batch 1 2 4 4 99\r\ncapabilities\r\n"),
          send(second, "delete-batch 1 2 4 4 99\r\nflush-tube t\r\nflush-tube nothing\r\n"),
          send(third, "drain\r\nstats\r\n"),
          send(first, put("0 0 1", "y") + "drain\r\nundrain\r\n"),
          send(third, "undrain\r\n" + put("0 0 1", "z") + "flush-tube default ready\r\n"),
          pass(kTenSeconds),
          send(first, "scan-jobs 0 1000\r\nstats-tube t\r\nflush-tube t delayed\r\n")};
}

// Their lines with errors, and long lines of ids: of the maximum length, and longer.
std::vector<Action> extended_lines() {
  return {send(first, "capabilities \r\nflush-tube\r\nflush-tube a reserved\r\nflush-tube a \r\n"),
          send(first, "scan-jobs 1\r\nscan-jobs 1 0\r\nscan-jobs 1 1001\r\nscan-jobs 1 1 -a\r\n"),
          send(first, "scan-jobs 1 1 a none\r\nlist-jobs a ready\r\nlist-jobs a reserved 1\r\n"),
          send(first, "reserve-batch 0\r\nreserve-batch 1 x\r\nreserve-batch\r\ndrain\r\n"),
          send(first, "delete-batch \r\ndelete-batch 1 x\r\ndelete-batch 1  2\r\n"),
          send(third, "drain 1\r\nundrainx\r\n"),
          send(first, put("0 0 9", "a") + put("0 0 9", "b") + "delete-batch 1"),
          send(first, " 2 3 4 5 6 7 8 9 10"),
          again(first, 100),
          send(first, "\r\nlist-tube-used\r\ndelete-batch 2"),
          send(first, " 18446744073709551615"),
          again(first, 250),
          again(first, 250),
          send(first, "\r"),
          send(first, "\ndelete-batch"),
          send(first, " " + std::string(200, '7')),
          again(first, 150),
          send(first, "\r\nlist-tube-used\r\n")};
}

// More jobs than a turn frees or gives.
std::vector<Action> extended_many() {
  return {
      send(first, put("1 0 9", "") + put("2 0 9", "") + put("0 9 9", "") + put("9 0 9", "")),
      again(first, 250),
      again(first, 250),
      again(first, 250),
      send(second, "reserve-batch 1000\r\nscan-jobs 0 1000\r\nlist-jobs default ready 1000\r\n"),
      send(third, "flush-tube default\r\nscan-jobs 0 10\r\nstats\r\n"),
      vanish(second),
      send(first, put("0 0 9", "behind") + "flush-tube default\r\n"),
      vanish(first),
      send(third, "reserve-batch 10 1\r\n"),
      pass(kTwoSeconds)};
}

// Times of jobs, while everything happens to them that counts and that does not.
std::vector<Action> tube_details() {
  return {send(first, "use t\r\n" + put("5 0 10", "one") + put("1 0 10", "two")),
          send(first, "stats-tube-detail t\r\nstats-tube-detail nothing\r\nstats-tubes * 1\r\n"),
          pass(kSecond),
          send(second, "watch t\r\nreserve-batch 2\r\nbury 1 7\r\n"),
          pass(kTwoSeconds),
          send(second, "touch 2\r\nstats-tubes * 1000\r\nstats-tubes t 1\r\ndelete 2\r\n"),
          send(third, "stats-tube-detail t\r\nstats-tubes default 9\r\nstats-tubes gone 9\r\n"),
          pass(kTenSeconds),
          send(first, "stats-tube-detail t\r\nkick 1\r\n" + put("0 3 1", "later")),
          send(second, "reserve\r\nrelease 1 0 1\r\n"),
          pass(kTenSeconds),
          send(second, "reserve\r\n"),
          vanish(second),
          send(third, "stats-tube-detail t\r\nflush-tube t\r\nstats-tube-detail t\r\n"),
          pass(kDay),
          send(third, "stats-tubes * 3\r\nuse t\r\n" + put("0 0 1", "x") + "stats-tubes t 3\r\n"),
          send(third, "stats-tube-detail \r\nstats-tube-detail  t\r\nstats-tubes *\r\n"),
          send(third, "stats-tubes * 0\r\nstats-tubes ** 1\r\nstats-tubes 1\r\n")};
}

// A page that ends because of its cost: each tube has many watchers, or many jobs.
std::vector<Action> tube_pages() {
  return {send(first, "watch a\r\nwatch b\r\nwatch c\r\nuse a\r\n" + put("0 0 9", "")),
          again(first, 250),
          send(second, "stats-tubes * 1000\r\nstats-tubes a 1\r\nstats-tubes b 1\r\n"),
          send(third, "watch a\r\nstats-tubes * 2\r\n"),
          again(third, 250),
          read_or_not(second),
          send(second, "stats-tubes * 1000\r\nstats-tube-detail a\r\n"),
          again(second, 250),
          send(first, "flush-tube a\r\n"),
          vanish(first),
          read_or_not(second),
          pass(kSecond),
          send(second, "stats-tubes b 4\r\n")};
}

// Jobs with the same key in tags `con:`, blocked ones, and clients that wait for them.
std::vector<Action> lanes() {
  const auto put_of = [](const std::string& numbers, const std::string& tag) {
    return "put " + numbers + " 1 con:" + tag + "\r\nx\r\n";
  };
  return {send(first, put_of("1 0 1", "k") + put_of("1 0 9", "k") + put_of("0 1 9", "k:2")),
          send(first, put_of("1 0 9", "other") + put_of("1 0 9", "") + "put 1 0 9 1 con:k:2"),
          send(first, "\r\ny\r\n" + put_of("1 0 9", "k:0") + "list-jobs default ready 9\r\n"),
          send(second, "reserve-batch 9\r\nreserve\r\n"),
          send(third, "peek-ready\r\nreserve-job 6\r\nreserve\r\n"),
          pass(kTwoSeconds),
          send(first, put_of("9 0 9", "k:65535") + "flush-tube default ready\r\n"),
          send(first, put_of("9 0 9", "k") + "kick 9\r\ndelete-batch 1 2 3\r\n"),
          vanish(second),
          send(first, "list-jobs default ready 9\r\nscan-jobs 0 9\r\nstats-tube default\r\n"),
          half_close(third),
          pass(kTenSeconds)};
}

// Puts with a few keys, which find jobs in every state, and raise some of them.
std::vector<Action> keys() {
  const auto put_of = [](const std::string& numbers, const std::string& tags) {
    return "put " + numbers + " 1 " + tags + "\r\nx\r\n";
  };
  return {send(first, put_of("5 0 1", "idp:k") + put_of("5 0 9", "idp:k") + "put 4 0 9 1 idp:k"),
          send(first, "\r\ny\r\n" + put_of("5 9 9", "idp:d con:k") + put_of("3 0 9", "idp:d")),
          send(first, put_of("1 0 9", "idp:") + put_of("1 0 9", "idp:k idp:k")),
          send(second, "reserve\r\n" + put_of("2 0 9", "idp:k try:1 con:k")),
          pass(kTwoSeconds),
          send(first, put_of("1 0 9", "idp:k") + "list-jobs default ready 9\r\nscan-jobs 0 9\r\n"),
          send(second, "reserve\r\nbury 1 9\r\n" + put_of("7 0 9", "idp:k")),
          send(first, "use t\r\n" + put_of("9 0 9", "idp:k") + put_of("0 0 9", "idp:k")),
          send(third, "flush-tube default\r\n" + put_of("9 0 9", "idp:k") + "kick 9\r\n"),
          send(third, put_of("8 0 9", "idp:k") + "delete-batch 1 2 3 4 5 6 7 8 9 10\r\n"),
          send(first, put_of("8 0 9", "idp:k") + "put 1 0 9 1 idp:k\r\n"),
          vanish(first),
          send(third, put_of("8 0 9", "idp:k") + "stats-tubes * 9\r\n"),
          pass(kTenSeconds)};
}

// Keys that outlive their jobs: by each way to delete, across the removal of a tube, and to their
// ends.
std::vector<Action> kept_keys() {
  const auto put_of = [](const std::string& key) { return "put 5 0 9 1 idp:" + key + "\r\nx\r\n"; };
  return {send(first,
               put_of("k:1") + put_of("l:4294967295 try:1 con:l") + put_of("m") + "delete 1\r\n"),
          send(first, put_of("k") + put_of("k:0") + put_of("k:4294967296") + put_of("k:1:1")),
          send(second, "reserve\r\nreserve\r\n" + put_of("k:9") + "delete-batch 2 3 4\r\n"),
          send(second, put_of("l:1") + put_of("m:1") + "put 0 0 9 1 idp:k\r\n"),
          pass(kTwoSeconds),
          send(second, "x\r\n" + put_of("l") + "scan-jobs 0 9\r\nlist-jobs default ready 9\r\n"),
          send(third, "use t\r\n" + put_of("k:9") + put_of("n:9") + "delete 12\r\nuse default\r\n"),
          send(third, "list-tubes\r\nuse t\r\n" + put_of("k") + "flush-tube t\r\n" + put_of("n")),
          send(first, "delete-batch 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\r\n" + put_of("k:1")),
          vanish(first),
          send(third, put_of("k") + "stats-tubes * 9\r\n"),
          pass(kTenSeconds),
          send(third, put_of("k") + put_of("n:1") + "use default\r\n" + put_of("l"))};
}

// Tries that end in each way and begin a backoff, at its bounds, and kicks of such jobs.
std::vector<Action> backoffs() {
  const auto put_of = [](const std::string& tags) { return "put 5 0 1 1 " + tags + "\r\nx\r\n"; };
  return {
      send(first, put_of("back:1") + put_of("try:2 back:4294967295:1 con:l") +
                      put_of("back:2:4294967295 idp:k") + put_of("back:0") + put_of("back:1:0")),
      send(second,
           "reserve\r\nreserve\r\nreserve\r\nrelease 3 1 0\r\nlist-jobs default delayed 9\r\n"),
      pass(kTwoSeconds),
      send(second, "reserve-job 1\r\nreserve-job 3\r\nrelease 3 1 7\r\n"),
      vanish(second),
      send(first, "scan-jobs 0 9\r\nkick-job 3\r\nkick 9\r\n"),
      send(third, "reserve-batch 9\r\nrelease 1 1 0\r\nbury 2 1\r\n"),
      pass(kTenSeconds),
      send(third, "kick 9\r\nreserve-batch 9\r\nscan-jobs 0 9\r\nflush-tube default\r\n")};
}

// Groups that end by each way to delete, and commands for held jobs before that.
std::vector<Action> groups() {
  const auto put_of = [](const std::string& tags) { return "put 5 0 9 1 " + tags + "\r\nx\r\n"; };
  return {send(first, put_of("grp:g") + put_of("aft:g") + put_of("grp:h aft:g") + put_of("aft:h")),
          send(first, put_of("grp:g aft:g") + put_of("grp:") + put_of("aft:g:1") + "stats-group g"),
          send(first, "\r\nput 5 2 9 1 aft:g idp:k try:1 con:l\r\nx\r\nput 1 0 9 1 idp:k"),
          send(second, "\r\nreserve\r\nreserve\r\n"),
          send(first, "\r\ny\r\nlist-jobs default delayed 9\r\nscan-jobs 0 9\r\n"),
          send(third, "kick-job 4\r\nreserve-job 5\r\nuse t\r\n" + put_of("aft:g delay")),
          send(third, put_of("aft:g") + put_of("grp:g") + "flush-tube t\r\nstats-group g\r\n"),
          pass(kTwoSeconds),
          send(second, "delete 1\r\nstats-group g\r\nstats-group h\r\npeek-delayed\r\n"),
          send(first, "delete-batch 1 2 3\r\nlist-jobs default ready 9\r\n"),
          vanish(second),
          send(third, put_of("grp:z") + put_of("aft:z:any") + put_of("aft:z") +
                          "delete-batch 9 10 11 12 13\r\n"),
          pass(kTenSeconds),
          send(third, "stats-group z\r\nflush-tube default\r\nkick 9\r\n")};
}

// Waits for the ends of jobs: each way to end one, and the pages meanwhile.
std::vector<Action> job_waits() {
  return {send(first, put("5 0 9", "a") + put("6 0 1", "b", " try:1") + put("7 9 9", "later")),
          send(second, "wait-job 1 0\r\nwait-job 99 5\r\nwait-job 1 5\r\nlist-tube-used\r\n"),
          send(third, "wait-job 1 4294967295\r\nwait-job 1"),
          send(first, "list-clients 0 9\r\nlist-clients 2 1\r\nlist-clients 9 1000\r\nreserve\r\n"),
          send(first, "scan-jobs 0 9\r\nbury 1 0\r\n"),
          send(second, "wait-job 1 1\r\nwait-job 2 1\r\n"),
          pass(kTwoSeconds),
          send(second, "wait-job 2 9\r\n"),
          send(third, " 9\r\nwait-job 3 9\r\n"),
          send(first, "reserve\r\ntouch-all\r\nlist-clients 0 1000\r\n"),
          pass(kTwoSeconds),
          send(first, "kick 9\r\nflush-tube default delayed\r\n" + put("1 0 9", "c")),
          send(second, "wait-job 1 9\r\nwait-job 4 9\r\nwait-job 2 9\r\n"),
          send(third, "wait-job 4 9\r\n"),
          send(first, "delete-batch 1 2 3\r\nlist-clients 0 0\r\nlist-clients 0 1001\r\n"),
          half_close(second),
          vanish(third),
          send(third, "wait-job 4 1\r\nwait-job 4\r\nwait-job 4 4294967296\r\nlist-clients 1\r\n"),
          pass(kTenSeconds),
          send(first, "wait-job 4 9\r\ndelete 4\r\n"),
          send(third, "delete 4\r\nlist-clients 0 9\r\n")};
}

// Notes of jobs in several states, cut anywhere.
std::vector<Action> notes() {
  const std::string part(255, 'n');
  return {send(first, put("5 0 9", "a") + put("6 9 9", "b") + "note 1 3\r\nabc\r\nnote 1"),
          send(first, " 0\r\n\r\nnote 1 1020\r\n"),
          send(first, part),
          again(first, 3),
          send(first, "\r\npeek-note 1\r\n"),
          send(second, "note 2 2040\r\n"),
          send(second, part),
          again(second, 7),
          send(second, "\r\nnote 2 2\r\nxyz\r\nnote 2 2\r\nx"),
          send(first, "reserve\r\nnote 1 4\r\n50 %\r\nscan-jobs 0 9\r\n"),
          send(third, "note 1 1\r\n1\r\npeek-note 1\r\npeek-note 9\r\nnote 9 0\r\n\r\n"),
          drain(),
          send(third, "note 2 1\r\n1\r\nlist-jobs default delayed 9\r\n"),
          send(second, "y\r\ndelete-batch 1 2\r\n"),
          send(first, "delete 1\r\nnote 1 1\r\n1\r\nnote 1 1025\r\n")};
}

// Several waits for one job.
std::vector<Action> many_job_waits() {
  return {send(first, put("5 0 9", "a")),
          send(second, "wait-job 1 9\r\n"),
          again(second, 250),
          send(third, "wait-job 1 9\r\n"),
          again(third, 100),
          send(first, "list-clients 0 9\r\ndelete 1\r\nlist-clients 0 9\r\n"),
          pass(kTenSeconds)};
}

std::vector<Action> ends() {
  return {send(first, "reserve\r\nlist-tubes\r\n"),
          half_close(first),
          send(second, "watch a\r\nreserve"),
          half_close(second),
          send(third, put("0 0 60", "x") + "reserve\r\nreserve\r\n"),
          vanish(third),
          send(third, "reserve\r\n"),
          drain(),
          send(third, put("0 0 60", "y") + "delete 1\r\n"),
          send(third, "put 0 0 60 3\r\nab")};
}

}  // namespace

std::vector<std::pair<std::string, SessionInput>> session_seeds() {
  return {{"commands", {0, commands()}},
          {"commands_1_12", {kLike112, commands()}},
          {"commands_binlog", {kBinlog, commands()}},
          {"commands_binlog_slow", {kBinlog | kSlowSyncs, commands()}},
          {"commands_binlog_interval", {kBinlog | kInterval | kSlowSyncs, commands()}},
          {"bad_lines", {kSmallBodies, bad_lines()}},
          {"times", {0, times()}},
          {"times_binlog", {kBinlog | kInterval, times()}},
          {"many", {0, many()}},
          {"many_binlog", {kBinlog | kNoSyncs, many()}},
          {"large", {0, large_bodies_and_slow_readers()}},
          {"large_binlog", {kBinlog | kSlowSyncs, large_bodies_and_slow_readers()}},
          {"extended", {0, extended()}},
          {"extended_1_12", {kLike112 | kSmallBodies, extended()}},
          {"extended_binlog", {kBinlog, extended()}},
          {"extended_binlog_slow", {kBinlog | kSlowSyncs, extended()}},
          {"extended_none", {kNoExtensions, extended()}},
          {"backoffs", {0, backoffs()}},
          {"backoffs_binlog", {kBinlog | kSlowSyncs, backoffs()}},
          {"groups", {0, groups()}},
          {"groups_binlog", {kBinlog | kSlowSyncs, groups()}},
          {"job_waits", {0, job_waits()}},
          {"job_waits_binlog", {kBinlog | kSlowSyncs, job_waits()}},
          {"job_waits_none", {kNoExtensions, job_waits()}},
          {"many_job_waits", {kBinlog, many_job_waits()}},
          {"notes", {0, notes()}},
          {"notes_binlog", {kBinlog | kSlowSyncs, notes()}},
          {"tags", {0, tags()}},
          {"tags_binlog", {kBinlog | kSlowSyncs, tags()}},
          {"extended_lines", {0, extended_lines()}},
          {"extended_lines_none", {kNoExtensions, extended_lines()}},
          {"extended_many", {0, extended_many()}},
          {"extended_many_binlog", {kBinlog | kSlowSyncs, extended_many()}},
          {"tube_details", {kBinlog | kSlowSyncs, tube_details()}},
          {"tube_pages", {kLike112, tube_pages()}},
          {"lanes", {0, lanes()}},
          {"lanes_binlog", {kBinlog | kSlowSyncs, lanes()}},
          {"keys", {0, keys()}},
          {"keys_binlog", {kBinlog | kSlowSyncs, keys()}},
          {"kept_keys", {0, kept_keys()}},
          {"kept_keys_binlog", {kBinlog | kSlowSyncs, kept_keys()}},
          {"ends", {0, ends()}},
          {"ends_binlog", {kBinlog, ends()}}};
}

}  // namespace haricot::fuzz
