#include "haricot/service/report.hpp"

#include <charconv>
#include <span>

#include "haricot/base/check.hpp"
#include "haricot/base/encoding.hpp"

namespace haricot {

Report::Report(std::string& text, Compat compat) : text_(text), compat_(compat) {
  text_ = "---\n";
}

void Report::begin_list(std::string_view name, bool is_empty) {
  text_ += name;
  text_ += is_empty ? ": []\n" : ":\n";
}

void Report::key(std::string_view key) {
  if (!prefix_.empty()) {
    text_ += prefix_;
    prefix_ = "  ";
  }
  text_ += key;
  text_ += ": ";
}

void Report::integer(std::string_view name, std::uint64_t value) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  key(name);
  text_.append(digits, static_cast<std::size_t>(end - digits));
  text_ += '\n';
}

void Report::word(std::string_view name, std::string_view value) {
  key(name);
  text_ += value;
  text_ += '\n';
}

void Report::value(std::string_view name, std::string_view value) {
  const bool is_number = value.find_first_not_of("0123456789") == std::string_view::npos;
  word(name, is_number ? std::string(value) : '"' + std::string(value) + '"');
}

void Report::quoted(std::string_view name, std::string_view value) {
  CHECK(value.find_first_of("\"\r\n") == std::string_view::npos);  // These end a value.
  const std::string_view quote = compat_ == Compat::v1_12 ? "" : "\"";
  key(name);
  text_ += quote;
  text_ += value;
  text_ += quote;
  text_ += '\n';
}

void Report::text(std::string_view name, std::string_view value) {
  constexpr std::size_t kShownBytesMax = 160;
  std::string_view shown = value.substr(0, value.find_first_of("\r\n"));
  if (shown.size() > kShownBytesMax) {
    std::size_t end = kShownBytesMax;
    const auto is_inside = [shown](std::size_t at) {
      return (static_cast<unsigned char>(shown[at]) & 0xc0) == 0x80;
    };
    while (end > kShownBytesMax - 4 && is_inside(end)) --end;
    shown = shown.substr(0, end);
  }
  key(name);
  append_json_string(text_, shown, JsonText::utf8);
  text_ += '\n';
}

void Report::item(std::string_view value) {
  text_ += "- ";
  text_ += value;
  text_ += '\n';
}

void Report::cpu_time(std::string_view name, std::uint64_t microseconds) {
  constexpr std::uint64_t kPerSecond = 1'000'000;
  const std::string fraction = std::to_string(kPerSecond + microseconds % kPerSecond).substr(1);
  word(name, std::to_string(microseconds / kPerSecond) + "." + fraction);
}

namespace {

template <typename Facts>
void write_statistics(Report& report, std::span<const Statistic<Facts>> rows, const Facts& facts) {
  for (const Statistic<Facts>& row : rows) {
    if (row.is_shown != nullptr && !row.is_shown(facts)) continue;
    switch (row.type) {
      case StatisticType::integer:
        report.integer(row.key, row.number(facts));
        break;
      case StatisticType::cpu_time:
        report.cpu_time(row.key, row.number(facts));
        break;
      case StatisticType::word:
        report.word(row.key, row.word(facts));
        break;
      case StatisticType::value:
        report.value(row.key, row.word(facts));
        break;
      case StatisticType::quoted:
        report.quoted(row.key, row.word(facts));
        break;
      case StatisticType::text:
        report.text(row.key, row.word(facts));
        break;
    }
  }
}

}  // namespace

void write_server_report(Report& report, const Engine& engine, const ServerState& state) {
  const ServerInfo& info = state.info;
  const CpuUsage cpu = info.cpu_usage == nullptr ? CpuUsage{} : info.cpu_usage();
  write_statistics(report, server_statistics(), ServerFacts{engine, state, cpu});
}

void write_tube_report(Report& report, const Tube& tube, std::uint32_t waiting_clients,
                       Instant now) {
  write_statistics(report, tube_statistics(), TubeFacts{tube, waiting_clients, now});
}

void write_tube_detail(Report& report, const TubeDetail& detail) {
  write_statistics(report, tube_detail_statistics(), detail);
}

void write_group_report(Report& report, const Group& group) {
  write_statistics(report, group_statistics(), group);
}

void write_job_report(Report& report, const JobReport& job) {
  write_statistics(report, job_statistics(), job);
}

void write_listed_job(Report& report, const JobReport& job) {
  report.begin_item();
  write_statistics(report, listed_job_statistics(), job);
}

void write_listed_client(Report& report, const ClientFacts& client) {
  report.begin_item();
  write_statistics(report, client_statistics(), client);
}

}  // namespace haricot
