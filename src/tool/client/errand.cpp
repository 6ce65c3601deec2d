#include "tool/client/errand.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "haricot/base/name_bytes.hpp"
#include "haricot/base/number.hpp"

namespace haricot::tool {
namespace {

constexpr const char* kAddressVariable = "HARICOT_ADDR";
constexpr std::string_view kDefaultAddress = "127.0.0.1:11300";

// Adds the addresses of a comma-separated list. Adds empty ones too, for find() to reject: an empty
// address never means the default.
void add_addresses(std::string_view list, std::vector<std::string>& to) {
  while (true) {
    const std::size_t comma = list.find(',');
    to.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

void Errand::add_usual_flags() {
  add({'a', "address", "ADDR", "server: HOST:PORT, [V6]:PORT or unix:PATH",
       [this](std::string_view value) {
         add_addresses(value, addresses_);
         return true;
       }});
  add({'T', "timeout", "S", "time limit for an answer, in seconds (10)",
       [this](std::string_view value) {
         has_timeout_ = true;
         return set_milliseconds(patience_ms_, 1)(value);
       },
       kPositiveTimeWanted});
  if (has_json_ == Json::yes) add({'j', "json", "", "print JSON", set(json_)});
  add({'h', "help", "", "show this help and exit", set(help_)});
}

std::optional<int> Errand::read(Words words) {
  add_usual_flags();
  std::string error;
  if (!read_flags(flags_, words, operands_, error, places_)) return mistake(error);
  if (!help_) return std::nullopt;
  print("Use: haricot " + std::string(text_.name) + " " + std::string(text_.use) + "\n\n" +
        std::string(text_.about) + "\nOptions:\n" + describe_flags(flags_) +
        "\nA time is a number of seconds, or has units: 2.5, 90s, 5m, 1h30m, 2d, 250ms.\n"
        "Without --address, the server is $HARICOT_ADDR, or 127.0.0.1:11300 if that is not set.\n"
        "The exit status is 0: success, 1: negative result, 3: no server answers, 4: the server\n"
        "refuses, 5: usage error, 6: a file or stdout fails.\n");
  if (!text_.examples.empty()) print("\nExamples:\n" + std::string(text_.examples));
  return done();
}

void Errand::set_address(std::string_view list) {
  addresses_.clear();
  add_addresses(list, addresses_);
}

Duration Errand::patience() const {
  return Duration::milliseconds(static_cast<std::int64_t>(patience_ms_));
}

std::optional<int> Errand::find() {
  bool is_variable = false;
  if (addresses_.empty()) {
    const char* list = std::getenv(kAddressVariable);
    add_addresses(list != nullptr ? list : kDefaultAddress, addresses_);
    is_variable = list != nullptr;
  }
  std::string error;
  for (const std::string& text : addresses_) {
    if (Address::check(text, error)) continue;
    return mistake((is_variable ? std::string(kAddressVariable) + ": " : "") + error);
  }
  for (const std::string& text : addresses_) {
    std::optional<Address> address = Address::find(text, error);
    if (!address) {
      warn(error);
      return kExitNoServer;
    }
    const bool is_known = std::any_of(
        servers_.begin(), servers_.end(),
        [&address](const Remote& server) { return server.address().is_same(*address); });
    if (!is_known) servers_.emplace_back(std::move(*address), patience());
  }
  if (servers_.size() == 1 || allows_several_) return std::nullopt;
  return mistake(std::to_string(servers_.size()) +
                 " addresses are given, but this subcommand asks one server");
}

std::optional<int> Errand::connect() {
  if (const std::optional<int> over = find()) return over;
  if (!server().open()) return failed();
  return std::nullopt;
}

std::optional<Response> Errand::ask_and_wait(std::string_view command, std::uint64_t seconds) {
  const Duration wait = Duration::seconds(static_cast<std::uint32_t>(seconds));
  server().set_patience(Duration::nanoseconds(patience().count() + wait.count()));
  std::optional<Response> response = server().ask(command);
  server().set_patience(patience());
  return response;
}

int Errand::mistake(const std::string& reason) const {
  warn(reason + "\nTry haricot " + std::string(text_.name) + " --help.");
  return kExitUsage;
}

int Errand::no(const std::string& reason) const {
  warn(reason);
  return done(kExitFailure);
}

int Errand::local(const std::string& reason) const {
  warn(reason);
  return done(kExitLocal);
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
  flush();  // Keeps stdout and stderr in order when both go to one place.
  std::fprintf(stderr, "haricot %s: %s\n", std::string(text_.name).c_str(),
               safe_lines(line).c_str());
}

int Errand::done(int status) const {
  return end_output(text_.name, status);
}

void Subjects::add_tube_flag(std::string_view help) {
  errand_.add({'t', "tube", "TUBE", help,
               [this](std::string_view value) {
                 tubes_.emplace_back(value);
                 return is_tube_name(value);
               },
               "a tube name"});
}

void add_pattern_flag(Errand& errand, std::vector<std::string>& to) {
  errand.add({'t', "tube", "TUBE", "tube or pattern, same as an operand",
              [&to](std::string_view value) {
                to.emplace_back(value);
                return !value.empty();
              },
              "a tube name or a pattern"});
}

std::optional<int> Subjects::take(std::size_t tubes_max, Ids ids, std::size_t others) {
  const std::vector<std::string_view>& words = errand_.operands();
  for (std::size_t i = 0; i + others < words.size(); ++i) {
    const std::string word(words[i]);
    const std::optional<std::uint64_t> id = ids == Ids::yes ? read_number(word) : std::nullopt;
    if (id) {
      ids_.push_back(*id);
    } else if (tubes_max > 0 && is_tube_name(word)) {
      tubes_.push_back(word);
    } else if (ids == Ids::no) {
      return errand_.mistake("'" + word + "' is not a tube name");
    } else {
      const std::string_view is =
          tubes_max > 0 ? "neither a tube name nor a job id" : "not a job id";
      return errand_.mistake("'" + word + "' is " + std::string(is));
    }
  }
  if (tubes_.size() > tubes_max) {
    return errand_.mistake(tubes_max == 1 ? "more than one tube"
                                          : "more than " + std::to_string(tubes_max) + " tubes");
  }
  for (auto at = tubes_.begin(); at != tubes_.end(); ++at) {
    if (std::find(tubes_.begin(), at, *at) != at) {
      return errand_.mistake("tube " + *at + " is given twice");
    }
  }
  return std::nullopt;
}

}  // namespace haricot::tool
