// Plays commands against the service in memory, for callgrind to count the instructions of.
//
//   command_load single|batches|unique|unique-single
//
// `unique` is `batches` whose puts have a key each, `unique-single` the same of `single`.
//
// What is to be counted happens in counted_turns() and nowhere else: texts are made before, tables
// have grown and memory was used before, answers are checked afterwards. Prints how many commands
// were played there.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "haricot/queue/journal.hpp"
#include "haricot/service/service.hpp"

namespace {

using namespace haricot;

constexpr std::size_t kBodyBytes = 100;
constexpr std::size_t kCommands = 48'000;
constexpr std::size_t kWarmUpCommands = 9'600;

struct Load {
  Service& service;
  Session& session;
  Instant now;
  std::uint64_t answer_bytes = 0;
};

// Each text is what one turn receives.
void play_turns(Load& load, std::span<const std::string> texts) {
  for (const std::string& text : texts) {
    load.now = load.now + Duration::milliseconds(1);
    load.service.advance(load.now);
    load.service.receive(load.session, text, load.now);
    load.service.run_backlog(load.now);
    load.service.end_turn(load.now);
    while (Session* session = load.service.next_to_send()) {
      while (session->has_output() && session->may_send()) {
        std::array<std::string_view, 64> pieces;
        const std::size_t count = session->output().gather(pieces);
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].size();
        load.service.sent(*session, bytes);
        load.answer_bytes += bytes;
      }
    }
  }
}

}  // namespace

// callgrind counts from where this is entered to where it is left, and knows it by its name: there
// may be no copy of it under another, and its last call may not become a jump.
extern "C" [[gnu::noinline, gnu::used]] std::uint64_t counted_turns(
    Load& load, std::span<const std::string> texts) {
  play_turns(load, texts);
  return load.answer_bytes;
}

namespace {

// Makes the texts of the turns: a batch each of puts, reserves and deletes in turn, and counts the
// bytes that have to be answered.
class Script {
 public:
  Script(std::size_t batch, bool has_keys) : batch_(batch), has_keys_(has_keys) {}

  std::vector<std::string> turns(std::size_t commands) {
    const std::string size = std::to_string(kBodyBytes);
    const std::string put = "put 1024 0 60 " + size;
    const std::string body = "\r\n" + std::string(kBodyBytes, 'x') + "\r\n";
    std::vector<std::string> result;
    for (std::size_t made = 0; made < commands; made += 3 * batch_) {
      std::string puts;
      std::string reserves;
      std::string deletes;
      for (std::size_t i = 0; i < batch_; ++i) {
        const std::string id = std::to_string(next_id_++);
        puts += put + (has_keys_ ? " idp:" + std::to_string(kFirstKey + next_id_) : "") + body;
        reserves += "reserve\r\n";
        deletes += "delete " + id + "\r\n";
        answer_bytes_ += ("INSERTED " + id + "\r\n").size();
        answer_bytes_ += ("RESERVED " + id + " " + size + "\r\n").size() + kBodyBytes + 2;
        answer_bytes_ += std::string_view("DELETED\r\n").size();
      }
      result.insert(result.end(), {puts, reserves, deletes});
    }
    return result;
  }
  std::uint64_t answer_bytes() const { return answer_bytes_; }

 private:
  static constexpr std::uint64_t kFirstKey = 10'000'000;  // So that all are equally long.

  std::size_t batch_;
  bool has_keys_;
  std::uint64_t next_id_ = 1;
  std::uint64_t answer_bytes_ = 0;
};

bool play(std::size_t batch, bool has_keys) {
  const Instant start = Instant::at(1'000'000'000'000);
  ServerInfo info;
  NoJournal journal;
  Service service(info, journal, start);
  Session* session = service.open(nullptr);
  if (session == nullptr) return false;
  Load load{service, *session, start};
  Script script(batch, has_keys);
  play_turns(load, script.turns(kWarmUpCommands));
  const std::vector<std::string> counted = script.turns(kCommands);
  return counted_turns(load, counted) == script.answer_bytes();
}

struct NamedLoad {
  std::string_view name;
  std::size_t batch;
  bool has_keys;
};

constexpr std::array kLoads = {
    NamedLoad{"single", 1, false},
    NamedLoad{"batches", 64, false},
    NamedLoad{"unique", 64, true},
    NamedLoad{"unique-single", 1, true},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  const auto* const load = std::ranges::find(kLoads, name, &NamedLoad::name);
  if (load == kLoads.end()) {
    std::fputs("Use: command_load single|batches|unique|unique-single\n", stderr);
    return 5;
  }
  if (!play(load->batch, load->has_keys)) {
    std::fputs("command_load: the answers are not what they should be\n", stderr);
    return 1;
  }
  std::printf("%zu\n", kCommands);
}
