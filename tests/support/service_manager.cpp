#include "support/service_manager.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace haricot::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{10};

std::string name_in(const std::string& message) {
  const std::size_t begin = message.find("FDNAME=");
  if (begin == std::string::npos) return "";
  const std::size_t name = begin + std::string("FDNAME=").size();
  return message.substr(name, message.find('\n', name) - name);
}

}  // namespace

bool ServiceManager::open(const std::string& path) {
  path_ = path;
  return socket_.open(path);
}

ServerOptions ServiceManager::passing(ServerOptions options) const {
  std::string names;
  for (const Kept& one : kept_) {
    names += (names.empty() ? "" : ":") + one.name;
    options.descriptors.push_back(one.descriptor);
  }
  std::string exports;
  for (const std::string& variable : options.environment) exports += " '" + variable + "'";
  options.environment = {"NOTIFY_SOCKET=" + path_};
  std::string words = "export LISTEN_PID=$$ LISTEN_FDS=" + std::to_string(kept_.size()) +
                      " LISTEN_FDNAMES=" + names + "; ";
  if (kept_.empty()) words.clear();
  words += exports.empty() ? "exec" : "export" + exports + "; exec";
  options.launcher = {"/bin/sh", "-c", words + " \"$0\" \"$@\""};
  return options;
}

bool ServiceManager::start(ServerProcess& server, const ServerOptions& options,
                           milliseconds patience) {
  is_ready_ = false;
  removed_.clear();
  const auto is_done_with = [this](const Kept& one) { return removed_.contains(one.name); };
  const std::vector<Kept> passed = kept_;
  if (!server.launch(passing(options))) return false;
  const auto end = steady_clock::now() + patience;
  while (!is_ready_ || !std::all_of(passed.begin(), passed.end(), is_done_with)) {
    if (obey_one(kLook)) continue;
    if (!server.running() || steady_clock::now() > end) {
      obey_all();
      return false;
    }
  }
  return true;
}

std::optional<ExitStatus> ServiceManager::stop(ServerProcess& server) {
  if (!server.signal(SIGTERM)) return std::nullopt;
  const auto end = steady_clock::now() + kPatience;
  while (server.running() && steady_clock::now() < end) obey_one(kLook);
  obey_all();
  return server.wait_exit(milliseconds(0));
}

void ServiceManager::drop_all() {
  for (const Kept& one : kept_) ::close(one.descriptor);
  kept_.clear();
}

int ServiceManager::descriptor(const std::string& name) const {
  for (const Kept& one : kept_) {
    if (one.name == name) return one.descriptor;
  }
  return -1;
}

bool ServiceManager::exchange(const std::string& name, int descriptor) {
  for (Kept& one : kept_) {
    if (one.name != name) continue;
    ::close(std::exchange(one.descriptor, descriptor));
    return true;
  }
  return false;
}

void ServiceManager::obey(const std::string& message, int descriptor) {
  if (has_line(message, "READY=1")) is_ready_ = true;
  if (has_line(message, "FDSTORE=1") && descriptor >= 0) {
    kept_.push_back({name_in(message), std::exchange(descriptor, -1)});
  }
  if (has_line(message, "FDSTOREREMOVE=1")) {
    const std::string name = name_in(message);
    removed_.insert(name);
    if (hears_removals_) {
      std::erase_if(kept_, [&](const Kept& one) {
        if (one.name != name) return false;
        ::close(one.descriptor);
        return true;
      });
    }
  }
  if (descriptor >= 0) ::close(descriptor);  // A barrier: the waiting process notices the close.
}

bool ServiceManager::obey_one(milliseconds patience) {
  int descriptor = -1;
  const std::optional<std::string> message = socket_.receive_with_descriptor(descriptor, patience);
  if (!message) return false;
  obey(*message, descriptor);
  return true;
}

void ServiceManager::obey_all() {
  while (obey_one(milliseconds(0))) {
  }
}

}  // namespace haricot::test
