#include "tool/client/errand.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "haricot/base/number.hpp"
#include "tool/cli/safe_text.hpp"

namespace haricot::tool {
namespace {

constexpr const char* kAddressVariable = "HARICOT_ADDR";
constexpr std::string_view kDefaultAddress = "127.0.0.1:11300";

// Why stdout could not be written to, the first time; 0: it could. There is one stdout.
int write_error = 0;

void note_failed_write() {
  if (write_error == 0) write_error = errno;
}

// The servers that the environment names, separated by commas.
// Adds the addresses of a list with commas. False: there is none in it.
bool add_addresses(std::string_view list, std::vector<std::string>& to) {
  const std::size_t before = to.size();
  while (!list.empty()) {
    const std::string_view address = list.substr(0, list.find(','));
    if (!address.empty()) to.emplace_back(address);
    list.remove_prefix(std::min(address.size() + 1, list.size()));
  }
  return to.size() > before;
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) note_failed_write();
}

void flush() {
  if (std::fflush(stdout) != 0) note_failed_write();
}

void Errand::add_usual_flags() {
  add({'a', "address", "ADDR", "the server: HOST:PORT, [V6]:PORT or unix:PATH",
       [this](std::string_view value) { return add_addresses(value, addresses_); }, "an address"});
  add({'T', "timeout", "S", "how long the server may stay silent, in seconds (10)",
       set_milliseconds(patience_ms_, 1), "a time, such as 2.5 or 250ms"});
  if (has_json_ == Json::yes) add({'j', "json", "", "print JSON", set(json_)});
  add({'h', "help", "", "show this help and exit", set(help_)});
}

std::optional<int> Errand::read(Words words) {
  add_usual_flags();
  std::string error;
  if (!read_flags(flags_, words, operands_, error)) return mistake(error);
  if (!help_) return std::nullopt;
  print("Use: haricot " + std::string(text_.name) + " " + std::string(text_.use) + "\n\n" +
        std::string(text_.about) + "\nOptions:\n" + describe_flags(flags_) +
        "\nA time is a number of seconds, or has units: 2.5, 90s, 5m, 1h30m, 250ms.\n"
        "Without --address it asks the server at $HARICOT_ADDR, or at 127.0.0.1:11300 if that is\n"
        "not set. The exit status is 0: done, 1: the answer is no, 3: no server answers, 4: the\n"
        "server refuses, 5: a mistake on the command line.\n");
  if (!text_.examples.empty()) print("\nExamples:\n" + std::string(text_.examples));
  return done();
}

std::optional<std::vector<std::uint64_t>> Errand::ids() const {
  std::vector<std::uint64_t> ids;
  for (const std::string_view operand : operands_) {
    const std::optional<std::uint64_t> id = read_number(operand);
    if (!id) {
      const bool has_tube = std::any_of(flags_.begin(), flags_.end(),
                                        [](const Flag& flag) { return flag.name == "tube"; });
      mistake("'" + std::string(operand) + "' is not the id of a job" +
              (has_tube ? "; a tube is named by --tube" : ""));
      return std::nullopt;
    }
    ids.push_back(*id);
  }
  return ids;
}

Duration Errand::patience() const {
  return Duration::milliseconds(static_cast<std::int64_t>(patience_ms_));
}

std::optional<int> Errand::find() {
  if (addresses_.empty()) {
    const char* list = std::getenv(kAddressVariable);
    if (list == nullptr || !add_addresses(list, addresses_)) {
      addresses_.emplace_back(kDefaultAddress);
    }
  }
  if (addresses_.size() > 1 && !allows_several_) {
    return mistake("it asks one server, and " + std::to_string(addresses_.size()) +
                   " addresses are given");
  }
  std::string error;
  for (const std::string& text : addresses_) {
    if (!Address::check(text, error)) return mistake(error);
  }
  for (const std::string& text : addresses_) {
    std::optional<Address> address = Address::find(text, error);
    if (!address) {
      warn(error);
      return kExitNoServer;
    }
    servers_.emplace_back(std::move(*address), patience());
  }
  return std::nullopt;
}

std::optional<int> Errand::connect() {
  if (const std::optional<int> over = find()) return over;
  if (!server().open()) return failed();
  return std::nullopt;
}

int Errand::mistake(const std::string& reason) const {
  warn(reason + "\nTry haricot " + std::string(text_.name) + " --help.");
  return kExitUsage;
}

int Errand::no(const std::string& reason) const {
  warn(reason);
  return done(kExitFailure);
}

int Errand::failed() const {
  return failed(servers_.front());
}

int Errand::failed(const Remote& server) const {
  warn(server.failure().reason);
  return done(server.failure().status);
}

int Errand::failed(std::string_view advice) const {
  const Failure& failure = servers_.front().failure();
  warn(failure.reason + "; " + std::string(advice));
  return done(failure.status);
}

void Errand::warn(const std::string& line) const {
  flush();  // So that both are in order where they end up in one place.
  std::fprintf(stderr, "haricot %s: %s\n", std::string(text_.name).c_str(),
               safe_lines(line).c_str());
}

int Errand::done(int status) const {
  flush();
  if (write_error == 0) return status;
  // Whoever closed a pipe early (head, say) has seen enough, and knows it.
  if (write_error != EPIPE) {
    std::fprintf(stderr, "haricot %s: cannot write to stdout: %s\n",
                 std::string(text_.name).c_str(), std::strerror(write_error));
  }
  return status == 0 ? kExitFailure : status;
}

}  // namespace haricot::tool
